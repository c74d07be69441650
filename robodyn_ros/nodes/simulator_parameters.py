"""Parameters of the simulator node: one table, from which all else is made."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from robodyn_ros.exceptions import near_matches, ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.description import joint_values, ROBOT_PARAMETERS
from robodyn_ros.nodes.parameters import Parameter, per_joint
from robodyn_ros.simulation import Plant

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Parameter('command_joints', 'string_array', (), 'Order of the joints in '
              'effort_controller/commands; empty: the order of the model.', read_only=True),
    Parameter('step', 'double', 1e-3, 'Simulated time of one step.', 's', minimum=1e-5,
              maximum=0.02, read_only=True),
    Parameter('publish_rate', 'double', 0.0, 'How often joint_states is published, in simulated '
              'time; rounded to whole steps. 0: after every step.', 'Hz', minimum=0.0),
    Parameter('real_time_factor', 'double', 1.0, 'Simulated seconds per second; 0: as fast as '
              'possible. Other than 1, stamps are simulated time, and /clock is published.',
              minimum=0.0, maximum=1000.0, read_only=True),
    Parameter('steps_per_call', 'int', 1, 'How many steps one call of ~/step advances.',
              minimum=1, maximum=100_000),
    Parameter('initial_positions', 'string_array', (), 'Where joints start, each as '
              'joint:position. The others start at 0 or, where their limits leave no room around '
              '0, in the middle.', 'rad or m', read_only=True),
    Parameter('wrench_timeout', 'double', 0.5, 'How long a message on ~/wrench pushes, in '
              'simulated time.', 's', minimum=0.0, maximum=math.inf),
    Parameter('friction_scale', 'double', 1.0, 'Part of the friction in the URDF that the arm '
              'has; 0: none.', minimum=0.0, maximum=100.0),
    Parameter('armature', 'double_array', (0.0,), 'Inertia of the rotors times gear ratio '
              'squared.', 'kg m^2 or kg', minimum=0.0, per_joint=True, read_only=True),
    Parameter('effort_limit', 'double_array', (), 'Effort limits in place of those in the URDF.',
              'N m or N', minimum=0.0, maximum=math.inf, per_joint=True, read_only=True),
    Parameter('payload.link', 'string', '', 'Link that carries a payload of which the controller '
              'need not know; empty: none.', read_only=True),
    Parameter('payload.mass', 'double', 0.0, 'Of the payload, as a point.', 'kg', minimum=0.0,
              read_only=True),
    Parameter('payload.com', 'double_array', (0.0, 0.0, 0.0), 'Where the payload is, in the '
              'frame of its link.', 'm', read_only=True),
)


def check(values: SimpleNamespace) -> None:
    """Raise ParameterError for values that make no sense."""
    if len(values.payload_com) != 3:
        raise ParameterError(f"parameter 'payload.com' has {len(values.payload_com)} numbers: "
                             'give x, y and z', value=values.payload_com)


def decimation(values: SimpleNamespace) -> int:
    """Return how many steps there are from one published state to the next."""
    if not values.publish_rate:
        return 1
    return max(1, round(1.0 / (values.publish_rate * values.step)))


def joints_from(values: SimpleNamespace, model: RobotModel) -> dict[str, Any]:
    """Return in what the joints differ from the URDF, as `Plant` takes it."""
    names = model.joint_names
    limit = per_joint('effort_limit', values.effort_limit, names) if values.effort_limit else None
    return {'damping': values.friction_scale * model.damping,
            'friction': values.friction_scale * model.friction,
            'armature': per_joint('armature', values.armature, names), 'effort_limit': limit}


def plant_from(values: SimpleNamespace, model: RobotModel) -> Plant:
    """
    Return the plant that the parameters describe, held by its brakes.

    Raises
    ------
    RobodynError
        A joint or link does not exist, or a number makes no sense for it.

    """
    if values.payload_link:
        model = model.with_payload(values.payload_link, values.payload_mass, values.payload_com)
    plant = Plant(model, values.step, brakes=True, **joints_from(values, model))
    positions, names = plant.q.copy(), model.joint_names
    for joint, value in joint_values('initial_positions', values.initial_positions).items():
        if joint not in names:
            raise ParameterError(f"parameter 'initial_positions' names joint {joint!r}, which "
                                 f'does not move by itself: {near_matches(joint, names)}',
                                 joint=joint)
        positions[names.index(joint)] = value
    plant.reset(positions)
    return plant
