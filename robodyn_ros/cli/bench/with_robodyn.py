"""Calls of this package; the results of other libraries are compared with theirs."""

from __future__ import annotations

import numpy as np

from robodyn_ros.cli.bench.robot import BenchRobot
from robodyn_ros.cli.bench.timing import Call
from robodyn_ros.control import ControlLaw, make_gains, Settings, Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.trajectory import Reference

STEP_AWAY = 0.1  # rad, or m: how far the law's reference is from the state
BATCH = 10_000   # states


class Robodyn:
    """Calls of this package for a robot."""

    def __init__(self, robot: BenchRobot):
        self.robot, self.dynamics = robot, Dynamics(robot.model)

    def gains(self):
        """Return gains of the computed-torque law, without friction."""
        return make_gains(self.dynamics, Settings(friction_scale=0.0))

    def law_state(self):
        """Return the state, reference and gains for the laws of all libraries."""
        q, n = self.robot.state['q'], self.robot.joints
        gains = self.gains()
        return {'q': q, 'qd': self.robot.state['qd'], 'q_ref': q + STEP_AWAY,
                'qd_ref': np.zeros(n), 'qdd_ref': np.zeros(n), 'kp': gains.kp, 'kd': gains.kd}

    def calls(self):
        """Return a call for each quantity."""
        names = {**self.robot.state, 'dyn': self.dynamics, 'link': self.robot.link}
        return {quantity: Call(text, names) for quantity, text in {
            'inverse dynamics': 'dyn.inverse_dynamics(q, qd, qdd)',
            'gravity': 'dyn.gravity(q)',
            'mass matrix': 'dyn.mass_matrix(q)',
            'forward dynamics': 'dyn.forward_dynamics(q, qd, tau)',
            'Coriolis matrix': 'dyn.coriolis_matrix(q, qd)',
            'Jacobian': 'dyn.jacobian(q, link)',
            'forward kinematics': 'dyn.forward_kinematics(q, link)',
            'derivatives of inverse dynamics': 'dyn.inverse_dynamics_derivatives(q, qd, qdd)',
            'derivatives of forward dynamics': 'dyn.forward_dynamics_derivatives(q, qd, tau)',
        }.items()} | {'computed-torque law': self.law()}

    def law(self):
        """Return the call of the computed-torque law."""
        state = self.law_state()
        names = {'law': ControlLaw(self.dynamics, self.gains()), 'q': state['q'],
                 'qd': state['qd'], 'ref': Reference.at_rest(state['q_ref'])}
        return Call('law.follow(q, qd, ref)', names, lambda terms: terms[Term.TOTAL])

    def batches(self):
        """Return calls for many states."""
        names = dict(zip(('Q', 'Qd', 'Qdd'), self.robot.states(3, BATCH)), dyn=self.dynamics)
        return {quantity: Call(text, names, size=BATCH) for quantity, text in {
            'inverse dynamics': 'dyn.inverse_dynamics(Q, Qd, Qdd)',
            'mass matrix': 'dyn.mass_matrix(Q)',
            'forward dynamics': 'dyn.forward_dynamics(Q, Qd, Qdd)',
            'derivatives of inverse dynamics': 'dyn.inverse_dynamics_derivatives(Q, Qd, Qdd)',
        }.items()}
