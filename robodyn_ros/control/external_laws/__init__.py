"""External laws: written by the user, or received from another controller."""
