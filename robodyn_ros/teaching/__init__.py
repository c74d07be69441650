"""Demonstrations by hand guiding: recording, smoothing, and timing within limits of the arm."""

from robodyn_ros.teaching.demonstration import Demonstration
from robodyn_ros.teaching.joint_limits import JointLimits
from robodyn_ros.teaching.path import Path
from robodyn_ros.teaching.recorded import recorded_timing
from robodyn_ros.teaching.retiming import time_optimal
from robodyn_ros.teaching.timed_path import TimedPath

__all__ = ['Demonstration', 'JointLimits', 'Path', 'TimedPath', 'recorded_timing', 'time_optimal']
