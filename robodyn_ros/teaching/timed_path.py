"""Points of a motion in time, within the limits of the arm."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.teaching.joint_limits import JointLimits, Use
from robodyn_ros.trajectory import Trajectory

_STEP = 0.0005  # s, between samples of a check


@dataclass(frozen=True, eq=False)
class TimedPath:
    """
    Points from rest to rest.

    Attributes
    ----------
    times : (n,) array
        Times in s, from 0.
    positions, velocities : (n, nv) array
    accelerations : (n, nv) array or None
        None: cubic segments, with constant acceleration on a straight line.
    recorded : (n,) array
        Times of the demonstration, in s.

    """

    times: NDArray
    positions: NDArray
    velocities: NDArray
    accelerations: NDArray | None
    recorded: NDArray

    @property
    def duration(self) -> float:
        """Return the duration in s."""
        return float(self.times[-1])

    def trajectory(self) -> Trajectory:
        """Return the trajectory that a controller makes of the points."""
        return Trajectory.from_points(self.times, self.positions, self.velocities,
                                      self.accelerations)

    def use(self, dynamics: Dynamics, limits: JointLimits) -> Use:
        """Return the use of the limits between the points too."""
        path = self.trajectory().dense(_STEP, 400_000)
        return limits.use(dynamics, path.q, path.qd, path.qdd)
