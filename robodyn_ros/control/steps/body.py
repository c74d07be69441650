"""
The robot in the steps of a cycle: structure, rotors, limits, and present loads.

Long computations are functions of their own (`PARTS`), compiled separately and called, so that the
code of the cycle itself is short for any number of joints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from robodyn_ros.control.steps import predict
from robodyn_ros.control.steps.light_joints import admissible_parts
from robodyn_ros.control.steps.observer import residual_rows, stable_part
from robodyn_ros.control.steps.pose_motion import reach_step
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.flow import call
from robodyn_ros.dynamics.jit.nested import flatten


class Part(NamedTuple):
    """
    A function that is compiled separately.

    Attributes
    ----------
    function : callable
        `function(robot, runtime, *inputs)` over lists of scalars; returns nested scalars.
    inputs : tuple of str
        Dimension of each input, or its length.
    outputs : str or int
        Dimension of the result, or its length; see `length`.

    """

    function: Callable
    inputs: tuple
    outputs: object


def length(size, dimensions) -> int:
    """Return a length that is a number, a dimension, or (factor, dimension, more)."""
    if isinstance(size, tuple):
        factor, name, *more = size
        return factor * dimensions[name] + sum(more)
    return size if isinstance(size, int) else dimensions[size]


def _gravity(robot, runtime, q):
    return algorithms.gravity(robot.tree, runtime, q)


def _inertia(robot, runtime, q, armature):
    """Return the lower triangle of M, rotors included, row by row."""
    M = algorithms.add_to_diagonal(algorithms.mass_matrix(robot.tree, runtime, q), armature)
    return [row[:i + 1] for i, row in enumerate(M)]


def _matrix(robot, lower):
    """Return the rows of M for its lower triangle."""
    joints = range(robot.tree.nv)
    return [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in joints] for i in joints]


def _inertial(robot, runtime, q, armature, acceleration):
    """Return M times an acceleration, rotors included."""
    torque = algorithms.inertial(robot.tree, runtime, q, acceleration)
    return [t + r * a for t, r, a in zip(torque, armature, acceleration)]


def _response(robot, _runtime, lower, torque):
    """Return the accelerations at rest due to torques beyond gravity compensation: M^-1 torque."""
    M = _matrix(robot, lower)
    if len(M) <= algorithms.LARGEST_UNROLLED:
        return algorithms.solve(M, list(torque))
    return [sum(x * t for x, t in zip(row, torque)) for row in algorithms.inverse(M)]


def _apparent_inertia(robot, _runtime, lower):
    """Return 1 over the diagonal of M^-1: the inertia of each joint while the others are free."""
    inverse = algorithms.inverse(_matrix(robot, lower))
    return [1.0 / row[j] for j, row in enumerate(inverse)]


def _admissible_gains(robot, _runtime, lower, stiffness, damping, ratio, fastest):
    """Return the admissible parts of stiffness and damping, see `light_joints`."""
    M = _matrix(robot, lower)
    return admissible_parts(M, algorithms.inverse(M), stiffness, damping, ratio, *fastest)


def _path_torques(robot, runtime, q, first, second, armature, rate):
    """
    Return the torque on a path at a constant rate, and M q', its derivative by the change of rate.

    first, second: derivatives of q by the path time.
    """
    rate, = rate
    velocity, acceleration = [rate * v for v in first], [rate * rate * a for a in second]
    torque = algorithms.inverse_dynamics(robot.tree, runtime, q, velocity, acceleration)
    inertial = algorithms.inertial(robot.tree, runtime, q, first)
    return ([t + r * a for t, r, a in zip(torque, armature, acceleration)],
            [t + r * v for t, r, v in zip(inertial, armature, first)])


def _predict(robot, runtime, *state):
    return predict.state_after(robot.tree, runtime, *state)


def _observe(robot, runtime, q, qd, torque, known, motion, gains, step, memory):
    return residual_rows(robot.tree, runtime, q, qd, torque, known, motion,
                         *_rows(gains, robot.tree.nv), step, memory)


def wrench_torques(tree, runtime, q, wrenches):
    """Return -sum J^T w for wrenches (force, moment) at the bodies' origins, in body axes."""
    rows = [wrenches[6 * i:6 * i + 6] for i in tree.bodies]
    forces = [(tuple(-x for x in row[:3]), tuple(-x for x in row[3:])) for row in rows]
    poses = algorithms.joint_poses(tree, q)
    return algorithms.to_coordinates(tree, algorithms.backward_pass(tree, poses, forces))


def _wrench_torques(robot, runtime, q, wrenches):
    return wrench_torques(robot.tree, runtime, q, wrenches)


def _stable_part(robot, _runtime, lower, inertia, decay):
    return stable_part(_matrix(robot, lower), inertia, decay)


def _reach(robot, runtime, *given):
    return reach_step(robot.tree, runtime, *given, robot.frame)


def _rows(values, n):
    return [values[k:k + n] for k in range(0, len(values), n)]


_J, _M = 'joints', 'triangle'
PARTS = {
    'gravity': Part(_gravity, (_J,), _J),
    'inertia': Part(_inertia, (_J, _J), _M),
    'response': Part(_response, (_M, _J), _J),
    'apparent_inertia': Part(_apparent_inertia, (_M,), _J),
    'admissible_gains': Part(_admissible_gains, (_M, _J, _J, _J, 1), (2, _J)),
    'path_torques': Part(_path_torques, (_J,) * 4 + (1,), (2, _J)),
    'predict': Part(_predict, (_J,) * 7 + (1,), (2, _J)),
    'observe': Part(_observe, (_J, _J, _J, _J, (3, _J), (8, _J), 2, (6, _J)), (6, _J)),
    'inertial': Part(_inertial, (_J, _J, _J), _J),
    'wrench_torques': Part(_wrench_torques, (_J, 'wrenches'), _J),
    'stable_part': Part(_stable_part, (_M, _J, 1), 1),
    'reach': Part(_reach, (_J,) * 4 + (12, 6, (4, _J), 10), (3, _J, 4)),
}


@dataclass(frozen=True, eq=False)
class Body:
    """
    The robot of one cycle.

    Attributes
    ----------
    robot : Robot
        Structure, inertias and position limits.
    functions : namespace of tables of functions
        Compiled parts and laws.
    runtime : list of scalar
        Gravity and payload parameters, blended.
    gains : Gains of scalars
        Gains, with friction, rotors and gravity scale.

    """

    robot: SimpleNamespace
    functions: SimpleNamespace
    runtime: list
    gains: Any

    @property
    def nv(self) -> int:
        """Return the number of joints."""
        return self.robot.tree.nv

    def part(self, name, *inputs):
        """Return the result of a function of `PARTS`, as one list."""
        outputs = length(PARTS[name].outputs, self.robot.dimensions)
        return call(getattr(self.functions, name), 0.0, self.runtime, *map(flatten, inputs),
                    outputs=outputs)

    def rows(self, name, *inputs):
        """Return the result of a function of `PARTS` in rows of one number per joint."""
        return _rows(self.part(name, *inputs), self.nv)

    def inertia(self, q):
        """Return the lower triangle of M, rotors included, as other parts take it."""
        return self.part('inertia', q, self.gains.armature)

    def response(self, q, torque):
        """Return the accelerations at rest due to torques beyond gravity compensation."""
        return self.part('response', self.inertia(q), torque)

    def apparent_inertia(self, q):
        """Return the inertia of each joint while the others are free."""
        return self.part('apparent_inertia', self.inertia(q))

    def safe_gravity(self, q):
        """Return the part of g(q) that is compensated in safe states."""
        return [s * g for s, g in zip(self.gains.safe_gravity_scale, self.part('gravity', q))]
