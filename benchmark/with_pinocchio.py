"""Calls of Pinocchio's Python bindings."""

from __future__ import annotations

from calls import BenchRobot, Order
import numpy as np
import pinocchio as pin
from timing import Call


class Pinocchio:
    """
    Calls of Pinocchio for a robot.

    Parameters
    ----------
    robot : BenchRobot
    law : dict
        State, reference and gains of the law.

    """

    name, version = 'Pinocchio', pin.__version__

    def __init__(self, robot: BenchRobot, law: dict[str, np.ndarray]):
        self.robot, self.model = robot, pin.buildModelFromXML(robot.text)
        self.order = Order(robot.model.joint_names, list(self.model.names)[1:])
        self.names = {
            'pin': pin, 'model': self.model, 'data': self.model.createData(),
            'frame': self.model.getFrameId(robot.link), 'axes': pin.LOCAL_WORLD_ALIGNED,
            'world': pin.Convention.WORLD}
        self.law = law

    def calls(self):
        """Return a call for each quantity."""
        names = {**self.names, **self.order.of(self.robot.state)}
        vector, square = self.order.columns, self.order.square

        def squares(parts):
            return [square(part) for part in parts]

        return {quantity: Call(text, names, convert) for quantity, (text, convert) in {
            'inverse dynamics': ('pin.rnea(model, data, q, qd, qdd)', vector),
            'gravity': ('pin.computeGeneralizedGravity(model, data, q)', vector),
            'mass matrix': ('pin.crba(model, data, q)', lambda M: square(symmetric(M))),
            # the faster of its two conventions
            'forward dynamics': ('pin.aba(model, data, q, qd, tau, world)', vector),
            'Coriolis matrix': ('pin.computeCoriolisMatrix(model, data, q, qd)', square),
            'Jacobian': ('pin.computeFrameJacobian(model, data, q, frame, axes)', vector),
            'forward kinematics': (
                'pin.forwardKinematics(model, data, q)\n'
                'pin.updateFramePlacement(model, data, frame)', lambda pose: pose.homogeneous),
            'derivatives of inverse dynamics': (
                'pin.computeRNEADerivatives(model, data, q, qd, qdd)',
                lambda parts: squares([*parts[:2], symmetric(parts[2])])),
            'derivatives of forward dynamics': (
                'pin.computeABADerivatives(model, data, q, qd, tau)',
                lambda parts: squares([*parts[:2], symmetric(parts[2])])),
        }.items()} | {'computed-torque law': Call(
            'pin.rnea(model, data, q, qd, qdd_ref + kp * (q_ref - q) + kd * (qd_ref - qd))',
            {**self.names, **self.order.of(self.law)}, vector)}

    def batches(self, size):
        """Return calls for many states in a loop, as the bindings have no batches."""
        states = self.order.of(dict(zip(('Q', 'Qd', 'Qdd'), self.robot.states(3, size))))
        names = {**self.names, **states}
        vector = self.order.columns

        def masses(several):
            return np.array([self.order.square(symmetric(M)) for M in several])

        def derivatives(several):
            return tuple(np.array([self.order.square(matrix) for matrix in matrices])
                         for matrices in zip(*(
                             [*parts[:2], symmetric(parts[2])] for parts in several)))

        return {quantity: Call(text, names, convert, size) for quantity, (text, convert) in {
            'inverse dynamics': (
                '[pin.rnea(model, data, *row) for row in zip(Q, Qd, Qdd)]', vector),
            'mass matrix': ('[pin.crba(model, data, q) for q in Q]', masses),
            'forward dynamics': (
                '[pin.aba(model, data, *row, world) for row in zip(Q, Qd, Qdd)]', vector),
            'derivatives of inverse dynamics': (
                '[[part.copy() for part in pin.computeRNEADerivatives(model, data, *row)] '
                'for row in zip(Q, Qd, Qdd)]', derivatives),
        }.items()}


def symmetric(M):
    """Return a symmetric matrix from its upper triangle."""
    return np.triu(M) + np.triu(M, 1).T
