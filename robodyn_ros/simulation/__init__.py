"""Simulation of arms: forward dynamics with friction, stops, motors and brakes. No ROS."""

from robodyn_ros.simulation.closed_loop import ClosedLoop
from robodyn_ros.simulation.faults import Fault, FaultSchedule, parse_fault
from robodyn_ros.simulation.joints import JointPhysics
from robodyn_ros.simulation.mismatch import mismatched
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.rollout import PlantRollout
from robodyn_ros.simulation.sensors import Sensors, SensorSettings
from robodyn_ros.simulation.spread import Spread

__all__ = [
    'ClosedLoop', 'Fault', 'FaultSchedule', 'JointPhysics', 'mismatched',
    'parse_fault', 'Plant', 'PlantRollout', 'Sensors', 'SensorSettings',
    'Spread']
