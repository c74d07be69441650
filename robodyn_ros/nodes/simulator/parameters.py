"""Parameters of the simulator node, of its arm and of its sensors."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

from robodyn_ros.exceptions import near_matches, ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.command_message import MessageSettings
from robodyn_ros.nodes.description import joint_values, RobotSettings
from robodyn_ros.nodes.realtime import RealtimeSettings
from robodyn_ros.settings import (
    group, Numbers, parameter, parameters, per_joint, settings, Texts, unusable)
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.driver import DriverSettings
from robodyn_ros.simulation.faults import Fault, KINDS, parse_fault
from robodyn_ros.simulation.integrators import INTEGRATORS
from robodyn_ros.simulation.mismatch import mismatched
from robodyn_ros.simulation.sensors import SensorSettings

LOOPS = ('auto', 'native', 'python')
# parameters that are handed on as they are, where they are not empty
_JOINTS = ('armature', 'backlash', 'effort_limit', 'motor_bandwidth', 'spring_damping',
           'stiffness', 'stribeck_velocity')
# of the joints, may change while the arm moves
LIVE_JOINT_PARAMETERS = {'friction_scale', 'stiction_scale', 'stribeck_velocity',
                         'motor_bandwidth'}


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


@settings()
class ErrorSettings:
    """Errors of the simulated arm: of its bodies, its sensors and its communication."""

    payload: PayloadSettings = group(PayloadSettings)
    mismatch: MismatchSettings = group(MismatchSettings)
    sensors: SensorParameters = group(SensorParameters)
    driver: DriverSettings = group(DriverSettings)
    faults: Texts = parameter(
        (), 'Faults, each as START KIND [JOINT ...] DURATION [AMOUNT], such as "2.0 silence 0.1" '
        'or "now freeze joint2 0.5". START is simulated time since the last reset, or now; '
        f'DURATION may be inf. KIND is one of {", ".join(KINDS)}; clock_jump and delay have an '
        'AMOUNT in seconds, velocity_scale has a factor, velocity_outliers a velocity, second_arm '
        'a distance. A new list replaces the old one.', 's', kind='string_array')
    seed: int = parameter(
        0, 'Seed of the noise.', '', 0, 1_000_000)

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


@settings()
class SimulatorSettings:
    """Parameters of the simulator node."""

    robot: RobotSettings = group(RobotSettings, '')
    realtime: RealtimeSettings = group(RealtimeSettings)
    command_joints: Texts = parameter(
        (), 'Order of the joints in effort_controller/commands; empty: the order of the model.',
        kind='string_array', read_only=True)
    message: MessageSettings = group(MessageSettings, '')
    publish_description: bool = parameter(
        False, 'Publication of the robot on robot_description, where no robot_state_publisher '
        'does so.', read_only=True)
    step: float = parameter(
        1e-3, 'Simulated time of one step.', 's', 1e-5, 0.02, read_only=True)
    publish_rate: float = parameter(
        0.0, 'Rate of joint_states, in simulated time; rounded to whole steps. 0: after every '
        'step.', 'Hz', 0.0)
    real_time_factor: float = parameter(
        1.0, 'Simulated seconds per second; 0: as fast as possible. Other than 1, stamps are '
        'simulated time, and /clock is published. A node that was started with 1 keeps it.', '',
        0.0, 1000.0)
    lockstep: bool = parameter(
        False, 'Progress of time by one published state for each command, for runs that are the '
        'same to the last bit. Commands are named efforts on joint_commands with the stamp of the '
        'state they answer, as our controller sends them with lockstep: true. Stamps are '
        'simulated time.', read_only=True)
    loop: str = parameter(
        'auto', 'Loop from torque to joint state: native (a thread in machine code, which waits '
        'for no Python), python, or auto: native where it is possible.', choices=LOOPS,
        read_only=True)
    start_paused: bool = parameter(
        False, 'Pause from the start, until ~/pause ends it.', read_only=True)
    command_timeout: float = parameter(
        0.0, 'Silence of the commander, in simulated time, after which the brakes hold the arm '
        'until its next command; 0: the last torque stays for ever, as with '
        'forward_command_controller.', 's', 0.0)
    steps_per_call: int = parameter(1, 'Number of steps per call of ~/step.', '', 1, 100_000)
    initial_positions: Texts = parameter(
        (), 'Initial positions of joints, each as joint:position. The others start at 0 or, where '
        'their limits leave no room around 0, in the middle.', 'rad or m', kind='string_array',
        read_only=True)
    wrench_timeout: float = parameter(
        0.5, 'Time for which a message on ~/wrench acts, in simulated time.', 's', 0.0, math.inf)
    friction_scale: float = parameter(
        1.0, 'Part of the friction in the URDF that the arm has; 0: none.', '', 0.0, 100.0)
    stiction_scale: float = parameter(
        1.0, 'Friction at rest, as a multiple of Coulomb friction.', '', 1.0, 100.0)
    stribeck_velocity: Numbers = parameter(
        (), 'Velocity at which half of the difference is gone; empty: 0.05.', 'rad/s or m/s',
        1e-6, per_joint=True)
    motor_bandwidth: Numbers = parameter(
        (), 'Bandwidth of the torque of the motors, a lag of first order; empty: no lag.',
        'rad/s', 1e-3, math.inf, per_joint=True)
    backlash: Numbers = parameter(
        (0.0,), 'Play of the gears; a joint that has some needs an armature.', 'rad or m', 0.0,
        per_joint=True, read_only=True)
    stiffness: Numbers = parameter(
        (0.0,), 'Stiffness of elastic joints, which need an armature; 0: rigid.',
        'N m/rad or N/m', 0.0, per_joint=True, read_only=True)
    spring_damping: Numbers = parameter(
        (0.0,), 'Damping of these springs.', 'N m s/rad or N s/m', 0.0, per_joint=True,
        read_only=True)
    integrator: str = parameter(
        'midpoint', 'Method of integration.', choices=tuple(INTEGRATORS), read_only=True)
    armature: Numbers = parameter(
        (0.0,), 'Inertia of the rotors times gear ratio squared.', 'kg m^2 or kg', 0.0,
        per_joint=True, read_only=True)
    effort_limit: Numbers = parameter(
        (), 'Effort limits in place of those in the URDF.', 'N m or N', 0.0, math.inf,
        per_joint=True, read_only=True)
    errors: ErrorSettings = group(ErrorSettings, '')

    def check(self) -> None:
        """Raise `ParameterError` for a pace in lockstep."""
        if self.lockstep and self.real_time_factor != 1.0:
            raise ParameterError(
                f"parameter 'real_time_factor' is {self.real_time_factor:g} and 'lockstep' is "
                'set: in lockstep the controller sets the pace, leave real_time_factor out',
                value=self.real_time_factor)


PARAMETERS = tuple(parameters(SimulatorSettings))


def decimation(values: SimulatorSettings) -> int:
    """Return how many steps there are from one published state to the next."""
    if not values.publish_rate:
        return 1
    return max(1, round(1.0 / (values.publish_rate * values.step)))


def period(values: SimulatorSettings) -> float:
    """Return the seconds from one step to the next on the wall clock; 0: without a pause."""
    return values.step / values.real_time_factor if values.real_time_factor else 0.0


def joints_from(values: SimulatorSettings, model: RobotModel) -> dict[str, Any]:
    """Return in what the joints differ from the URDF, as `Plant` takes it."""
    friction = values.friction_scale * model.friction
    given = {name: per_joint(name, getattr(values, name), model.joint_names)
             for name in _JOINTS if getattr(values, name)}
    return {'damping': values.friction_scale * model.damping, 'friction': friction,
            'stiction': values.stiction_scale * friction, **given}


def plant_from(values: SimulatorSettings, model: RobotModel) -> Plant:
    """
    Return the plant that the parameters describe, held by its brakes.

    Raises
    ------
    RobodynError
        A joint or link does not exist, or a number is invalid for it.

    """
    model = arm_from(values.errors, model)
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
