"""Contact: external torque without a sensor, and what the controller makes of it."""
