"""Laws from outside: written by the user, or sent by another controller."""
