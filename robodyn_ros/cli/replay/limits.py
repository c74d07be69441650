"""Options for the limits of a motion, and the limits that they select."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.cli.options import between
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import read_parameters
from robodyn_ros.model import RobotModel
from robodyn_ros.safety import checked_effort_limits
from robodyn_ros.teaching import JointLimits


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    for name, default in (('velocity', 0.9), ('effort', 0.8)):
        add(f'--{name}', type=between(0.01, 1.0), default=default, metavar='PART',
            help=f'part of the {name} limits to use (default {default:g})')
    add('--acceleration', type=between(0.01, 1e6), default=10.0, metavar='LIMIT',
        help='acceleration limit, rad/s^2 or m/s^2 (default 10)')
    add('--params', type=Path, metavar='FILE',
        help='parameters of the controller (YAML), for friction and rotors in place of the URDF')


def joint_limits(options: argparse.Namespace, model: RobotModel) -> JointLimits:
    """
    Return the limits; friction and rotors of `--params`, else of the URDF.

    Raises
    ------
    ParameterError
        A joint has no effort limit, or the file is not one of parameters.

    """
    effort = checked_effort_limits(model.joint_names, model.effort_limit, model.effort_limit)
    given = read_parameters(options.params) if options.params else {}
    return JointLimits(
        options.velocity * model.velocity_limit, np.full(model.nv, options.acceleration),
        options.effort * effort, _each(given, 'friction.viscous', model, model.damping),
        _each(given, 'friction.coulomb', model, model.friction),
        _each(given, 'armature', model, np.zeros(model.nv)))


def _each(given: dict[str, object], name: str, model: RobotModel, default: NDArray) -> NDArray:
    """Return the values of a parameter of the joints, (nv,)."""
    try:
        values = np.array(given.get(name, ()), dtype=float)
        values = np.broadcast_to(values if values.size else default, (model.nv,))
    except (ValueError, TypeError) as error:
        raise ParameterError(f'parameter {name} does not have one number for each of the '
                             f'{model.nv} joints', parameter=name) from error
    for joint, value in zip(model.joint_names, values):
        if not 0.0 <= value < np.inf:
            raise ParameterError(f"parameter {name} of joint '{joint}' is {value}: it must be a "
                                 'finite number, 0 or more', parameter=name, joint=joint)
    return values.copy()
