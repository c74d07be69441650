"""Poses of a link: motions to them, gains about them, and what the laws tell of them."""
