"""A simulated arm that floats and tracks, under the real controller."""
