"""Preflight of an arm: its URDF, its motors, and the running arm."""
