"""Simulation of arms: forward dynamics with friction, stops and brakes. No ROS."""

from robodyn_ros.simulation.joints import JointPhysics
from robodyn_ros.simulation.plant import Plant

__all__ = ['JointPhysics', 'Plant']
