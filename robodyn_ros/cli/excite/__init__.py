"""Motions that tell much about an arm."""
