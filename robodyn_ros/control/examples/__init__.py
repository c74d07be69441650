"""Control laws to start from."""
