"""Trajectories from topic and action: reception, validation and results."""
