"""The simulator node: a plant that stands in for the arm, and what can be wrong with it."""
