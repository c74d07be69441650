"""Client of a running controller, for scripts and policies."""

from robodyn_ros.client.arm import Arm, State

__all__ = ['Arm', 'State']
