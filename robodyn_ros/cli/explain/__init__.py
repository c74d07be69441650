"""The equation of motion of a state, term by term."""
