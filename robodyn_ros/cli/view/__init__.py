"""A running arm in the browser."""
