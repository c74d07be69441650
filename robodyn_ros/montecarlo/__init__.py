"""Many simulated arms under the control cycle of a real one, with and without faults."""
