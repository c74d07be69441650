"""What a recording tells of friction, inertia and payload."""
