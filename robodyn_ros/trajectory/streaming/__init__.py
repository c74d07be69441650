"""Streams of targets: their timing, their targets, and motions through these within limits."""

from robodyn_ros.trajectory.streaming.motion import StreamMotion
from robodyn_ros.trajectory.streaming.motion_limits import MotionLimits
from robodyn_ros.trajectory.streaming.targets import Targets
from robodyn_ros.trajectory.streaming.timing import StreamTiming

__all__ = ['MotionLimits', 'StreamMotion', 'StreamTiming', 'Targets']
