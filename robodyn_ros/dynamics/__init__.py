"""Rigid-body dynamics: each algorithm written once, compiled for one robot."""

from robodyn_ros.dynamics.dynamics import Dynamics
from robodyn_ros.dynamics.jit.kernel import Kernel

__all__ = ['Dynamics', 'Kernel']
