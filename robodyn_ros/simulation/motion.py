"""
Planning of a demonstration motion: all joints of any arm at once, back to the start.

A quintic spline passes through via points and is at rest at both ends. Its points have velocities
and accelerations, so that a controller interpolates exactly this spline.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import make_interp_spline

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import usable_range
from robodyn_ros.model.units import joint_slides
from robodyn_ros.safety import checked_effort_limits
from robodyn_ros.trajectory import Reference, Trajectory

VIAS = 4             # via points
START = 0.05         # s to the first point; a trajectory starts on arrival
MARGIN = 0.1         # part of a joint's range kept free at either end,
MAX_MARGIN = 0.2     # at most so many rad or m
REACH = (0.6, 0.15)  # rad, m: largest distance from the start
FREE = (1.0, 0.2)    # rad, m: half of the range of a joint without position limits
SPEED = (2.0, 0.5)   # rad/s, m/s: speed limit of a joint without one
# rad/s, natural frequency of the error: twice the node's default, which is for a first launch on a
# real arm
STIFFNESS = 40.0
USABLE = 0.8         # part of the torque that the plan may use; the rest is for feedback
_SAMPLES, _PLACES, _CANDIDATES, _STRETCH, _ATTEMPTS = 160, 1000, 24, 1.3, 9


@dataclass(frozen=True)
class Motion:
    """
    Points of a trajectory from rest to rest, in model order.

    Attributes
    ----------
    times : (n,) array
        Times in s; the first point is the start position.
    positions, velocities, accelerations : (n, nv) array
        Points.
    torque_share : (nv,) array
        Largest ratio of the torque of each joint to its effort limit, by the model.

    """

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    torque_share: np.ndarray

    @property
    def start(self) -> np.ndarray:
        """Position before and after the motion, (nv,)."""
        return self.positions[0]

    @property
    def duration(self) -> float:
        """Time from the first point to the last, in s."""
        return float(self.times[-1] - self.times[0])

    def trajectory(self, start: Reference | None = None, first: float = START) -> Trajectory:
        """
        Return the trajectory that a controller makes of the points.

        Parameters
        ----------
        start : Reference, optional
            Reference before; default at rest at the start.
        first : float
            Time until the first point, in s.

        """
        return Trajectory.from_points(
            self.times + (first - self.times[0]), self.positions, self.velocities,
            self.accelerations, start=start or Reference.at_rest(self.start))

    def stretched(self, factor: float) -> Motion:
        """Return the same path with `factor` times the duration; torque shares are kept."""
        times = START + factor * (self.times - START)
        return Motion(times, self.positions, self.velocities / factor,
                      self.accelerations / factor ** 2, self.torque_share)


def plan_motion(dynamics: Dynamics, duration: float = 2.0, speed: float = 0.6) -> Motion:
    """
    Return a motion within position, velocity and effort limits.

    Of many start positions, the one is chosen whose motion needs the largest torques within the
    usable part of the limits. If there is none, the motion is made slower.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm; friction is included.
    duration : float
        Desired duration in s.
    speed : float
        Part of the velocity limits that the joints reach if their range permits.

    Raises
    ------
    ParameterError
        A joint has no effort limit, or one of zero.
    TrajectoryError
        No joint can move, or the motors cannot hold the arm against gravity.

    """
    limit = checked_effort_limits(
        dynamics.model.joint_names, dynamics.model.effort_limit, dynamics.model.effort_limit)
    starts = _starts(dynamics, limit)
    for _ in range(_ATTEMPTS):
        motions = [_from(start, dynamics, duration, speed, limit) for start in starts]
        possible = [motion for motion in motions if motion.torque_share.max() <= USABLE]
        if possible:
            return max(possible, key=lambda motion: motion.torque_share.mean())
        duration *= _STRETCH
    raise _too_weak(dynamics, min(motions, key=lambda motion: motion.torque_share.max()), limit)


def random_motions(dynamics: Dynamics, count: int, duration: tuple[float, float],
                   speed: tuple[float, float], seed: int = 0) -> list[Motion]:
    """
    Return motions within all limits, of random start, form, duration and speed.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm.
    count : int
        Number of motions.
    duration, speed : (float, float)
        Ranges of duration (s) and speed, see `plan_motion`; motions that the motors cannot drive
        are made slower.
    seed : int
        Seed.

    Raises as `plan_motion`.

    """
    limit = checked_effort_limits(
        dynamics.model.joint_names, dynamics.model.effort_limit, dynamics.model.effort_limit)
    random, starts, motions = np.random.default_rng(seed), _starts(dynamics, limit), []
    for k in range(count):
        start, phase = starts[k % len(starts)], random.uniform(0.0, 2.0 * np.pi)
        lasts, part = random.uniform(*duration), random.uniform(*speed)
        for _ in range(_ATTEMPTS):
            motion = _from(start, dynamics, lasts, part, limit, phase)
            if motion.torque_share.max() <= USABLE:
                # as exact in a message, whose times are whole nanoseconds
                motions.append(replace(motion, times=np.round(motion.times, 6)))
                break
            lasts *= _STRETCH
    if not motions:
        raise _too_weak(dynamics, motion, limit)
    return motions


def _from(start: np.ndarray, dynamics: Dynamics, duration: float, speed: float,
          limit: np.ndarray, phase: float = 0.0) -> Motion:
    """Return the largest motion from a start position, with its torques."""
    model = dynamics.model
    spline, rate = _shape(model.nv, phase), 1.0 / duration
    u = np.linspace(0.0, 1.0, _SAMPLES)
    amplitude = _amplitude(model, start, spline(u), rate * spline(u, 1), speed)
    q, qd, qdd = (amplitude * rate ** k * spline(u, k) for k in range(3))
    torque = dynamics.inverse_dynamics(start + q, qd, qdd) + model.friction_torque(qd)
    knots = np.linspace(0.0, 1.0, VIAS + 2)
    points = [amplitude * rate ** k * spline(knots, k) for k in range(3)]
    for derivative in points[1:]:
        derivative[[0, -1]] = 0.0
    return Motion(START + duration * knots, start + points[0], points[1], points[2],
                  np.abs(torque).max(axis=0) / limit)


def _shape(nv: int, phase: float):
    """Return a spline over [0, 1] with (nv,) values from about -1 to 1, at rest at both ends."""
    via, joint = np.arange(1, VIAS + 1)[:, None], np.arange(nv)
    places = np.zeros((VIAS + 2, nv))
    # all joints follow the same wave, each with another phase
    places[1:-1] = np.cos(2.1 * via + 2.4 * joint + phase)
    rest = [(1, np.zeros(nv)), (2, np.zeros(nv))]
    return make_interp_spline(np.linspace(0.0, 1.0, VIAS + 2), places, k=5, bc_type=(rest, rest))


def _amplitude(model: RobotModel, start, shape, velocity, speed) -> np.ndarray:
    """Return the amplitude of each joint; (nv,), 0 if it cannot move."""
    lower, upper = _range(model)
    known = np.isfinite(model.velocity_limit)
    fastest = speed * np.where(known, model.velocity_limit, _each(model, SPEED))
    amplitude = np.minimum(_each(model, REACH), fastest / np.abs(velocity).max(axis=0))
    for room, extent in ((upper - start, shape.max(axis=0)), (start - lower, -shape.min(axis=0))):
        amplitude = np.minimum(amplitude, np.maximum(room, 0.0) / extent)
    if not amplitude.any():
        raise TrajectoryError('no joint can move: every velocity limit or position range is zero; '
                              'correct <limit> in the URDF', joints=model.joint_names)
    return amplitude


def _starts(dynamics: Dynamics, limit: np.ndarray) -> np.ndarray:
    """
    Return start positions, from a fixed seed; (n, nv).

    Those with the largest gravity torques up to half of the usable ones; if there are none, those
    with the smallest gravity torques.
    """
    lower, upper = _range(dynamics.model)
    parts = np.random.default_rng(7).uniform(0.2, 0.8, (_PLACES, dynamics.nv))
    places = lower + parts * (upper - lower)
    share = np.abs(dynamics.gravity(places)) / limit
    worst = share.max(axis=1)
    rank = np.where(worst <= 0.5 * USABLE, -share.mean(axis=1), worst)
    return places[np.argsort(rank)[:_CANDIDATES]]


def _range(model: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Return finite position limits, reduced by a margin at either end."""
    lower, upper = usable_range(model, _each(model, FREE))
    margin = np.minimum(MARGIN * (upper - lower), MAX_MARGIN)
    return lower + margin, upper - margin


def _each(model: RobotModel, pair: tuple[float, float]) -> np.ndarray:
    """Return the first value for each revolute joint, the second for each prismatic one."""
    return np.where(joint_slides(model), pair[1], pair[0])


def _too_weak(dynamics: Dynamics, motion: Motion, limit: np.ndarray) -> TrajectoryError:
    j = int(motion.torque_share.argmax())
    name = dynamics.model.joint_names[j]
    return TrajectoryError(
        f"no motion was found that the motors can drive: joint '{name}' would need "
        f'{motion.torque_share[j] * limit[j]:.4g} of its {limit[j]:g} N m or N even when moving '
        'slowly; check <limit effort> and the masses in the URDF, or lock joints',
        joint=name, value=float(motion.torque_share[j] * limit[j]), limit=float(limit[j]))
