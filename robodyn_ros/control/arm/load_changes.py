"""Loads of an arm under control: payloads, known or estimated, gravity, and what motors bear."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.design import Bounds
from robodyn_ros.control.arm.status import Status
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.settings import AdaptiveSettings
from robodyn_ros.dynamics.loads import check_gravity
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import Payload
from robodyn_ros.model.inertia import parallel_axis, pseudo_inertia

_LIGHTEST = 1e-6  # kg, below which no centre of mass is determined


def overload(arm: ControlledArm, gravity: np.ndarray, bounds: Bounds) -> str:
    """Return the motor that could not hold the arm with such a gravity torque, (nv,), or ''."""
    torque = gravity * arm.design.gains.safe_gravity_scale
    with np.errstate(divide='ignore', invalid='ignore'):
        share = np.abs(torque) / bounds.usable
    j = int(np.argmax(np.nan_to_num(share)))
    if not share[j] > 1.0:
        return ''
    return (f"joint '{arm.model.joint_names[j]}' would need {arm.text_of(j, torque[j])} to "
            f'hold the arm here, its motor may give {arm.text_of(j, bounds.usable[j])}')


def check_wrench(arm: ControlledArm, torque: np.ndarray, link: str, what: str, role: str,
                 remedy: str = '') -> None:
    """
    Raise `ModelError` for a wrench beyond the torque of the motors here.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    torque : (nv,) array
        Torque of the joints that compensates the wrench.
    link : str
        Link of the wrench.
    what, role, remedy : str
        Name of the wrench, what the torque is needed for, and the remedy, for the message.

    """
    torque, usable = np.abs(torque), arm.bounds.usable
    share = torque / usable
    j = int(np.argmax(share))
    if share[j] > 1.0:
        raise ModelError(
            f"{what} on link {link!r}: joint '{arm.model.joint_names[j]}' would need "
            f'{arm.text_of(j, torque[j])} {role}, its motor may give '
            f'{arm.text_of(j, usable[j])}{remedy}', link=link)


# --- the payload that the adaptive law estimates -------------------------------------------------

class Adaptation:
    """
    Estimate of the payload on one link, in addition to the known payloads.

    Parameters
    ----------
    arm : ControlledArm
        The arm, whose cycle updates the estimate.

    Attributes
    ----------
    link : str
        Link that carries the payload.
    pseudo_inertia : (4, 4) array
        The estimate, in the axes of the link about its origin.

    Raises
    ------
    ModelError
        There is no such link, or it does not move.

    """

    def __init__(self, arm: ControlledArm):
        self.link = arm.design.link
        self._loads, self._host = arm.loads, arm.host
        self.pseudo_inertia = arm.memory.learning.estimate.reshape(4, 4)
        self.change(arm.design.settings.adaptive)

    def require(self) -> None:
        """Raise `ModelError` if the link does not move, or has no payload slot."""
        self._loads.slot_body(self.link)

    def change(self, settings: AdaptiveSettings) -> None:
        """Apply other settings from the next cycle on; the link stays."""
        program = self._host.program.learning
        for name in ('rate', 'dead_zone', 'largest_mass', 'size'):
            getattr(program, name)[()] = getattr(settings, name)
        program.change += 1.0

    @property
    def learning(self) -> bool:
        """Whether the estimate was updated in the last cycle."""
        return bool(self._host.memory.learning.active)

    @property
    def payload(self) -> Payload:
        """Return the total payload of the link: known payload plus estimate."""
        known = self._loads.payloads.get(self.link)
        P = self.pseudo_inertia.copy()
        if known is not None:
            P += pseudo_inertia(known.mass, known.mass * known.com,
                                parallel_axis(known.inertia, known.mass, known.com))
        mass = P[3, 3]
        if mass < _LIGHTEST:
            return Payload(self.link, 0.0, np.zeros(3), np.zeros((3, 3)))
        com = P[:3, 3] / mass
        spread, axes = np.linalg.eigh(P[:3, :3] - mass * np.outer(com, com))
        spread = np.maximum(spread, 0.0)  # rounding errors of a point mass
        return Payload(self.link, mass, com, (axes * (spread.sum() - spread)) @ axes.T)

    @property
    def summary(self) -> str:
        """Return the estimate as text."""
        mass = self.pseudo_inertia[3, 3]
        if mass < _LIGHTEST and not self.learning:
            return 'none'
        return (f'{mass:.3g} kg on {self.link}, '
                f'{"being learned" if self.learning else "kept"}')


# --- changes of payload and gravity --------------------------------------------------------------

class LoadChanges:
    """
    Checks payloads and gravity, and writes them into the program.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.

    """

    def __init__(self, arm: ControlledArm, status: Status):
        self._arm, self._status = arm, status

    def set_payload(self, payload: Payload) -> None:
        """
        Set the payload of a link; mass 0 removes it.

        It is blended in within `load_time`, at once while inactive. On the body of the link of
        `adaptation` it also replaces the estimate.

        Raises
        ------
        ModelError
            The link does not move, no real body has such an inertia, or the motors could not
            hold it; the message names link, value and remedy.

        """
        loads = self._arm.loads
        self._change(loads.with_payload(payload), loads.gravity,
                     f'payload of {payload.mass:g} kg on link {payload.link!r}',
                     forget=self._arm.model.link(payload.link).body
                     == self._arm.model.link(self._arm.design.link).body)

    def set_gravity(self, gravity) -> None:
        """
        Set the gravity vector, (3,) in the frame of the base (m/s^2), blended in as a payload.

        Raises
        ------
        ModelError
            It is not finite, of another size than the configured one, while active far from
            the present direction, or the motors could not hold the arm.

        """
        arm = self._arm
        arm.host.refresh()
        check_gravity(gravity, arm.model, None if self._status.mode is Mode.INACTIVE
                      else arm.memory.loads.known[:3])
        self._change(self._arm.loads.payloads, gravity,
                     f'gravity {list(map(float, gravity))}')

    def _change(self, payloads: dict[str, Payload], gravity, what: str,
                forget: bool = False) -> None:
        arm, loads, p = self._arm, self._arm.loads, self._arm.program
        active = self._status.mode is not Mode.INACTIVE
        target = loads.runtime_parameters(payloads, gravity)
        if active:
            m = arm.memory
            learned = 0.0 if forget else m.loads.learned
            problem = overload(arm, loads.gravity_torque(m.q, target + learned), arm.bounds)
            if problem:
                raise ModelError(f'{what}: {problem}; check the number and its unit')
        loads.payloads, loads.gravity = payloads, np.array(gravity, dtype=float)
        p.loads.target[:] = target
        p.loads.duration[()] = arm.design.settings.load_time if active else 0.0
        p.loads.change += 1.0
        p.learning.forget += forget
        arm.host.apply()
