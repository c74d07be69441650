"""
Trajectories: from received points to a motion that may begin.

What takes long needs nothing of the running cycle, so that it can be done beside it: a motion may
be planned from where the reference is going to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.cycle import Cycle
from robodyn_ros.control.settings import Mode
from robodyn_ros.exceptions import StateError
from robodyn_ros.trajectory import (
    check_feasibility, check_trajectory, Reference, Tolerances, Trajectory, TrajectoryPoint)

_SAME = 1e-6  # rad or m that the reference may be beside a departure


@dataclass(frozen=True, eq=False)
class Departure:
    """
    Where a motion leaves from.

    Attributes
    ----------
    moment : float
        Time of the cycle at which it begins.
    reference : Reference
        What is asked of the joints then.

    """

    moment: float
    reference: Reference


class Following(Cycle):
    """A cycle that can be asked to follow trajectories."""

    @property
    def following(self) -> bool:
        """Whether a trajectory is under way, or about to begin."""
        return self._motion.following

    @property
    def trajectory(self) -> tuple[Trajectory | None, float]:
        """Return the trajectory that is followed, and seconds since its start."""
        return self._motion.trajectory

    @property
    def interruptions(self) -> int:
        """How often a motion was broken off, or forbidden to begin."""
        return self._motion.interruptions

    def follow(self, now: float, joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
               start_delay: float = 0.0, tolerances: Tolerances | None = None) -> float:
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
        tolerances : Tolerances, optional
            In place of those of the settings.

        Returns
        -------
        duration : float
            Seconds until the last point.

        Raises
        ------
        TrajectoryError, StateError
            Why it is not followed; what ran before goes on.

        """
        departure = self.departure()
        trajectory = self.plan(departure, joint_names, points,
                               now + start_delay if start_delay else None)
        self.begin(departure, trajectory, tolerances)
        return trajectory.duration

    def departure(self, lead: float = 0.0) -> Departure:
        """
        Return where a motion may leave from, now or in `lead` seconds.

        Raises
        ------
        StateError
            The arm may not move.

        """
        self._require_ready()
        self._guests.check_free()
        # time goes on from the reference of the last cycle
        return Departure(self._before + lead, self._motion.expected(lead))

    def plan(self, departure: Departure, joint_names: Sequence[str],
             points: Sequence[TrajectoryPoint], zero: float | None = None) -> Trajectory:
        """
        Return the motion along the points, or raise why there is none; in any thread.

        Parameters
        ----------
        departure : Departure
            Its moment is time 0 of the result.
        joint_names, points
            As received.
        zero : float, optional
            Time of the cycle from which the points count; default the departure.

        Raises
        ------
        TrajectoryError
            With the result code as evidence.

        """
        delay = 0.0 if zero is None else zero - departure.moment
        trajectory = check_trajectory(
            self.model, joint_names, points, departure.reference, start_delay=delay,
            allow_partial_joints=self.settings.allow_partial_joints)
        model, bounds = self.model, self.bounds
        check_feasibility(trajectory, self._needed, bounds.usable, model.joint_names,
                          units=model.effort_units, margin=bounds.margin)
        return trajectory

    def begin(self, departure: Departure, trajectory: Trajectory,
              tolerances: Tolerances | None = None) -> bool:
        """
        Follow a planned trajectory from its departure on, in place of what runs.

        Parameters
        ----------
        departure, trajectory
            As planned.
        tolerances : Tolerances, optional
            In place of those of the settings.

        Returns
        -------
        bool
            False, and nothing has changed, if the departure has passed or is not on the way any
            more: plan again.

        Raises
        ------
        StateError
            The arm may not move.

        """
        self._require_ready()
        self._guests.check_free()
        lead = departure.moment - self._before
        away = np.abs(self._motion.expected(lead).q - departure.reference.q).max()
        # where a hand moves the arm, nobody knows where it will be
        if lead < 0.0 or not away < _SAME or (
                lead > 0.0 and self.mode in (Mode.FLOAT, Mode.REACH)):
            return False
        if self.mode is Mode.FLOAT:
            self._transition.begin()
        start = self._motion.follow_later if lead > 0.0 else self._motion.follow
        start(trajectory, departure.moment, tolerances or self.settings.tolerances)
        return True

    def _needed(self, q, qd, qdd):
        """Return the torque that motions take, batched; without friction."""
        return self._dynamics.inverse_dynamics(q, qd, qdd) + self._law.gains.armature * qdd

    def _require_ready(self) -> None:
        if self.mode is Mode.INACTIVE:
            raise StateError('the controller is not active; activate it first')
        if self.fault:
            raise StateError(f'a fault is latched: {self.fault}; remove its cause, then call '
                             'reset_fault')
