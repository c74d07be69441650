"""Replay of a demonstration with another timing."""
