"""Client of a running controller, for scripts and policies."""

from robodyn_ros.client.arm import Arm
from robodyn_ros.client.live import State

__all__ = ['Arm', 'State']
