"""Parameters of the simulator node: one table, from which all else is made."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from robodyn_ros.exceptions import near_matches, ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import per_joint
from robodyn_ros.nodes.description import joint_values, ROBOT_PARAMETERS
from robodyn_ros.nodes.parameters import Parameter
from robodyn_ros.nodes.realtime import REALTIME_PARAMETERS
from robodyn_ros.nodes.simulator.sensor_parameters import (
    arm_from, check_sensors, FAULT_PARAMETERS, MISMATCH_PARAMETERS, SENSOR_PARAMETERS)
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.integrators import INTEGRATORS

# parameters that are handed on as they are, where they are not empty
_JOINTS = ('armature', 'backlash', 'effort_limit', 'motor_bandwidth', 'stribeck_velocity')
# of the joints, may change while the arm moves
LIVE_JOINT_PARAMETERS = {'friction_scale', 'stiction_scale', 'stribeck_velocity',
                         'motor_bandwidth'}

PARAMETERS = (
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    Parameter('command_joints', 'string_array', (), 'Order of the joints in '
              'effort_controller/commands; empty: the order of the model.', read_only=True),
    Parameter('step', 'double', 1e-3, 'Simulated time of one step.', 's', minimum=1e-5,
              maximum=0.02, read_only=True),
    Parameter('publish_rate', 'double', 0.0, 'How often joint_states is published, in simulated '
              'time; rounded to whole steps. 0: after every step.', 'Hz', minimum=0.0),
    Parameter('real_time_factor', 'double', 1.0, 'Simulated seconds per second; 0: as fast as '
              'possible. Other than 1, stamps are simulated time, and /clock is published. '
              'Only what was started with another than 1 can be set to another.', minimum=0.0,
              maximum=1000.0),
    Parameter('lockstep', 'bool', False, 'Whether time goes on by one published state for each '
              'command, and waits for it: for runs that are the same to the last bit. Commands '
              'are named efforts on joint_commands with the stamp of the state they answer, as '
              'our controller sends them with lockstep: true. Stamps are simulated time.',
              read_only=True),
    Parameter('loop', 'string', 'auto', 'Loop from torque to joint state: native (a thread in '
              'machine code, which waits for no Python), python, or auto: native where it can.',
              choices=('auto', 'native', 'python'), read_only=True),
    Parameter('start_paused', 'bool', False, 'Whether time stands still until ~/pause lets it go.',
              read_only=True),
    Parameter('command_timeout', 'double', 0.0, 'Silence of the commander, in simulated time, '
              'after which the brakes hold the arm until its next command; 0: the last torque '
              'stays for ever, as with forward_command_controller.', 's', minimum=0.0),
    Parameter('steps_per_call', 'int', 1, 'How many steps one call of ~/step advances.',
              minimum=1, maximum=100_000),
    Parameter('initial_positions', 'string_array', (), 'Where joints start, each as '
              'joint:position. The others start at 0 or, where their limits leave no room around '
              '0, in the middle.', 'rad or m', read_only=True),
    Parameter('wrench_timeout', 'double', 0.5, 'How long a message on ~/wrench pushes, in '
              'simulated time.', 's', minimum=0.0, maximum=math.inf),
    Parameter('friction_scale', 'double', 1.0, 'Part of the friction in the URDF that the arm '
              'has; 0: none.', minimum=0.0, maximum=100.0),
    Parameter('stiction_scale', 'double', 1.0, 'Dry friction at rest, as a multiple of that in '
              'motion.', minimum=1.0, maximum=100.0),
    Parameter('stribeck_velocity', 'double_array', (), 'Velocity at which half of the difference '
              'is gone; empty: 0.05.', 'rad/s or m/s', minimum=1e-6, per_joint=True),
    Parameter('motor_bandwidth', 'double_array', (), 'Of the torque of the motors, a lag of '
              'first order; empty: no lag.', 'rad/s', minimum=1e-3, maximum=math.inf,
              per_joint=True),
    Parameter('backlash', 'double_array', (0.0,), 'Play of the gears; a joint that has some '
              'needs an armature.', 'rad or m', minimum=0.0, per_joint=True, read_only=True),
    Parameter('integrator', 'string', 'midpoint', 'How a step is made.', read_only=True,
              choices=tuple(INTEGRATORS)),
    Parameter('armature', 'double_array', (0.0,), 'Inertia of the rotors times gear ratio '
              'squared.', 'kg m^2 or kg', minimum=0.0, per_joint=True, read_only=True),
    Parameter('effort_limit', 'double_array', (), 'Effort limits in place of those in the URDF.',
              'N m or N', minimum=0.0, maximum=math.inf, per_joint=True, read_only=True),
    *MISMATCH_PARAMETERS,
    *SENSOR_PARAMETERS,
    *FAULT_PARAMETERS,
)


def check(values: SimpleNamespace) -> None:
    """Raise ParameterError for values that make no sense."""
    check_sensors(values)
    if values.lockstep and values.real_time_factor != 1.0:
        raise ParameterError(f"parameter 'real_time_factor' is {values.real_time_factor:g} and "
                             "'lockstep' is set: in lockstep the controller sets the pace, leave "
                             'real_time_factor out', value=values.real_time_factor)


def decimation(values: SimpleNamespace) -> int:
    """Return how many steps there are from one published state to the next."""
    if not values.publish_rate:
        return 1
    return max(1, round(1.0 / (values.publish_rate * values.step)))


def period(values: SimpleNamespace) -> float:
    """Return the seconds from one step to the next on the wall clock; 0: without a pause."""
    return values.step / values.real_time_factor if values.real_time_factor else 0.0


def joints_from(values: SimpleNamespace, model: RobotModel) -> dict[str, Any]:
    """Return in what the joints differ from the URDF, as `Plant` takes it."""
    friction = values.friction_scale * model.friction
    given = {name: per_joint(name, getattr(values, name), model.joint_names)
             for name in _JOINTS if getattr(values, name)}
    return {'damping': values.friction_scale * model.damping, 'friction': friction,
            'stiction': values.stiction_scale * friction, **given}


def plant_from(values: SimpleNamespace, model: RobotModel) -> Plant:
    """
    Return the plant that the parameters describe, held by its brakes.

    Raises
    ------
    RobodynError
        A joint or link does not exist, or a number makes no sense for it.

    """
    model = arm_from(values, model)
    plant = Plant(model, values.step, brakes=True, integrator=values.integrator, changeable=True,
                  **joints_from(values, model))
    positions, names = plant.q.copy(), model.joint_names
    for joint, value in joint_values('initial_positions', values.initial_positions).items():
        if joint not in names:
            raise ParameterError(f"parameter 'initial_positions' names joint {joint!r}, which "
                                 f'does not move by itself: {near_matches(joint, names)}',
                                 joint=joint)
        positions[names.index(joint)] = value
    plant.reset(positions)
    return plant
