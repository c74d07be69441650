"""The wrench at a link that explains the external torque of the joints."""

from __future__ import annotations

from collections.abc import Callable

from robodyn_ros.dynamics import algorithms, Dynamics
from robodyn_ros.model import RobotModel

# of the mean mobility of the link: directions in which it hardly moves count for little
_DAMPING = 1e-5
_WHOLE = 6  # numbers of a wrench


def coordinates_moving(model: RobotModel, link: str) -> int:
    """Return how many coordinates move a link."""
    body, coordinates = model.link(link).body, set()
    while body >= 0:
        coordinates.add(int(model.coordinate[body]))
        body = model.parent[body]
    return len(coordinates)


def compile_tip_wrench(dynamics: Dynamics, link: str) -> Callable:
    """
    Return `wrench(q, armature, torque, out=None)` of one robot and link, compiled.

    It is force and moment on the link at its origin, in base axes, that the environment applies:

        w = (J M^-1 J^T)^-1 J M^-1 tau_ext,

    the dynamically consistent inverse of J^T (Khatib 1987): torques that do not accelerate the
    link are no wrench on it. Near a singularity what the joints hardly feel is damped. Fewer than
    six joints cannot tell a force from a moment: then it is the force that explains the torque if
    there is no moment, without what points where the link cannot move.
    """
    frame = dynamics.frame(link)
    rows = _WHOLE if coordinates_moving(dynamics.model, link) >= _WHOLE else 3

    def wrench(tree, runtime, q, armature, torque):
        return tip_wrench(tree, runtime, q, armature, torque, frame, rows)

    kernel = dynamics.kernel(wrench, dict.fromkeys(('q', 'armature', 'torque'), dynamics.nv),
                             (_WHOLE,), f'tip_wrench|{frame}')
    return kernel.builtin('tip_wrench', compile_tip_wrench.__doc__)


def tip_wrench(tree, runtime, q, armature, torque, frame, count):
    """Return force and moment; of `count` 3 the force alone."""
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
