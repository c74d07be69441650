"""Computed torque with an integral, as an own law in Python."""

import numpy as np


class Integrating:
    """M (qdd_ref + kd e' + kp e + ki int e) + C qd + g, without friction."""

    def __init__(self, dynamics):
        self.dynamics, self.kp, self.kd, self.ki = dynamics, 400.0, 40.0, 1000.0

    def start(self, state, reference):
        """Reset the integral."""
        self.integral = np.zeros(self.dynamics.nv)

    def terms(self, state, reference):
        """Return the torque, term by term."""
        error, rate = reference.q - state.q, reference.qd - state.qd
        self.integral += self.ki * state.dt * error
        M, gravity = self.dynamics.mass_matrix(state.q), self.dynamics.gravity(state.q)
        return {'inertia': M @ reference.qdd, 'gravity': gravity,
                'coriolis': self.dynamics.bias(state.q, state.qd) - gravity,
                'feedback': M @ (self.kp * error + self.kd * rate),
                'integral': M @ self.integral}
