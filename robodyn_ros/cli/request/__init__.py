"""Requests to a running controller: hold, float, stop, reset, move."""
