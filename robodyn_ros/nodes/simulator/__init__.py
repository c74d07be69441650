"""The simulator node: plant, sensors and faults in place of an arm."""

NAME = 'robot_simulator'
