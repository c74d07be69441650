"""
Inputs that are valid until a timeout: wrenches, reflected torques, linear feedback.

The leader is guided by hand; the follower tracks it elsewhere. A part of the external torque of
the follower, from its momentum observer, is added to the gravity compensation of the leader:
    tau = g(q) - D qd + gain * tau_ext of the follower
(Lawrence 1993, "Stability and transparency in bilateral teleoperation", the force channel). With
delay between both arms the loop gains energy; a gain below 1, and the damping of the leader, keep
it stable.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.linear_feedback import LinearCommand, LinearFeedback
from robodyn_ros.control.arm.load_changes import check_wrench
from robodyn_ros.control.arm.request_writer import require_inside, require_ready
from robodyn_ros.control.arm.status import Status
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.settings import ReflectionSettings
from robodyn_ros.control.steps.body import wrench_torques
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ModelError, StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE

_ABSURD = 1e6  # N or N m that no sensor measures; sums of much larger ones overflow


class ExternalWrenches:
    """
    Wrenches that the environment applies to links, one per link, each valid until its timeout.

    A wrench is in the axes of its link, like that of a force/torque sensor. If several links of a
    body have a wrench, all of them end with the first.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    memory : namespace
        Memory of the cycle.
    program : namespace
        Fields of `steps.wrenches.Program`.

    """

    def __init__(self, dynamics: Dynamics, memory: SimpleNamespace, program: SimpleNamespace):
        model = self._model = dynamics.model
        self._memory, self._program = memory, program
        self._at_links: dict[str, tuple[int, np.ndarray, float]] = {}
        program.end.fill(-np.inf)
        kernel = dynamics.kernel(wrench_torques, {'q': model.nv, 'wrenches': 6 * model.nb},
                                 (model.nv,), 'wrench_torques')
        self._wrench_torques = kernel.builtin('wrench_torques', wrench_torques.__doc__)

    def apply(self, now: float, link: str, wrench, timeout: float) -> None:
        """
        Apply a wrench at a link from now on, for `timeout` seconds.

        Parameters
        ----------
        now : float
            Time of the cycle.
        link : str
            Link on which the wrench acts, at its origin and in its axes.
        wrench : (6,)
            Force and moment that the environment applies (N, N m); replaces the previous wrench.
        timeout : float
            Seconds.

        Raises
        ------
        ModelError
            There is no such link, or it does not move.
        ArgumentError
            The wrench is not six finite numbers of plausible size.

        """
        body, values = self._at_body(link, wrench)
        self._at_links = {each: self._at_links[each] for each in self.links}
        self._at_links[link] = (body, values, now + timeout)
        total, end = np.zeros((self._model.nb, 6)), np.full(self._model.nb, np.inf)
        for at, wrench_, until in self._at_links.values():
            total[at] += wrench_
            end[at] = min(end[at], until)
        self._program.wrench[:] = total.ravel()
        self._program.end[:] = np.where(np.isfinite(end), end, -np.inf)

    def effect(self, q: np.ndarray, link: str, wrench) -> np.ndarray:
        """Return the joint torques, (nv,), that compensate a wrench; raises as `apply`."""
        body, values = self._at_body(link, wrench)
        all_bodies = np.zeros(6 * self._model.nb)
        all_bodies[6 * body:6 * body + 6] = values
        return self._wrench_torques(q, all_bodies)

    def _at_body(self, link: str, wrench) -> tuple[int, np.ndarray]:
        """Return the body that carries a link, and the wrench at its origin in its axes."""
        frame = self._model.link(link)
        if frame.body < 0:
            raise ModelError(f'wrench on link {link!r}: the link belongs to the immovable base; '
                             'name a link that moves', link=link)
        values = np.array(wrench, dtype=float)
        if values.shape != (6,) or not (np.abs(values) < _ABSURD).all():
            raise ArgumentError(f'wrench on link {link!r} is {values.tolist()}: it must be 6 '
                                f'finite numbers below {_ABSURD:g}, force then moment', link=link)
        force = frame.rotation @ values[:3]
        moment = frame.rotation @ values[3:] + np.cross(frame.translation, force)
        return frame.body, np.concatenate([force, moment])

    def clear(self) -> None:
        """Remove all wrenches at once."""
        self._at_links.clear()
        self._program.end.fill(-np.inf)
        self._program.clear += 1.0

    @property
    def links(self) -> tuple[str, ...]:
        """Links with a valid wrench."""
        now = self._memory.last_time
        return tuple(link for link, (_, _, end) in self._at_links.items() if end > now)


# --- force reflection ----------------------------------------------------------------------------

class Reflection:
    """
    Reflected torque of another arm, valid until its timeout.

    Parameters
    ----------
    model : RobotModel
        Model of the leader.
    program : namespace
        Fields of `steps.reflection.Program`.

    """

    def __init__(self, model: RobotModel, program: SimpleNamespace):
        self._model, self._program = model, program
        program.end[()] = -np.inf

    def change(self, usable: np.ndarray, settings: ReflectionSettings) -> None:
        """
        Apply other settings; usable: usable effort, (nv,).

        Raises
        ------
        ParameterError
            A list of gains has a wrong length.

        """
        self._program.gain[:] = not_negative('reflection.gain', settings.gain, self._model)
        self._program.limit[:] = settings.limit * usable

    @property
    def enabled(self) -> bool:
        """Whether any torque is reflected."""
        return bool(self._program.gain.any())

    def take(self, now: float, torque, timeout: float) -> None:
        """
        Reflect a torque, (nv,), from now on, for `timeout` seconds.

        Raises
        ------
        ArgumentError
            The length is wrong, or a number is not finite, naming the joint.

        """
        values = np.array(torque, dtype=float)
        if values.shape != (self._model.nv,):
            raise ArgumentError(f'{values.shape} torques to reflect; give one for each of the '
                                f'{self._model.nv} joints', shape=values.shape)
        bad = ~(np.abs(values) < MAX_PLAUSIBLE_VALUE)
        if bad.any():
            j = int(np.argmax(bad))
            raise ArgumentError(f"effort of joint '{self._model.joint_names[j]}' is {values[j]}; "
                                'it must be finite', joint=self._model.joint_names[j])
        self._program.torque[:] = values
        self._program.end[()] = now + timeout
        self._program.number += 1.0

    def clear(self) -> None:
        """End the reflection at once."""
        self._program.end[()] = -np.inf


# --- all of them ---------------------------------------------------------------------------------

class ExternalInputs:
    """
    Wrenches, reflected torques and linear feedback: checked, then written into the program.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.

    Attributes
    ----------
    wrenches, target : ExternalWrenches
        Known external wrenches, and the negative of the wrench that a link is to apply.
    reflection : Reflection
        Reflected torque of another arm.

    """

    def __init__(self, arm: ControlledArm, status: Status):
        self._arm, self._status = arm, status
        memory, program = arm.memory, arm.program
        self.wrenches = ExternalWrenches(arm.dynamics, memory, program.external)
        self.target = ExternalWrenches(arm.dynamics, memory, program.target)
        self.reflection = Reflection(arm.model, program.reflection)
        self._linear = LinearFeedback(arm.dynamics, program.external_law)

    def clear(self) -> None:
        """End all of them at once."""
        for each in (self.wrenches, self.target, self.reflection):
            each.clear()
        self._arm.program.external_law.until[()] = -np.inf

    def apply_wrench(self, now: float, link: str, wrench) -> None:
        """
        Take into account a wrench, (6,), that the environment applies to a link.

        It is used for `external_wrench.timeout` while the arm follows or holds; a floating arm
        yields to it. Raises as `ExternalWrenches.apply`, and ModelError for a wrench that the
        motors could not bear here.
        """
        self._check(link, wrench, 'wrench', 'against it', '; check the sensor and its unit')
        self.wrenches.apply(now, link, wrench, self._timeout)

    def press(self, now: float, link: str, wrench) -> None:
        """
        Apply a wrench, (6,) in the axes of a link, to the environment.

        It is used for `external_wrench.timeout` while a Cartesian law is active. Raises as
        `ExternalWrenches.apply`, StateError in other modes, and ModelError for a wrench that the
        motors could not apply here.
        """
        law = self._arm.law
        if not TRACKING[law].cartesian:
            raise StateError(f'a target wrench is used in the Cartesian modes only, the mode is '
                             f'{law}; set mode to cartesian_impedance or operational_space')
        require_ready(self._status)
        reaction = -np.asarray(wrench, dtype=float)
        self._check(link, reaction, 'target wrench', 'for it')
        self.target.apply(now, link, reaction, self._timeout)

    def reflect(self, now: float, torque) -> None:
        """
        Reflect another arm's external torque, (nv,), while this one floats.

        It is used for `external_wrench.timeout`. Raises as `Reflection.take`, and StateError if
        the gain is 0.
        """
        if not self.reflection.enabled:
            raise StateError('reflection.gain is 0: no torque is reflected; set it, for example '
                             'to 0.5')
        self.reflection.take(now, torque, self._timeout)

    def take_linear_feedback(self, now: float, command: LinearCommand) -> None:
        """
        Apply a command of linear feedback, for `linear_feedback.timeout`.

        Raises
        ------
        StateError, ArgumentError
            The command is rejected; the one before is used until its timeout.

        """
        if not self._status.expects_linear_feedback:
            raise StateError('linear feedback is not active: set the parameter mode to '
                             'linear_feedback, again if it was disabled meanwhile')
        require_inside(self._status, 'linear feedback')
        arm = self._arm
        arm.loaded_dynamics()  # for the checks
        bounds = arm.design.settings.linear_feedback
        self._linear.take(now, command, (arm.memory.q, arm.memory.qd), arm.design.gains.armature,
                          arm.bounds.usable, bounds)
        arm.messages.timeout = bounds.timeout

    @property
    def _timeout(self) -> float:
        return self._arm.design.settings.external_wrench.timeout

    def _check(self, link: str, wrench, *words: str) -> None:
        """Raise `ModelError` for a wrench, (6,), beyond the torque of the motors here."""
        effect = self.wrenches.effect(self._arm.memory.q, link, wrench)
        check_wrench(self._arm, effect, link, *words)
