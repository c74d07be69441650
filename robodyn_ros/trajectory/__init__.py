"""Trajectories: interpolation, and checks of received ones."""

from robodyn_ros.trajectory.angles import shortest_turn, unwrap_continuous
from robodyn_ros.trajectory.checks import check_path, check_trajectory
from robodyn_ros.trajectory.feasibility import check_feasibility
from robodyn_ros.trajectory.points import arrange_points, PointArrays, TrajectoryPoint
from robodyn_ros.trajectory.recovery_check import check_recovery
from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.rest_to_rest import least_duration
from robodyn_ros.trajectory.result import ResultCode
from robodyn_ros.trajectory.spline import SampledPath, Trajectory
from robodyn_ros.trajectory.tolerances import JointTolerance, Tolerances

__all__ = [
    'JointTolerance',
    'PointArrays',
    'Reference',
    'ResultCode',
    'SampledPath',
    'Tolerances',
    'Trajectory',
    'TrajectoryPoint',
    'arrange_points',
    'check_feasibility',
    'check_path',
    'check_recovery',
    'check_trajectory',
    'least_duration',
    'shortest_turn',
    'unwrap_continuous',
]
