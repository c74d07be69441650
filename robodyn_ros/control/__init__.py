"""Control: the terms of the torque, the laws composed of them, and the cycle around them."""

from robodyn_ros.control.controller import ArmController
from robodyn_ros.control.gains import Gains, make_gains
from robodyn_ros.control.law import ControlLaw
from robodyn_ros.control.settings import Bounds, CycleSettings, Mode
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.loads import Loads, with_slots

__all__ = ['ArmController', 'Bounds', 'ControlLaw', 'CycleSettings', 'Gains', 'Loads', 'Mode',
           'Term', 'make_gains', 'with_slots']
