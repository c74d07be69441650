"""A demonstration of the controller with a simulated arm."""
