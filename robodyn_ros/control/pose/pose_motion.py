"""
Motions of the reference to a pose of a link.

The reference is an arm of its own that moves by resolved rates. Its link heads straight for the
target, as fast as it may and still come to rest there; joints respect their limits of position,
velocity and acceleration, and the link those of its own. Every new target is taken up from the
motion that is under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from robodyn_ros.control.pose.resolved_rate import reach_step
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, shown
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.trajectory import Reference

POSE_REACHED = 'the target pose is reached'
_STEP = 2e-3        # s, at most
_SMOOTHING = 5e-3   # s: time constant of accelerations
_FADING = 0.1       # s: time constant with which the effort of a trajectory is let go
_MARGIN = 2e-3      # rad or m that are kept to limits
_ARRIVED = 1e-5     # m and rad
_STILL = 2e-4       # rad/s or m/s
_WINDOW = 0.5       # s in which there has to be progress,
_PROGRESS = 0.05    # of what was asked for
_NO_LIMIT = 1e9     # rad or m


@dataclass(frozen=True)
class ReachSettings:
    """
    How fast a link may be moved, and how far ahead of it the reference; linear, then angular.

    Attributes
    ----------
    velocity : pair of float
        m/s and rad/s.
    acceleration : pair of float
        m/s^2 and rad/s^2.
    leash : pair of float
        m and rad between reference and arm at which the reference waits.

    """

    velocity: Sequence[float] = (0.25, 1.0)
    acceleration: Sequence[float] = (1.0, 4.0)
    leash: Sequence[float] = (0.1, 0.5)

    def __post_init__(self):
        for name in ('velocity', 'acceleration', 'leash'):
            values = np.array(getattr(self, name), dtype=float)
            if values.shape != (2,) or not ((values > 0.0) & (values < np.inf)).all():
                raise ParameterError(f'cartesian {name} is {shown(getattr(self, name))}; give two '
                                     'numbers above 0, linear then angular', parameter=name)
            object.__setattr__(self, name, tuple(values.tolist()))


class PoseMotion:
    """
    Moves a reference to a pose.

    Parameters
    ----------
    dynamics : Dynamics
        The arm.
    link : str
        That is moved.
    reach : (6,)
        As in `TaskGains`.
    acceleration : (nv,)
        Largest accelerations of the joints.
    settings : ReachSettings
        May be replaced at any time.

    """

    def __init__(self, dynamics: Dynamics, link: str, reach: np.ndarray, acceleration: np.ndarray,
                 settings: ReachSettings):
        model, n = dynamics.model, dynamics.nv
        self.link, self.settings, self._reach = link, settings, np.array(reach)
        self._joints = np.concatenate([*joint_bounds(model), acceleration])
        self._target, self._pace, self._next = np.zeros(12), np.zeros(9), np.zeros(3 * n + 4)
        self._target[:9:4] = 1.0
        self._motion, self._numbers = self._next[:3 * n].reshape(3, n), self._next[3 * n:]
        self._step = self._compiled(dynamics)
        self._nudging, self._nudged = 0.0, False
        self._watch(math.inf)

    def _compiled(self, dynamics: Dynamics):
        n, frame = dynamics.nv, dynamics.frame(self.link)

        def step(tree, runtime, *arrays):
            return reach_step(tree, runtime, *arrays, frame)

        sizes = {**dict.fromkeys(('q', 'qd', 'qdd', 'measured'), n), 'target': 12, 'reach': 6,
                 'joints': 4 * n, 'pace': 9}
        kernel = dynamics.kernel(step, sizes, self._next.shape, f'reach|{frame}')
        return kernel.builtin('reach_step', reach_step.__doc__)

    def aim(self, rotation: np.ndarray, position: np.ndarray) -> None:
        """Head for a pose in the base frame, in place of the one before."""
        self._target[:9], self._target[9:] = np.ravel(rotation), position
        self._nudging, self._nudged = 0.0, False
        self._watch(math.inf)

    def advance(self, dt: float, reference: Reference, measured: np.ndarray) -> str:
        """
        Move the reference on.

        Parameters
        ----------
        dt : float
            Seconds.
        reference : Reference
            Changed in place.
        measured : (nv,)
            Where the arm is.

        Returns
        -------
        outcome : str
            '' on the way; otherwise how it ended. The reference has to be brought to rest then.

        """
        if not dt > 0.0:
            return ''
        steps = math.ceil(dt / _STEP - 1e-9)
        h = dt / steps
        settings = self.settings
        self._pace[:] = (*settings.velocity, *settings.acceleration, *settings.leash, 0.0, h,
                         -math.expm1(-h / _SMOOTHING))
        reference.effort *= math.exp(-dt / _FADING)
        for _ in range(steps):
            self._pace[6] = self._nudging > 0.0
            self._step(reference.q, reference.qd, reference.qdd, measured, self._target,
                       self._reach, self._joints, self._pace, out=self._next)
            for array, values in zip(reference.arrays, self._motion):
                array[:] = values
            if outcome := self._judge(h, reference.qd):
                return outcome
        return ''

    def _watch(self, distance: float) -> None:
        """Look from here on whether the way gets shorter."""
        self._from, self._asked, self._since = distance, 0.0, 0.0

    def _judge(self, h: float, qd: np.ndarray) -> str:
        """Return how it ended: at the target, or without progress towards it."""
        linear, angular, distance, speed = self._numbers.tolist()
        if linear < _ARRIVED and angular < _ARRIVED and np.abs(qd).max() < _STILL:
            return POSE_REACHED
        self._asked += h * speed
        self._since += h
        if self._nudging > 0.0:
            self._nudging -= h
            self._watch(distance)
        if self._since < _WINDOW:
            return ''
        stuck = self._asked > 0.0 and self._from - distance < _PROGRESS * self._asked
        self._watch(distance)
        if stuck and self._nudged:
            return (f'the target pose of {self.link} is out of reach: the reference stops '
                    f'{1e3 * linear:.3g} mm and {math.degrees(angular):.3g} degrees from it')
        if stuck:  # at the edge of what can be reached, or where a straight arm sees no way
            self._nudging, self._nudged = _WINDOW, True
        return ''


def joint_bounds(model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lower and upper position and velocity within which the reference stays."""
    return (np.maximum(model.lower + _MARGIN, -_NO_LIMIT),
            np.minimum(model.upper - _MARGIN, _NO_LIMIT), speeds(model))
