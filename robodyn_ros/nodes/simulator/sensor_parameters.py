"""Parameters of the sensors, faults and model errors of a simulated arm."""

from __future__ import annotations

from collections.abc import Sequence
import math
from types import SimpleNamespace

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import per_joint
from robodyn_ros.nodes.description import joint_values
from robodyn_ros.nodes.parameter import Parameter
from robodyn_ros.simulation.faults import Campaign, Fault, KINDS, parse_fault
from robodyn_ros.simulation.mismatch import mismatched
from robodyn_ros.simulation.sensors import SensorSettings

# parameters of the rigid bodies of the plant
MISMATCH_PARAMETERS = (
    Parameter('payload.link', 'string', '', 'Link with a payload that is not in the URDF; empty: '
              'no payload.'),
    Parameter('payload.mass', 'double', 0.0, 'Mass of the payload, a point mass.', 'kg',
              minimum=0.0),
    Parameter('payload.com', 'double_array', (0.0, 0.0, 0.0), 'Position of the payload in the '
              'frame of its link.', 'm'),
    Parameter('mismatch.mass_scale', 'double', 1.0, 'Factor of mass and inertia of the links in '
              'the URDF.', minimum=0.01, maximum=100.0),
    Parameter('mismatch.link_mass_scale', 'string_array', (), 'Factors for single links, in '
              'place of mass_scale, each as link:factor, such as link3:1.2.'),
    Parameter('mismatch.com_shift', 'string_array', (), 'Shifts of the centre of mass of links '
              'from that in the URDF, in the frame of the link, each as link:x,y,z.', 'm'),
    Parameter('mismatch.base_tilt', 'double_array', (0.0, 0.0, 0.0), 'Roll, pitch and yaw of the '
              'base from its upright orientation.', 'rad'),
)
_NOISE = 'Standard deviation of the white noise on the'
SENSOR_PARAMETERS = (
    Parameter('sensors.resolution', 'double_array', (0.0,), 'Resolution of the encoders; 0: '
              'unlimited.', 'rad or m', minimum=0.0, per_joint=True),
    Parameter('sensors.position_bias', 'double_array', (0.0,), 'Constant error of the measured '
              'position.', 'rad or m', per_joint=True),
    Parameter('sensors.effort_bias', 'double_array', (0.0,), 'Constant error of the measured '
              'effort.', 'N m or N', per_joint=True),
    Parameter('sensors.position_noise', 'double_array', (0.0,), f'{_NOISE} position, before it '
              'is rounded to the resolution.', 'rad or m', minimum=0.0, per_joint=True),
    Parameter('sensors.velocity_noise', 'double_array', (0.0,), f'{_NOISE} velocity.',
              'rad/s or m/s', minimum=0.0, per_joint=True),
    Parameter('sensors.effort_noise', 'double_array', (0.0,), f'{_NOISE} effort.', 'N m or N',
              minimum=0.0, per_joint=True),
    Parameter('sensors.delay', 'double', 0.0, 'Delay of the measurement that stamps do not show, '
              'as with a driver that stamps states when it reads them; the fault delay does show '
              'in stamps.', 's', minimum=0.0, maximum=1.0),
    Parameter('sensors.dropout', 'double', 0.0, 'Fraction of the states that is not published.',
              minimum=0.0, maximum=1.0),
    Parameter('sensors.differentiate', 'bool', False, 'Velocity from differences of measured '
              'positions.'),
    Parameter('sensors.velocity_cutoff', 'double', 0.0, 'Cutoff frequency of a first-order low '
              'pass for these differences; 0: none.', 'Hz', minimum=0.0),
)
FAULT_PARAMETERS = (
    Parameter('faults', 'string_array', (), 'Faults, each as START KIND [JOINT ...] DURATION '
              '[AMOUNT], such as "2.0 silence 0.1" or "now freeze joint2 0.5". START is '
              'simulated time since the last reset, or now; DURATION may be inf. KIND is one of '
              f'{", ".join(KINDS)}; clock_jump and delay have an AMOUNT in seconds, '
              'velocity_scale has a factor, velocity_outliers a velocity, second_arm a distance. '
              'A new list replaces the old one.', 's'),
    Parameter('fault_campaign.rate', 'double', 0.0, 'Average rate of random faults, in simulated '
              'time; 0: none.', '1/s', minimum=0.0, maximum=1000.0),
    Parameter('fault_campaign.longest', 'double', 0.2, 'Longest duration of random faults.', 's',
              minimum=0.0, maximum=1000.0),
    Parameter('fault_campaign.kinds', 'string_array', (), 'Kinds of random faults; empty: all.'),
    Parameter('seed', 'int', 0, 'Seed of all random numbers: the same seed gives the same noise '
              'and the same faults.', minimum=0, maximum=1_000_000),
)


def check_sensors(values: SimpleNamespace) -> None:
    """Raise ParameterError for values that are invalid for every robot."""
    for name, meaning in (('payload.com', 'x, y and z'),
                          ('mismatch.base_tilt', 'roll, pitch and yaw')):
        given = getattr(values, name.replace('.', '_'))
        if len(given) != 3:
            raise ParameterError(f'parameter {name!r} has {len(given)} numbers: give {meaning}',
                                 value=given)


def arm_from(values: SimpleNamespace, model: RobotModel) -> RobotModel:
    """
    Return the simulated arm: that of the URDF with payload and model errors.

    Raises
    ------
    RobodynError
        A link does not exist, or a number is invalid for it.

    """
    scales = dict.fromkeys(model.body_names, values.mismatch_mass_scale)
    scales.update(joint_values('mismatch.link_mass_scale', values.mismatch_link_mass_scale,
                               'link:factor, such as link3:1.2'))
    arm = mismatched(model, scales, _shifts(values.mismatch_com_shift),
                     values.mismatch_base_tilt)
    if not values.payload_link:
        return arm
    return arm.with_payload(values.payload_link, values.payload_mass, values.payload_com)


def _shifts(entries: Sequence[str]) -> dict[str, list[float]]:
    shifts: dict[str, list[float]] = {}
    for entry in entries:
        link, _, text = entry.rpartition(':')
        try:
            numbers = [float(each) for each in text.split(',')]
        except ValueError:
            numbers = []
        if not link.strip() or len(numbers) != 3 or link.strip() in shifts:
            raise ParameterError(
                f"parameter 'mismatch.com_shift' has the entry {entry!r}: write it as link:x,y,z, "
                'such as link3:0.01,0,-0.02, once for a link', entry=entry)
        shifts[link.strip()] = numbers
    return shifts


def sensors_from(values: SimpleNamespace, model: RobotModel) -> SensorSettings:
    """Return the sensor settings; raise RobodynError with the name of the parameter."""
    given = {row.name.removeprefix('sensors.'): getattr(values, row.attribute)
             for row in SENSOR_PARAMETERS}
    for row in SENSOR_PARAMETERS:
        if row.per_joint:
            name = row.name.removeprefix('sensors.')
            given[name] = per_joint(row.name, given[name], model.joint_names)
    given['velocity_cutoff'] = given['velocity_cutoff'] or math.inf
    return SensorSettings(**given)


def faults_from(values: SimpleNamespace, model: RobotModel, now: float) -> list[Fault]:
    """Return the faults in `faults`; raise RobodynError with the entry."""
    faults = [parse_fault(entry, model.body_joints, now) for entry in values.faults]
    for entry, fault in zip(values.faults, faults):
        if fault.kind == 'torque_loss' and fault.joints[0] not in model.joint_names:
            raise ParameterError(f'the fault {entry!r}: joint {fault.joints[0]!r} mimics another '
                                 'and has no motor; name one of '
                                 + ', '.join(model.joint_names), entry=entry)
    return faults


def campaign_from(values: SimpleNamespace) -> Campaign:
    """Return the settings of random faults; raise RobodynError."""
    return Campaign(values.fault_campaign_rate, values.fault_campaign_longest,
                    values.fault_campaign_kinds, values.seed)
