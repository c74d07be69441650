"""Conditions of all fault campaigns, on processes and in the compiled loop."""

RATE = 500.0     # Hz
# rad/s^2, acceleration of an unloaded rotor at the effort limit; it determines the armature. URDFs
# often leave out rotors, and wrists then have next to no inertia.
ROTOR_ACCELERATION = 500.0
COLLISION = 0.3  # part of the effort limits: an unknown torque that ends a motion
TRACKING_ERROR = 0.2  # rad or m of error that end a motion
