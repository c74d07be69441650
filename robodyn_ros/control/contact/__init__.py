"""Contact: external torque without a sensor, and reactions to it."""
