"""Estimation of a payload by the adaptive law."""
