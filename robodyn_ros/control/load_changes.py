"""Changes of the payloads and of the gravity of an arm under control."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.controlled_arm import ControlledArm
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.motor_capacity import overload
from robodyn_ros.control.status import Status
from robodyn_ros.dynamics.loads import check_gravity
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import Payload


class LoadChanges:
    """
    Checks payloads and gravity, and writes them into the program.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.
    learning_link : str
        Link whose payload the adaptive law estimates.

    """

    def __init__(self, arm: ControlledArm, status: Status, learning_link: str):
        self._arm, self._status, self._learning_link = arm, status, learning_link

    def set_payload(self, payload: Payload) -> None:
        """
        Set the payload of a link; mass 0 removes it.

        It is blended in within `load_time`, at once while inactive. On the link of
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
                     forget=payload.link == self._learning_link)

    def set_gravity(self, gravity) -> None:
        """
        Set the gravity vector, (3,) in the frame of the base (m/s^2), blended in as a payload.

        Raises
        ------
        ModelError
            It is not finite, too large, or the motors could not hold the arm.

        """
        check_gravity(gravity)
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
