"""Wrench at a link from the external torque of the joints."""

from __future__ import annotations

from collections.abc import Callable

from robodyn_ros.dynamics import algorithms, Dynamics
from robodyn_ros.model import RobotModel

# of the mean mobility of the link: damps directions in which it hardly moves
_DAMPING = 1e-5
_WHOLE = 6  # numbers of a wrench


def coordinates_moving(model: RobotModel, link: str) -> int:
    """Return the number of coordinates that move a link."""
    body, coordinates = model.link(link).body, set()
    while body >= 0:
        coordinates.add(int(model.coordinate[body]))
        body = model.parent[body]
    return len(coordinates)


def compile_tip_wrench(dynamics: Dynamics, link: str) -> Callable:
    """
    Return `wrench(q, armature, torque, out=None)` of one robot and link, compiled.

    Force and moment that the environment applies to the link at its origin, in base axes:

        w = (J M^-1 J^T)^-1 J M^-1 tau_ext,

    the dynamically consistent inverse of J^T (Khatib 1987): torques that do not accelerate the
    link do not contribute. Near a singularity directions in which the link hardly moves are
    damped. Fewer than six joints cannot distinguish forces from moments: the result is then the
    force without moment that explains the torque, in the directions in which the link can move.
    """
    frame = dynamics.frame(link)
    rows = _WHOLE if coordinates_moving(dynamics.model, link) >= _WHOLE else 3

    def wrench(tree, runtime, q, armature, torque):
        return tip_wrench(tree, runtime, q, armature, torque, frame, rows)

    kernel = dynamics.kernel(wrench, dict.fromkeys(('q', 'armature', 'torque'), dynamics.nv),
                             (_WHOLE,), f'tip_wrench|{frame}')
    return kernel.builtin('tip_wrench', compile_tip_wrench.__doc__)


def tip_wrench(tree, runtime, q, armature, torque, frame, count):
    """Return force and moment; with `count` 3 the force only."""
    M = algorithms.add_to_diagonal(algorithms.mass_matrix(tree, runtime, q), armature)
    J = algorithms.jacobian(tree, runtime, q, frame)[:count]
    answers = [algorithms.solve(M, row) for row in J]  # M^-1 J^T, column by column
    mobility = [[_dot(row, answer) for answer in answers] for row in J]
    for block in (range(3), range(3, count)):
        mean = sum((mobility[k][k] for k in block), 0.0) / 3.0
        for k in block:
            mobility[k][k] = mobility[k][k] + _DAMPING * mean
    found = algorithms.solve(mobility, [_dot(answer, torque) for answer in answers])
    return [*found, *[0.0] * (_WHOLE - count)]


def _dot(a, b):
    return sum((x * y for x, y in zip(a, b)), 0.0)
