"""External torque, collisions and contact wrench of an arm, for other code."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.steps import collision, modes
from robodyn_ros.dynamics import algorithms, Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.settings import per_joint

# of the mean mobility of the link: damps directions in which it hardly moves
_DAMPING = 1e-5
_WHOLE = 6  # numbers of a wrench
_REACTIONS = {'report': collision.REPORT, 'stop': collision.STOP, 'float': collision.FLOAT}


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


# --- the observer of an arm ----------------------------------------------------------------------

class ContactObserver:
    """
    External torque, collisions, and the wrench at a link.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    link : str
        Link at which the wrench is estimated.

    Attributes
    ----------
    torque : (nv,) array
        External torque, N m (N).
    unknown : (nv,) array
        External torque without its known part, N m (N).

    """

    def __init__(self, arm: ControlledArm, link: str):
        self._model, self._messages, self.link, host = arm.model, arm.messages, link, arm.host
        self._observer, self._collision = host.memory.observer, host.memory.collision
        self._gains, self._program = host.program.gains, host.program
        self.torque, self.unknown = self._observer.external, self._observer.unknown
        self._wrench = compile_tip_wrench(arm.dynamics, link)

    def change(self, settings: Settings) -> None:
        """
        Apply other settings, except the link.

        Raises
        ------
        ParameterError
            A list of thresholds has a wrong length; nothing has changed then.

        """
        p, observer, chosen = self._program.collision, self._program.observer, settings.collision
        if chosen.threshold:
            p.threshold[:] = per_joint('collision.threshold', chosen.threshold,
                                       self._model.joint_names)
            p.release[:] = chosen.release * p.threshold
            p.duration[()] = chosen.duration
        p.on[()] = bool(chosen.threshold)
        p.reaction[()] = _REACTIONS[chosen.reaction]
        observer.measured[()] = settings.observer.torque_source == 'measured'
        observer.model_error[()] = chosen.model_error

    @property
    def collision(self) -> bool:
        """Whether there is a collision."""
        return bool(collision.present(self._collision, self._program.collision))

    @property
    def collisions(self) -> int:
        """Return the number of collisions since the start."""
        return int(self._collision.count)

    @property
    def last_collision(self) -> str:
        """Most affected joint at the start of the last collision, and its torque; '' if none."""
        last = self._collision
        return self._text(int(last.joint), last.torque) if self.collisions else ''

    @property
    def collision_text(self) -> str:
        """Most affected joint of the present collision, and its torque; '' if none."""
        if not self.collision:
            return ''
        joint, torque = collision.most_affected(self._collision, self._program.collision,
                                                self.unknown)
        return self._text(int(joint), torque)

    def _text(self, joint: int, torque: float) -> str:
        event = SimpleNamespace(code=modes.COLLIDED, joint=joint, value=torque,
                                bound=self._program.collision.threshold[joint], time=0.0)
        return self._messages.text(event).removeprefix('collision: ')

    def summary(self) -> dict[str, str]:
        """Return largest external torque and collisions, for diagnostics."""
        model, torque = self._model, self.torque
        j = int(np.argmax(np.abs(torque) / self._program.limits.effort))
        return {'largest external torque': f'{torque[j]:.3g} {model.effort_units[j]} at joint '
                                           f'{model.joint_names[j]}',
                'collision': self.collision_text, 'collisions': str(self.collisions)}

    def wrench(self) -> np.ndarray:
        """Return force and moment at the link that explain the torque, see `tip_wrench`."""
        return self._wrench(self._observer.q, self._gains.armature, self.torque)
