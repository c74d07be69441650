"""
The control cycle of one arm: reference, law, supervision.

Pure: time is an argument, arrays come in model order, and nothing here knows about ROS. Setup
and requests raise; the cycle (`update`, `coast`) returns a torque whatever happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
import math

import numpy as np

from robodyn_ros.control.gains import Gains, per_joint
from robodyn_ros.control.law import ControlLaw, Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError, TrajectoryError
from robodyn_ros.safety import brake_at_limits, Ramp, StopProfile, Supervisor, Verdict
from robodyn_ros.trajectory import (
    check_feasibility, check_trajectory, Phase, Reference, Tolerances, Tracker, TrajectoryPoint)


_BRAKING = 160.0     # 1/s: damping in front of a limit, per unit of the joint's inertia
_BRAKING_TIME = 0.1  # s in which a floating joint may reach its limit
_STEEPEST = 1.5      # largest over mean deceleration of a stop
_LIMIT_SLACK = 1e-3  # rad or m: calibration and rounding
_ABSURD = 1e6        # rad, m, rad/s or m/s that no joint has
# points whose check fits between two states, and that may be checked while nothing moves
_MOST_POINTS_MOVING, _MOST_POINTS = 300, 5000


class Mode(Enum):
    """What the controller is doing."""

    INACTIVE = 'inactive'
    HOLD = 'hold'
    FLOAT = 'gravity_compensation'
    TRACK = 'tracking'
    STOP = 'stopping'


@dataclass(frozen=True)
class CycleSettings:
    """
    How the cycle behaves; times in seconds.

    Attributes
    ----------
    tracking : {'computed_torque', 'feedforward_pd'}
        The law that follows references.
    start_floating : bool
        Whether activation enters gravity compensation instead of a hold.
    activation_time : float
        In which feedback grows from nothing to its full part.
    stop_time : float
        In which a joint comes to rest from its velocity limit.
    effort_limit : (nv,) or None
        In place of the model's.
    effort_margin : float
        Part of the effort limit that may be used.
    torque_rate : float or (nv,) or None
        Largest change in N m/s (N/s); by default 100 effort limits per second.
    tolerances : Tolerances or None
        For trajectories; None judges nothing.
    allow_partial_joints : bool
        Whether a trajectory may leave joints out; they stay.
    longest_pause : float
        Between two states that the reference makes up for. After a longer one it goes on from
        where it was, and `ArmController.resume` should be called.

    """

    tracking: str = 'computed_torque'
    start_floating: bool = False
    activation_time: float = 0.5
    stop_time: float = 0.3
    effort_limit: Sequence[float] | None = None
    effort_margin: float = 1.0
    torque_rate: float | Sequence[float] | None = None
    tolerances: Tolerances | None = None
    allow_partial_joints: bool = False
    longest_pause: float = 0.25


class ArmController:
    """
    Closes the torque loop of one arm.

    Parameters
    ----------
    dynamics : Dynamics
        The arm.
    gains : Gains
        Of the laws.
    settings : CycleSettings
        See there.

    Attributes
    ----------
    mode : Mode
    fault : str
        Why the controller refuses motion, empty if it does not. Latched until `reset_fault` or
        the next activation.
    reference : Reference
        What is asked of the joints now.
    terms : (7, nv) array
        Terms of the last torque before supervision, rows as in `law.Term`.
    message : str
        How the last motion ended.

    """

    def __init__(self, dynamics: Dynamics, gains: Gains, settings: CycleSettings | None = None):
        self.settings = settings = settings or CycleSettings()
        self.model = model = dynamics.model
        self.effort_limit = checked_effort_limit(model, settings.effort_limit)
        rate = (100.0 * self.effort_limit if settings.torque_rate is None
                else per_joint('torque_rate_limit', settings.torque_rate, model))
        self._supervisor = Supervisor(self.effort_limit, rate, model.joint_names,
                                      settings.effort_margin)
        self._dynamics = dynamics
        self._law = ControlLaw(dynamics, gains, settings.tracking,
                               self.effort_limit * settings.effort_margin)
        self._tracker = Tracker(model.joint_names, max_step=settings.longest_pause)
        self._authority = Ramp(settings.activation_time)
        usual = np.isfinite(model.velocity_limit) & (model.velocity_limit > 0.0)
        self._deceleration = _STEEPEST / settings.stop_time * np.where(
            usual, model.velocity_limit, 2.0)
        self._brake, self._unit, self._still = np.zeros((3, model.nv))
        self._stop: StopProfile | None = None
        self._verdict = Verdict(*np.zeros((2, model.nv), dtype=bool), None)
        self._stopping = self._before = 0.0
        self._fallback = np.zeros(model.nv)
        self._desired = np.zeros(model.nv)
        self._q, self._qd = np.zeros(model.nv), np.zeros(model.nv)
        self.mode = Mode.INACTIVE
        self.fault = self.message = ''
        self.reference = Reference.zeros(model.nv)
        self.warm()

    @property
    def terms(self) -> np.ndarray:
        """Terms of the last torque, (7, nv)."""
        return self._law.terms

    @property
    def at_rest(self) -> bool:
        """Whether no motion is asked of the joints."""
        return self.mode in (Mode.INACTIVE, Mode.HOLD, Mode.FLOAT)

    def warm(self) -> None:
        """Compile all that the cycle and the requests call."""
        zero, state = np.zeros(self.model.nv), Reference.zeros(self.model.nv)
        self._law.follow(zero, zero, state)
        self._law.compensate(zero, zero)
        self._dynamics.warm('gravity', 'forward_dynamics')
        self._dynamics.inverse_dynamics(zero[None], zero[None], zero[None])

    # --- requests: they raise ---------------------------------------------------------------

    def activate(self, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """
        Take over the arm where it is: the first torque is its weight, and nothing jumps.

        Raises
        ------
        StateError
            The state is not finite, or a joint is outside its limits, naming it.

        """
        self.check_state(q, qd)
        self._q[:], self._qd[:] = q, qd
        self._before = now
        self._supervisor.reset(self.weight())
        self._authority.jump(0.0)
        self._authority.toward(1.0, now)
        self._anchor(q, qd)
        self._enter_stop()
        self.fault = self.message = ''
        if self.settings.start_floating:
            self.mode = Mode.FLOAT

    def check_state(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Raise `StateError` if the arm cannot be taken over in this state."""
        unusable = self._unusable(q, qd)
        if unusable:
            raise StateError(unusable)
        for name, x, low, high in zip(self.model.joint_names, q, self.model.lower,
                                      self.model.upper):
            if not low - _LIMIT_SLACK <= x <= high + _LIMIT_SLACK:
                raise StateError(
                    f"joint '{name}' stands at {x:.4f}, outside its limits [{low:g}, {high:g}]; "
                    'move it inside by hand, or correct its limits or its encoder offset',
                    joint=name, value=float(x))

    def deactivate(self) -> None:
        """Forget all motion; the torque to leave behind is `weight`."""
        self.mode = Mode.INACTIVE
        self._tracker.clear()

    def follow(self, now: float, joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
               start_delay: float = 0.0) -> float:
        """
        Follow a trajectory from now on, in place of what runs.

        Parameters
        ----------
        now : float
            Time of the cycle.
        joint_names, points
            As received.
        start_delay : float
            Seconds until the trajectory's time zero.

        Returns
        -------
        duration : float
            Seconds until the last point.

        Raises
        ------
        TrajectoryError, StateError
            Why it is not followed; what ran before goes on.

        """
        self._require_ready()
        most = _MOST_POINTS if self.at_rest else _MOST_POINTS_MOVING
        if len(points) > most:
            raise TrajectoryError(
                f'{len(points)} points take too long to check while the arm is controlled: send '
                f'at most {_MOST_POINTS_MOVING} while it moves, {_MOST_POINTS} while it does not',
                value=len(points), limit=most)
        # it leaves from the reference of the last cycle, so its time begins there
        delay = start_delay + now - self._before if start_delay else 0.0
        trajectory = check_trajectory(
            self.model, joint_names, points, self.reference.copy(), start_delay=delay,
            allow_partial_joints=self.settings.allow_partial_joints)
        check_feasibility(trajectory, self._dynamics.inverse_dynamics,
                          self.effort_limit * self.settings.effort_margin,
                          self.model.joint_names)
        self._tracker.start(trajectory, self._before, self.settings.tolerances)
        self.mode = Mode.TRACK
        self.message = ''
        return trajectory.duration

    def hold(self, now: float) -> None:
        """Come to rest and stay."""
        self._require_ready()
        self.stop(now, 'hold was asked for')

    def compensate_gravity(self, now: float) -> None:
        """Carry the weight and follow the hand: the arm floats."""
        self._require_ready()
        self._tracker.clear()
        self.mode = Mode.FLOAT
        self.message = 'float was asked for'

    def stop(self, now: float, message: str) -> None:
        """Decelerate from the present motion, then hold; never raises."""
        if self.mode is Mode.INACTIVE:
            return
        self._tracker.clear()
        self._enter_stop()
        self.message = message

    def fail(self, now: float, fault: str) -> None:
        """Latch a fault and stop; the first fault stays."""
        if not self.fault:
            self.fault = fault
        if self.mode in (Mode.TRACK, Mode.FLOAT):
            self.stop(now, fault)

    def set_gains(self, gains: Gains) -> None:
        """Use other gains from the next cycle on; the rate limit keeps the torque smooth."""
        self._law.gains = gains

    def saturated_joints(self) -> list[str]:
        """Return the joints whose torque was cut in the last cycle."""
        names = self.model.joint_names
        return [name for name, cut in zip(names, self._verdict.saturated) if cut]

    def reset_fault(self) -> None:
        """Allow motion again."""
        self.fault = self.message = ''

    # --- the cycle: it returns a torque -----------------------------------------------------

    def update(self, now: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, Verdict]:
        """
        Return the torque for a fresh state.

        Parameters
        ----------
        now : float
            Seconds, of a clock that never goes back.
        q, qd : (nv,)
            Measured. A state that is not finite is a fault, and counts as silence.

        Returns
        -------
        torque : (nv,)
            To be sent; overwritten by the next call.
        verdict : Verdict
            What supervision did.

        """
        # the squares are a quick look, the numbers decide
        if not q.dot(q) + qd.dot(qd) < _ABSURD and (unusable := self._unusable(q, qd)):
            self.fail(now, unusable)
            return self.coast(now)
        self._q[:], self._qd[:] = q, qd
        free = self.mode in (Mode.FLOAT, Mode.INACTIVE)
        if free:
            self._anchor(q, qd)
            terms = self._law.compensate(q, qd)
        else:
            self._advance(now, q, qd)
            terms = self._law.follow(q, qd, self.reference, self._authority.value(now))
        self._desired[:] = terms[Term.TOTAL]
        self._brake_at_limits(q, qd, _BRAKING_TIME if free else 0.25 * _BRAKING_TIME)
        np.multiply(self._law.gains.damping, qd, out=self._fallback)
        np.subtract(terms[Term.GRAVITY], self._fallback, out=self._fallback)
        return self._send(now)

    def coast(self, now: float) -> tuple[np.ndarray, Verdict]:
        """
        Return the torque while the state is silent.

        The reference comes to rest, and the model alone says what torque that takes: feedback
        on old numbers would push blindly. What remains at rest is the weight.
        """
        if self.mode in (Mode.TRACK, Mode.FLOAT):
            self.stop(now, 'the joint states are silent')
        self._advance(now, self.reference.q, self.reference.qd)
        terms = self._law.follow(self.reference.q, self.reference.qd, self.reference, 0.0)
        self._desired[:] = terms[Term.TOTAL]
        self._fallback[:] = terms[Term.GRAVITY]
        return self._send(now)

    def resume(self, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """
        Hold where the arm is found after silence; feedback grows from nothing.

        Also after a pause in which nobody called `coast`; an arm that floats then goes on.
        """
        if self.mode is Mode.INACTIVE:
            return
        self._q[:], self._qd[:] = q, qd
        self._before = now
        if self.mode is Mode.FLOAT:
            return
        if self.mode is Mode.TRACK:
            self.stop(now, 'the motion is given up after a pause')
        self._anchor(q, qd)
        self._enter_stop()
        self._authority.jump(0.0)
        self._authority.toward(1.0, now)

    def weight(self) -> np.ndarray:
        """Return the torque that holds the arm still where it was last seen."""
        return self._dynamics.gravity(self._q) * self._law.gains.gravity_scale

    def _brake_at_limits(self, q, qd, time) -> None:
        """Add what stops joints in front of their limits, with their inertia in this pose."""
        brake = brake_at_limits(q, qd, self.model.lower, self.model.upper, _BRAKING, time,
                                out=self._brake)
        for j in brake.nonzero()[0]:
            # what 1 N m (N) above the weight would do to the joint while the others are free
            self._unit[:] = self._dynamics.gravity(q)
            self._unit[j] += 1.0
            response = self._dynamics.forward_dynamics(q, self._still, self._unit)[j]
            self._desired[j] += brake[j] / response

    def _send(self, now):
        dt, self._before = now - self._before, now
        torque, verdict = self._supervisor.supervise(self._desired, self._fallback, dt)
        self._verdict = verdict
        if verdict.fault:
            self.fail(now, verdict.fault)
        return torque, verdict

    def _advance(self, now, q, qd) -> None:
        """Move the reference on."""
        if self.mode is Mode.TRACK:
            status = self._tracker.update(now, q, qd)
            self.reference.assign(status.reference)
            if status.phase is Phase.SUCCEEDED:
                self.mode, self.message = Mode.HOLD, status.message
            elif status.phase is Phase.ABORTED:
                self.stop(now, status.message)
        elif self.mode is Mode.STOP:
            # a clock that leaps or goes back must not let the reference jump
            self._stopping += min(max(0.0, now - self._before), self.settings.longest_pause)
            self._stop.sample(self._stopping, self.reference)
            if self._stopping >= self._stop.duration:
                self.mode = Mode.HOLD

    def _anchor(self, q, qd) -> None:
        """Let the reference be the measured motion."""
        self.reference.q[:], self.reference.qd[:] = q, qd
        self.reference.qdd.fill(0.0)
        self.reference.effort.fill(0.0)

    def _enter_stop(self) -> None:
        self._stop = StopProfile(self.reference, self._deceleration, self.model.lower,
                                 self.model.upper)
        self._stopping = 0.0
        self.mode = Mode.STOP

    def _unusable(self, q, qd) -> str:
        """Return which joint's state is not a number, and how; empty if none."""
        for name, x, v in zip(self.model.joint_names, q, qd):
            if not (abs(x) < _ABSURD and abs(v) < _ABSURD):
                return (f"joint '{name}' reports position {x}, velocity {v}; both must be finite "
                        f'numbers below {_ABSURD:g}')
        return ''

    def _require_ready(self) -> None:
        if self.mode is Mode.INACTIVE:
            raise StateError('the controller is not active; activate it first')
        if self.fault:
            raise StateError(f'a fault is latched: {self.fault}; remove its cause, then call '
                             'reset_fault')


def checked_effort_limit(model, override: Sequence[float] | None) -> np.ndarray:
    """
    Return the effort limits to obey.

    Raises
    ------
    ParameterError
        A limit is zero, negative or not finite: torque must have a bound.

    """
    limit = (np.array(model.effort_limit) if override is None or not len(override)
             else per_joint('effort_limit', override, model))
    for name, value in zip(model.joint_names, limit):
        if not 0.0 < value < math.inf:
            raise ParameterError(
                f"joint '{name}' has effort limit {value:g}: the torque must have a bound above "
                'zero; correct <limit effort> in the URDF, or set the parameter effort_limit',
                joint=name, value=float(value))
    return limit
