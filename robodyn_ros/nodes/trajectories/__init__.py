"""Trajectories from topic and action: taken in, checked, reported on."""
