"""Parameters of the sensors, faults and model errors of a simulated arm."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.description import joint_values
from robodyn_ros.settings import (
    group, Numbers, parameter, parameters, per_joint, settings, Texts, unusable)
from robodyn_ros.simulation.faults import Campaign, Fault, KINDS, parse_fault
from robodyn_ros.simulation.mismatch import mismatched
from robodyn_ros.simulation.sensors import SensorSettings


@settings('payload')
class PayloadSettings:
    """Payload of the simulated arm, unknown to the controller."""

    link: str = parameter('', 'Link that carries the payload; empty: none.')
    mass: float = parameter(0.0, 'Mass of the payload, a point.', 'kg', 0.0)
    com: Numbers = parameter(
        (0.0, 0.0, 0.0), 'Position of the payload in the frame of its link.', 'm')


@settings('mismatch')
class MismatchSettings:
    """Differences of the simulated arm from its URDF."""

    mass_scale: float = parameter(
        1.0, 'Factor on mass and inertia of the links.', '', 0.01, 100.0)
    link_mass_scale: Texts = parameter(
        (), 'Factors on mass and inertia of single links, in place of mass_scale, each as '
        'link:factor, such as link3:1.2.', kind='string_array')
    com_shift: Texts = parameter(
        (), 'Shifts of the centre of mass of links, in their frame, each as link:x,y,z.', 'm',
        kind='string_array')
    base_tilt: Numbers = parameter(
        (0.0, 0.0, 0.0), 'Roll, pitch and yaw of the base.', 'rad')


_NOISE = 'Standard deviation of the white noise on the'


@settings('sensors')
class SensorParameters:
    """Errors of the sensors."""

    resolution: Numbers = parameter(
        (0.0,), 'Resolution of the encoders; 0: perfect.', 'rad or m', 0.0, per_joint=True)
    position_bias: Numbers = parameter(
        (0.0,), 'Constant error of the measured position.', 'rad or m', per_joint=True)
    effort_bias: Numbers = parameter(
        (0.0,), 'Constant error of the measured effort.', 'N m or N', per_joint=True)
    position_noise: Numbers = parameter(
        (0.0,), f'{_NOISE} position, before it is rounded to the resolution.', 'rad or m', 0.0,
        per_joint=True)
    velocity_noise: Numbers = parameter(
        (0.0,), f'{_NOISE} velocity.', 'rad/s or m/s', 0.0, per_joint=True)
    effort_noise: Numbers = parameter(
        (0.0,), f'{_NOISE} effort.', 'N m or N', 0.0, per_joint=True)
    encoder: str = parameter(
        'link', 'Side of elastic joints on which position and velocity are measured.',
        choices=('link', 'motor'))
    delay: float = parameter(
        0.0, 'Age of what is measured. It does not appear in stamps, as with a driver that stamps '
        'what it has just read; that of the fault delay does.', 's', 0.0, 1.0)
    dropout: float = parameter(0.0, 'Part of the states that is not published.', '', 0.0, 1.0)
    differentiate: bool = parameter(False, 'Velocity as the difference of measured positions.')
    velocity_cutoff: float = parameter(
        0.0, 'Cutoff frequency of a low pass of first order behind that; 0: none.', 'Hz', 0.0)


@settings('fault_campaign')
class RandomFaultSettings:
    """Random faults."""

    rate: float = parameter(
        0.0, 'Number of faults that begin at random in a simulated second, on average; 0: none.',
        '1/s', 0.0, 1000.0)
    longest: float = parameter(0.2, 'Longest duration of a fault.', 's', 0.0, 1000.0)
    kinds: Texts = parameter((), 'Kinds of the faults; empty: all.', kind='string_array')


@settings()
class ErrorSettings:
    """Errors of the simulated arm: of its bodies, its sensors and its communication."""

    payload: PayloadSettings = group(PayloadSettings)
    mismatch: MismatchSettings = group(MismatchSettings)
    sensors: SensorParameters = group(SensorParameters)
    faults: Texts = parameter(
        (), 'Faults, each as START KIND [JOINT ...] DURATION [AMOUNT], such as "2.0 silence 0.1" '
        'or "now freeze joint2 0.5". START is simulated time since the last reset, or now; '
        f'DURATION may be inf. KIND is one of {", ".join(KINDS)}; clock_jump and delay have an '
        'AMOUNT in seconds, velocity_scale has a factor, velocity_outliers a velocity, second_arm '
        'a distance. A new list replaces the old one.', 's', kind='string_array')
    fault_campaign: RandomFaultSettings = group(RandomFaultSettings)
    seed: int = parameter(
        0, 'Seed of all random numbers, of noise and of random faults.', '', 0, 1_000_000)

    def check(self) -> None:
        """Raise `ParameterError` for a vector that has not three numbers."""
        for name, given, meaning in (
                ('payload.com', self.payload.com, 'x, y and z'),
                ('mismatch.base_tilt', self.mismatch.base_tilt, 'roll, pitch and yaw')):
            if len(given) != 3:
                raise ParameterError(f'parameter {name!r} has {len(given)} numbers: give '
                                     f'{meaning}', value=given)


def arm_from(values: ErrorSettings, model: RobotModel) -> RobotModel:
    """
    Return the simulated arm: that of the URDF with payload and model errors.

    Raises
    ------
    RobodynError
        A link does not exist, or a number is invalid for it.

    """
    scales = dict.fromkeys(model.body_names, values.mismatch.mass_scale)
    scales.update(joint_values('mismatch.link_mass_scale', values.mismatch.link_mass_scale,
                               'link:factor, such as link3:1.2'))
    arm = mismatched(model, scales, _shifts(values.mismatch.com_shift),
                     values.mismatch.base_tilt)
    if not values.payload.link:
        return arm
    return arm.with_payload(values.payload.link, values.payload.mass, values.payload.com)


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
        if why := next(filter(None, map(unusable, numbers)), ''):
            raise ParameterError(
                f"parameter 'mismatch.com_shift' has the entry {entry!r}: {why}", entry=entry)
        shifts[link.strip()] = numbers
    return shifts


def sensors_from(values: ErrorSettings, model: RobotModel) -> SensorSettings:
    """Return what is wrong with the sensors (raises RobodynError, naming the parameter)."""
    given: dict[str, Any] = {}
    for row in parameters(SensorParameters):
        if row.name == 'encoder':  # which state is measured, not how
            continue
        value = getattr(values.sensors, row.name)
        given[row.name] = (per_joint(f'sensors.{row.name}', value, model.joint_names)
                           if row.per_joint else value)
    given['velocity_cutoff'] = given['velocity_cutoff'] or math.inf
    return SensorSettings(**given)


def faults_from(values: ErrorSettings, model: RobotModel, now: float) -> list[Fault]:
    """Return the faults that are listed (raises RobodynError, quoting the entry)."""
    faults = [parse_fault(entry, model.body_joints, now) for entry in values.faults]
    for entry, fault in zip(values.faults, faults):
        if fault.kind == 'torque_loss' and fault.joints[0] not in model.joint_names:
            raise ParameterError(f'the fault {entry!r}: joint {fault.joints[0]!r} mimics another '
                                 'and has no motor; name one of '
                                 + ', '.join(model.joint_names), entry=entry)
    return faults


def campaign_from(values: ErrorSettings) -> Campaign:
    """Return the requested random faults (raises RobodynError)."""
    return Campaign(values.fault_campaign.rate, values.fault_campaign.longest,
                    values.fault_campaign.kinds, values.seed)
