"""Motions: interpolation, acceptance of what is received, and its following."""

from robodyn_ros.trajectory.angles import shortest_turn, unwrap_continuous
from robodyn_ros.trajectory.checks import check_path, check_trajectory
from robodyn_ros.trajectory.feasibility import check_feasibility
from robodyn_ros.trajectory.points import arrange_points, PointArrays, TrajectoryPoint
from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.result import Phase, ResultCode, TrackStatus
from robodyn_ros.trajectory.spline import SampledPath, Trajectory
from robodyn_ros.trajectory.tolerances import JointTolerance, Tolerances
from robodyn_ros.trajectory.tracker import Tracker

__all__ = [
    'JointTolerance',
    'Phase',
    'PointArrays',
    'Reference',
    'ResultCode',
    'SampledPath',
    'Tolerances',
    'TrackStatus',
    'Tracker',
    'Trajectory',
    'TrajectoryPoint',
    'arrange_points',
    'check_feasibility',
    'check_path',
    'check_trajectory',
    'shortest_turn',
    'unwrap_continuous',
]
