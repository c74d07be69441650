"""Control: the terms of the torque, the laws composed of them, and the cycle around them."""

from robodyn_ros.control.controller import ArmController, CycleSettings, Mode
from robodyn_ros.control.gains import Gains, make_gains
from robodyn_ros.control.law import ControlLaw, Term

__all__ = ['ArmController', 'ControlLaw', 'CycleSettings', 'Gains', 'Mode', 'Term', 'make_gains']
