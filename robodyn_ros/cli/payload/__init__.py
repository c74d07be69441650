"""Measurement of a payload with the running controller."""
