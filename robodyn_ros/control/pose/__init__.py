"""Poses of a link: motions to them, gains, and reports of the Cartesian laws."""
