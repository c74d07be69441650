"""Settings applied to one robot: its gains and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from robodyn_ros.control.arm.gain_design import (
    check_shaping, feedback_gains, GAIN_PARAMETERS, make_gains, make_task_gains, TASK_PARAMETERS)
from robodyn_ros.control.arm.loop_response import MeasuredLoop
from robodyn_ros.control.arm.stream_inputs import check_limits
from robodyn_ros.control.gains import Gains, TaskGains
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.settings import Settings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import near_matches, ParameterError, shown
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative
from robodyn_ros.safety import checked_bounds
from robodyn_ros.safety.limits import effort_and_rate
from robodyn_ros.settings import per_joint
from robodyn_ros.trajectory import Tolerances

# tolerances of laws that follow exactly, by unit; s to meet those of the goal
_USUAL = {'trajectory': {'rad': 0.2, 'm': 0.05}, 'goal': {'rad': 0.05, 'm': 0.01}}
_GOAL_TIME = 2.0
_SHORT = 4e-3  # s, delay that is not worth its uncertainty
_GAINS, _TASK = (attrgetter(*names) for names in (GAIN_PARAMETERS, TASK_PARAMETERS))


@dataclass(frozen=True, eq=False)
class Bounds:
    """
    Bounds of the torque of one robot.

    Attributes
    ----------
    effort : (nv,)
        Effort limits in N m (N).
    margin : float
        Part of them that may be used.
    usable : (nv,)
        Their product.
    rate : (nv,)
        Largest change in N m/s (N/s).
    handshake : (nv,)
        Difference of measured effort and gravity torque that is attributed to friction and noise,
        in N m (N).

    """

    effort: np.ndarray
    margin: float
    usable: np.ndarray
    rate: np.ndarray
    handshake: np.ndarray

    @classmethod
    def from_settings(cls, model: RobotModel, settings: Settings) -> Bounds:
        """
        Return the bounds of a robot with these settings.

        Raises
        ------
        ParameterError
            A wrong length or value, naming the joint.

        """
        limits = settings.limits
        effort, rate = effort_and_rate(limits, model.joint_names, model.effort_limit)
        handshake = (not_negative('handshake_tolerance', settings.handshake_tolerance, model)
                     if settings.handshake_tolerance else 0.1 * effort)
        usable, rate = checked_bounds(model.joint_names, effort, rate, limits.effort_margin)
        return cls(effort, limits.effort_margin, usable, rate, handshake)


# --- the design ----------------------------------------------------------------------------------

@dataclass(frozen=True, eq=False)
class Design:
    """
    Settings applied to one robot.

    Attributes
    ----------
    settings : Settings
        The settings.
    gains : Gains
        Gains of the joints.
    task_gains : TaskGains
        Gains of the Cartesian laws.
    bounds : Bounds
        Bounds of the torque.
    tolerances : Tolerances
        Tolerances of trajectories.
    link : str
        Link that the Cartesian laws control.
    bandwidth_factor : (nv,)
        Part of the natural frequency that the measured loop of the joint bears; 1: all of it.
    loop : MeasuredLoop, optional
        Loops of the joints, where they were measured.

    """

    settings: Settings
    gains: Gains
    task_gains: TaskGains
    bounds: Bounds
    tolerances: Tolerances
    link: str
    bandwidth_factor: np.ndarray
    loop: MeasuredLoop | None = None

    @classmethod
    def make(cls, dynamics: Dynamics, settings: Settings, before: Design | None = None,
             loop: MeasuredLoop | None = None) -> Design:
        """
        Return the design of a robot.

        Parameters
        ----------
        dynamics : Dynamics
            The robot.
        settings : Settings
            The settings.
        before : Design, optional
            Present design, whose gains stay where their parameters are the same: the inertia they
            were made for may have changed with the payload.
        loop : MeasuredLoop, optional
            Measured loops of the joints; default those of `before`.

        Raises
        ------
        ParameterError
            A wrong length or value, naming the joint.

        """
        require_settings(settings)
        model = dynamics.model
        loop = loop or (None if before is None else before.loop)
        if before is not None and loop is before.loop and (
                _GAINS(settings) == _GAINS(before.settings)):
            gains, factor = before.gains, before.bandwidth_factor
        else:
            gains = make_gains(dynamics, settings, loop)
            *_, factor = feedback_gains(model, settings, loop)
        check_shaping(gains, model)
        check_limits(settings.stream, model.joint_names)
        per_joint('reflection.gain', settings.reflection.gain, model.joint_names)
        per_joint('collision.threshold', settings.collision.threshold or 0.0, model.joint_names)
        if before is not None and _TASK(settings) == _TASK(before.settings):
            task_gains = before.task_gains
        else:
            task_gains = make_task_gains(dynamics, settings)
        return cls(settings, gains, task_gains, Bounds.from_settings(model, settings),
                   tolerances(settings, model), settings.cartesian.link or model.tip, factor,
                   loop)

    @property
    def unseen_delay(self) -> float:
        """Return the delay from torque to velocity that feedback has to bear, in s."""
        return self.found_delay or self.settings.loop_delay

    @property
    def found_delay(self) -> float:
        """Return the delay from torque to velocity that was measured, in s; 0: none was."""
        loop = self.loop
        if loop is None or loop.unexplained.any() or not loop.known.any():
            return 0.0
        return float(loop.delay.max())

    @property
    def delays(self) -> np.ndarray:
        """Return the delay of each joint that was measured, (nv,), in s; 0 where it is short."""
        loop = self.loop
        if loop is None:
            return np.zeros(len(self.gains.kp))
        return np.where(loop.known & ~loop.unexplained & (loop.delay > _SHORT), loop.delay, 0.0)


def require_settings(settings: Settings) -> None:
    """Raise `ParameterError` for what is no `Settings`."""
    if not isinstance(settings, Settings):
        raise ParameterError(f'settings are {shown(settings)}: give Settings(...)')


def tolerances(settings: Settings, model: RobotModel) -> Tolerances:
    """Return the tolerances of trajectories; raises `ParameterError` for a wrong length."""
    given, joint_names = settings.constraints, model.joint_names
    for name in given.joints:
        if name not in joint_names:
            raise ParameterError(f'constraints.{name}: the model has no joint {shown(name)}; '
                                 + near_matches(name, joint_names), joint=name)
    law = TRACKING.get(settings.mode)
    exact = law is not None and not law.springs and not law.cartesian

    def limits(kind):
        values = getattr(given, kind)
        common = (per_joint(f'constraints.{kind}', values, joint_names) if values
                  else [_USUAL[kind][unit] if exact else 0.0 for unit in model.position_units])
        own = [getattr(given.joints[name], kind) if name in given.joints else 0.0
               for name in joint_names]
        return [x or y for x, y in zip(own, common)]

    usual_goal = exact and not given.goal and not given.joints
    return Tolerances.from_defaults(
        model.nv, limits('trajectory'), limits('goal'),
        given.goal_time or (_GOAL_TIME if usual_goal else 0.0), given.stopped_velocity_tolerance)
