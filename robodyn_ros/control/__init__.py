"""Control: the terms of the torque, the laws composed of them, and the cycle around them."""

from robodyn_ros.control.controller import ArmController
from robodyn_ros.control.external_laws.law_loading import load_own_law
from robodyn_ros.control.external_laws.linear_feedback import LinearCommand
from robodyn_ros.control.external_laws.own_law import OwnLaw
from robodyn_ros.control.gain_design import make_gains
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.law import ControlLaw
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.pose.task_gain_design import make_task_gains
from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.terms import Term
from robodyn_ros.control.torque_bounds import Bounds
from robodyn_ros.dynamics.loads import Loads, with_slots

__all__ = ['ArmController', 'Bounds', 'ControlLaw', 'Gains', 'LinearCommand', 'Loads',
           'Mode', 'OwnLaw', 'Settings', 'TaskGains', 'Term', 'load_own_law', 'make_gains',
           'make_task_gains', 'with_slots']
