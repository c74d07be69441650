"""Profile of an arm and its driver: the fields of `arms/NAME.yaml`, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

from robodyn_ros.exceptions import near_matches, ParameterError, shown
from robodyn_ros.files import flat, read_yaml
from robodyn_ros.settings import (
    for_each_joint, group, Numbers, parameter, settings, Texts, with_values)

FORWARD, PRESENT, PLUGIN = 'forward', 'present', 'plugin'
_FOLDER = Path(__file__).parent
_REFUSED = _FOLDER / 'refused.yaml'
_NEEDED = (
    'title', 'driver', 'joints', 'tried', 'parameters.driver_compensates_gravity',
    'parameters.source', 'state.rate', 'state.source', 'command.way', 'command.source')


@settings('parameters')
class ControllerNumbers:
    """Parameters of the controller that the driver or the motors decide."""

    driver_compensates_gravity: bool = parameter(
        False, 'Gravity compensation by the driver.')
    effort_limit: Numbers = parameter(
        (), 'Limits of the motors, where those of the URDF are placeholders.', 'N m or N', 0.1,
        2000.0, per_joint=True)
    velocity_limit: Numbers = parameter(
        (), 'Velocity limits, where those of the URDF are placeholders.', 'rad/s or m/s', 0.01,
        50.0, per_joint=True)
    torque_rate_limit: Numbers = parameter(
        (), 'Largest change of torque that the driver accepts.', 'N m/s', 1.0, 1e6,
        per_joint=True)
    friction_scale: float = parameter(
        1.0, 'Part of the friction in the URDF that is compensated; 0 where that is a '
        'placeholder, or the driver compensates it.', '', 0.0, 1.0)
    source: str = parameter('', 'Origin of these numbers.')


@settings('state')
class StateFacts:
    """Joint states of the driver."""

    topic: str = parameter('joint_states', 'Topic, in the namespace of the arm.')
    rate: float = parameter(100.0, 'Rate.', 'Hz', 10.0, 5000.0)
    velocity: str = parameter('measured', 'Velocity.', choices=('measured', 'differences', 'none'))
    effort: str = parameter(
        'with_gravity', 'Effort at rest: torque of the motors with the gravity torque, torque '
        'without it, motor current, or none.',
        choices=('with_gravity', 'without_gravity', 'current', 'none'))
    source: str = parameter('', 'Origin of these facts.')


@settings('command')
class CommandFacts:
    """How torques reach the driver."""

    way: str = parameter(
        FORWARD, 'Receiver of the torques: a forward_command_controller to be loaded, a '
        'controller that the driver brings, or the exported plugin.',
        choices=(FORWARD, PRESENT, PLUGIN))
    topic: str = parameter('effort_controller/commands', 'Topic, in the namespace of the arm.')
    interface: str = parameter('effort', 'Command interface of torque.',
                               choices=('effort', 'external_effort'))
    others: Texts = parameter(
        (), 'Command interfaces that the plugin claims besides.', kind='string_array')
    message: str = parameter('', 'Type of the messages; empty: Float64MultiArray.')
    fields: Texts = parameter(
        (), 'Their fields, as the parameter command_fields.', kind='string_array')
    scale: Numbers = parameter(
        (), 'Effort of commands and states by torque at the joint.', '', -1e6, 1e6,
        per_joint=True)
    quantum: Numbers = parameter(
        (), 'Steps of torque that the driver makes.', 'N m or N', 0.0, 100.0, per_joint=True)
    kp: Numbers = parameter(
        (), 'Stiffness that is commanded.', 'N m/rad', 0.0, 1e4, per_joint=True)
    kd: Numbers = parameter(
        (), 'Damping that is commanded, or that the drive always has.', 'N m s/rad', 0.0, 1e3,
        per_joint=True)
    silence: str = parameter(
        'repeat', 'What becomes of the last command when no other comes: it is repeated for ever, '
        'as by a forward_command_controller, the motors damp, or they are disabled.',
        choices=('repeat', 'damp', 'disable'))
    silence_after: float = parameter(0.1, 'Silence from which on they damp, or are disabled.',
                                     's', 1e-3, 60.0)
    source: str = parameter('', 'Origin of these facts.')

    @property
    def in_silence(self) -> str:
        """Return what becomes of an arm whose controller was killed."""
        return {'repeat': 'the last torque stays for ever: an arm that moves goes on'
                if not any((*self.kp, *self.kd)) else
                'the last command stays for ever: with its gains the arm comes to rest',
                'damp': f'after {self.silence_after:g} s the motors damp: an arm that the '
                'controller carries sinks',
                'disable': f'after {self.silence_after:g} s the motors are disabled: the arm '
                'falls'}[self.silence]


@settings()
class Step:
    """A step before the launch."""

    do: str = parameter('', 'What is to be done.')
    verify: str = parameter('', 'How it is verified.')
    hardware: Texts = parameter(
        (), 'Parameters of the <hardware> in the robot description, each as name:value, which '
        '--check verifies.', kind='string_array')
    traps: Texts = parameter(
        (), 'Habits of the driver that are found before a motion, if this step is verified.',
        kind='string_array')
    source: str = parameter('', 'Origin.')


@settings('steps')
class Steps:
    """Steps by name, in order."""

    by_name: Mapping[str, Step] = for_each_joint(Step)


@settings()
class Profile:
    """An arm and its driver."""

    title: str = parameter('', 'Name of the arm.')
    also: Texts = parameter((), 'Other names.', kind='string_array')
    driver: str = parameter('', 'Driver and version that was read.')
    joints: Texts = parameter(
        (), 'Joints in the order of the command; {prefix} stands for that of the arm.',
        kind='string_array')
    tip: str = parameter(
        '', 'Link at the end of the arm; empty, or not in the URDF: that of the last joint.')
    tried: str = parameter('', 'What was verified, and what nobody has tried.')
    parameters: ControllerNumbers = group(ControllerNumbers)
    state: StateFacts = group(StateFacts)
    command: CommandFacts = group(CommandFacts)
    steps: Steps = group(Steps)

    def named(self, prefix: str) -> Profile:
        """Return the profile of an arm whose joints and links have a prefix."""
        return replace(self, joints=tuple(each.replace('{prefix}', prefix)
                                          for each in self.joints),
                       tip=self.tip.replace('{prefix}', prefix))


def names() -> list[str]:
    """Return the names of all profiles."""
    return sorted(path.stem for path in _FOLDER.glob('*.yaml') if path != _REFUSED)


def profiles() -> dict[str, Profile]:
    """Return all profiles by name (raises as `read`)."""
    return {each: read(_FOLDER / f'{each}.yaml') for each in names()}


def refused() -> dict[str, str]:
    """Return the arms that cannot be controlled by torque, with the reason."""
    return {str(name): str(why) for name, why in
            read_yaml(_REFUSED, 'reasons by the names of arms').items()}


def load(name: str) -> tuple[str, Profile]:
    """
    Return name and profile of an arm, by its name or another one that it has.

    Raises
    ------
    ParameterError
        The arm is unknown, or cannot be controlled by torque; or its profile is wrong.

    """
    wanted = _plain(name)
    all_profiles = profiles()
    for each, profile in all_profiles.items():
        if wanted in map(_plain, (each, *profile.also)):
            return each, profile
    for each, why in refused().items():
        if wanted == _plain(each):
            raise ParameterError(f'{name} cannot be controlled by torque: {why}', arm=name)
    known = [*all_profiles, *(other for each in all_profiles.values() for other in each.also)]
    raise ParameterError(f'there is no profile of an arm {shown(name)}; '
                         f'{near_matches(name, known)} (all: {", ".join(all_profiles)})', arm=name)


def _plain(name: str) -> str:
    """Return a name without what people write differently: SO-101 and so_101 are one arm."""
    return ''.join(filter(str.isalnum, name.lower()))


def read(path: Path) -> Profile:
    """
    Return the profile in a file.

    Raises
    ------
    ParameterError
        A field is unknown, missing or wrong; with file, field and remedy.

    """
    content = read_yaml(path, 'a profile, such as arms/fr3.yaml')
    if not isinstance(content, dict):
        raise ParameterError(f'{path} is no profile: write its fields as name: value')
    given = flat(content)
    try:
        profile = with_values(Profile(), given)
        _check(profile, given)
    except ParameterError as error:
        raise ParameterError(f'{path}: {error}', path=str(path), **error.evidence) from error
    return profile


def _check(profile: Profile, given: dict[str, object]) -> None:
    """Raise `ParameterError` for fields that are missing, or contradict each other."""
    for name in _NEEDED:
        if given.get(name) in (None, '', []):
            raise ParameterError(f'{name} is missing: state it', name=name)
    count = len(profile.joints)
    if len(set(profile.joints)) != count:
        raise ParameterError(f'joints names one twice: {", ".join(profile.joints)}', name='joints')
    for group_name in ('parameters', 'command'):
        part = getattr(profile, group_name)
        for each in fields(part):
            name, value = f'{group_name}.{each.name}', getattr(part, each.name)
            if (isinstance(value, tuple) and value and isinstance(value[0], float)
                    and len(value) != count):
                raise ParameterError(f'{name} has {len(value)} numbers: give one for each of the '
                                     f'{count} joints', name=name)
    if bool(profile.command.message) != bool(profile.command.fields):
        raise ParameterError('command.message and command.fields are given together, or neither',
                             name='command.fields')
    for name, step in profile.steps.by_name.items():
        for part in ('do', 'verify', 'source'):
            if not getattr(step, part):
                raise ParameterError(f'steps.{name}.{part} is missing: state it',
                                     name=f'steps.{name}.{part}')
        for entry in step.hardware:
            if not all(entry.partition(':')):
                raise ParameterError(f'steps.{name}.hardware has {entry!r}: write name:value',
                                     name=f'steps.{name}.hardware')
