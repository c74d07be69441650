"""Robot model: a URDF as frozen arrays."""
from robodyn_ros.model.frame import Frame
from robodyn_ros.model.payload import Payload
from robodyn_ros.model.robot_model import RobotModel

__all__ = ['Frame', 'Payload', 'RobotModel']
