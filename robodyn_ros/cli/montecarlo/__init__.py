"""Many simulated arms with random deviations from their model."""
