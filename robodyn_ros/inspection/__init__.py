"""Inspection of an arm: URDF, motors, loops, equation of motion, and the running arm."""
