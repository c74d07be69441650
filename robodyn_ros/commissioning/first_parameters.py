"""Parameters of the controller for the first launch of an arm of which nothing is measured yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robodyn_ros.control import Settings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import joint_inertia, rotor_hints
from robodyn_ros.files import as_yaml, parameter_file
from robodyn_ros.model.robot import Robot

GRAVITY_IN_DRIVER = 'driver_compensates_gravity'


def first_parameters(robot: Robot, gravity_in_driver: bool | None = None,
                     known: Mapping[str, object] | None = None, notes: Sequence[str] = ()) -> str:
    """
    Return the text of a parameter file: the robot, its joints, and what is to be filled in.

    Likely rotors are comments: the controller allows for them while no armature is set, and a
    guess that is too small would take that room from it.

    Parameters
    ----------
    robot : Robot
        Selection of the robot.
    gravity_in_driver : bool, optional
        Whether the driver adds the gravity torque; by default it is left open, and the controller
        does not take over a real arm.
    known : mapping, optional
        Further parameters, by name.
    notes : sequence of str, optional
        Further lines of the head.

    Raises
    ------
    RobodynError
        The URDF has a defect.

    """
    model = robot.load()
    rotors = rotor_hints(model, joint_inertia(Dynamics(model)))
    head = [f'Parameters for the first launch of {model.name}; nothing is measured yet.',
            'Values per joint are in the order of ' + ', '.join(model.joint_names) + '.']
    if rotors.any():
        head += ['Rotor inertia times the square of the gear ratio, from data sheets, in kg m^2; '
                 'likely by the effort limits of joints whose URDF lacks it:',
                 f'    armature: {as_yaml(rotors.tolist())}']
    values = {**robot.parameters(), 'command_joints': list(model.joint_names),
              'natural_frequency': [float(x) for x in np.ravel(Settings().natural_frequency)]}
    if gravity_in_driver is None:
        head.append('Does the driver add the gravity torque? Without an answer no real arm is '
                    f'taken over: {GRAVITY_IN_DRIVER}: true or false')
    else:
        values[GRAVITY_IN_DRIVER] = gravity_in_driver
    head += [*notes, *(f'Doubt: {warning}' for warning in model.warnings)]
    return parameter_file({**values, **(known or {})}, head)
