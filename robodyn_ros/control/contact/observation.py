"""External torque, collisions and contact wrench of an arm, for other code."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.contact.tip_wrench import compile_tip_wrench
from robodyn_ros.control.controlled_arm import ControlledArm
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.steps import collision, modes
from robodyn_ros.settings import per_joint

_REACTIONS = {'report': collision.REPORT, 'stop': collision.STOP, 'float': collision.FLOAT}


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
