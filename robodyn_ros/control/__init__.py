"""Control: the terms of the torque, the laws composed of them, and the cycle around them."""

from robodyn_ros.control.arm.controller import ArmController
from robodyn_ros.control.arm.design import Bounds
from robodyn_ros.control.arm.gain_design import make_gains, make_task_gains
from robodyn_ros.control.arm.linear_feedback import LinearCommand
from robodyn_ros.control.gains import Gains, TaskGains
from robodyn_ros.control.law import ControlLaw
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.own_law import load_own_law, OwnLaw
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.loads import Loads, with_slots

__all__ = ['ArmController', 'Bounds', 'ControlLaw', 'Gains', 'LinearCommand', 'Loads',
           'Mode', 'OwnLaw', 'Settings', 'TaskGains', 'Term', 'load_own_law', 'make_gains',
           'make_task_gains', 'with_slots']
