"""A payload that is learned while the arm works."""
