"""
Computed-torque control and gravity compensation for torque-controlled arms, from a URDF.

    from robodyn_ros import Dynamics, RobotModel

    model = RobotModel.from_urdf('arm.urdf')
    tau = Dynamics(model).inverse_dynamics(q, qd, qdd)

Nothing here needs ROS; the nodes are in `robodyn_ros.nodes`.
"""

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import (
    ArgumentError, KernelError, ModelError, ParameterError, RobodynError, StateError,
    TrajectoryError)
from robodyn_ros.model import RobotModel
from robodyn_ros.share import version

__all__ = [
    'ArgumentError',
    'Dynamics',
    'KernelError',
    'ModelError',
    'ParameterError',
    'RobodynError',
    'RobotModel',
    'StateError',
    'TrajectoryError',
]


def __getattr__(name: str) -> str:
    if name == '__version__':
        return version()
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
