"""
Gymnasium environment of a simulated arm under control, `robodyn_ros/Arm-v0`.

    import gymnasium
    env = gymnasium.make('robodyn_ros.gym:robodyn_ros/Arm-v0', urdf='arm.urdf')
"""

from robodyn_ros.exceptions import RobodynError

try:
    import gymnasium
except ImportError as error:
    raise RobodynError(f'the environment needs the library gymnasium, and {error}: '
                       "pip install gymnasium (or 'robodyn_ros[gym]')") from error

from robodyn_ros.gym.arm_env import ArmEnv

gymnasium.register('robodyn_ros/Arm-v0', entry_point=ArmEnv, order_enforce=False)

__all__ = ['ArmEnv']
