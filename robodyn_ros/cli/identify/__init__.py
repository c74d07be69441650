"""Identification of friction, inertia, payload and torque scale from a recording."""
