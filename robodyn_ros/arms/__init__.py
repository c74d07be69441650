"""Arms that people own: what is known of each driver, as data, and what follows for a launch."""

from robodyn_ros.arms.files import (
    command_topic, controllers_file, launch_line, parameters_of, robot_for, simulator_of, steps_of)
from robodyn_ros.arms.profile import (
    load, names, PLUGIN, Profile, profiles, read, refused)

__all__ = [
    'command_topic', 'controllers_file', 'launch_line', 'load', 'names', 'parameters_of',
    'PLUGIN', 'Profile', 'profiles', 'read', 'refused', 'robot_for', 'simulator_of', 'steps_of']
