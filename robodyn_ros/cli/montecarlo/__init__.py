"""Many simulated arms that differ from their model."""
