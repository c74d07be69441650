"""What follows from a profile: parameters, controllers of ros2_control, and the launch line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import shlex
from xml.etree import ElementTree

from robodyn_ros.arms.profile import FORWARD, PLUGIN, Profile
from robodyn_ros.exceptions import ParameterError, plain
from robodyn_ros.files import as_yaml
from robodyn_ros.settings import values


def parameters_of(name: str, profile: Profile) -> dict[str, object]:
    """Return the parameters of the controller that follow from a profile, by name."""
    given = {key: list(value) if isinstance(value, tuple) else value
             for key, value in values(profile.parameters).items()
             if key != 'source' and value != () and (key, value) != ('friction_scale', 1.0)}
    command = profile.command
    sent = {'command_type': command.message, 'command_fields': command.fields,
            'effort_scale': command.scale, 'effort_quantum': command.quantum,
            'drive_kp': command.kp, 'drive_kd': command.kd}
    result = {'command_joints': list(profile.joints), **given}
    if command.silence != 'repeat':
        result['silence.drives'] = command.silence
    if profile.command.way == PLUGIN:
        result.update(loop='controller_manager', shared_block=f'/robodyn.{name}')
    else:
        result['effort_command_topic'] = command_topic(name, profile)
        result.update({key: list(value) if isinstance(value, tuple) else value
                       for key, value in sent.items() if value})
    return result


def command_topic(name: str, profile: Profile) -> str:
    """Return the topic of the torques; of a plugin, where its node is looked for."""
    return (f'{name}_controller/commands' if profile.command.way == PLUGIN
            else profile.command.topic)


def robot_for(profile: Profile, urdf: str | bytes) -> dict[str, str]:
    """
    Return the tip, as an argument that selects the arm of a profile in a URDF.

    Raises
    ------
    ParameterError
        The URDF lacks a joint of the profile.

    """
    try:
        children = {each.get('name', ''): each.find('child').get('link', '')  # type: ignore
                    for each in ElementTree.fromstring(urdf).iter('joint')
                    if each.find('child') is not None}
    except ElementTree.ParseError as error:
        raise ParameterError(f'the robot description is no URDF: {error}') from error
    missing = [each for each in profile.joints if each not in children]
    if missing:
        raise ParameterError(
            f'the URDF is not that of {profile.title}: it lacks the joints {", ".join(missing)}, '
            f'and has {", ".join(map(plain, [*children][:20]))}; a prefix is given with --prefix',
            joints=missing)
    known = profile.tip in children.values()
    return {'tip': profile.tip if known else children[profile.joints[-1]]}


def simulator_of(profile: Profile) -> dict[str, object]:
    """Return the parameters of the simulator that behaves as the driver of a profile does."""
    faults = [f'now nan_{what} inf' for what in ('velocity', 'effort')
              if getattr(profile.state, what) == 'none']
    numbers = profile.parameters
    result: dict[str, object] = {
        'command_joints': list(profile.joints), 'publish_rate': profile.state.rate,
        'sensors.differentiate': profile.state.velocity == 'differences',
        'effort_limit': list(numbers.effort_limit),
        'velocity_limit': list(numbers.velocity_limit),
        'publish_description': True,
        'command_type': profile.command.message, 'command_fields': list(profile.command.fields),
        'driver.gravity': [1.0] if numbers.driver_compensates_gravity else [],
        'driver.effort': 'torque' if profile.state.effort in ('none', 'with_gravity')
        else profile.state.effort,
        'driver.factor': [1.0 / each for each in profile.command.scale],
        'driver.quantum': list(profile.command.quantum),
        'driver.kd': [] if 'kd:kd' in profile.command.fields else list(profile.command.kd),
        'driver.silence': profile.command.silence,
        'driver.silence_after': profile.command.silence_after,
        'faults': faults, 'friction_scale': numbers.friction_scale}
    return {key: value for key, value in result.items() if value not in ([], '')}


def controllers_file(name: str, profile: Profile) -> str:
    """Return the text of `controllers.yaml`; '' where the driver brings its controller."""
    way, names = profile.command.way, list(profile.joints)
    if way not in (FORWARD, PLUGIN):
        return ''
    command, zeros = profile.command, [0.0] * len(names)
    controller = 'effort_controller' if way == FORWARD else f'{name}_controller'
    kind = ('forward_command_controller/ForwardCommandController' if way == FORWARD else
            f'{name}_controller/Controller')
    own: dict[str, object] = {'interface_name': profile.command.interface} if way == FORWARD else {
        'block': f'/robodyn.{name}',
        'command_interfaces': [*command.others, command.interface],
        'drive_kp': list(command.kp) or zeros, 'drive_kd': list(command.kd) or zeros,
        'driver_compensates_gravity': profile.parameters.driver_compensates_gravity}
    broadcaster = 'joint_state_broadcaster/JointStateBroadcaster'
    return '\n'.join([
        f'# Controllers of {profile.title}. {profile.command.source}',
        *_node('controller_manager', {'update_rate': round(profile.state.rate)}),
        '    joint_state_broadcaster:', f'      type: {broadcaster}', f'    {controller}:',
        f'      type: {kind}',
        *_node('joint_state_broadcaster', {'type': broadcaster, 'use_local_topics': False}),
        *_node(controller, {'type': kind, 'joints': names, **own})]) + '\n'


def _node(name: str, parameters: dict[str, object]) -> Iterator[str]:
    yield from (f'/**/{name}:', '  ros__parameters:')
    for key, value in parameters.items():
        text = str(value) if type(value) is int else as_yaml(value)
        yield f'    {key}: {text}'


def launch_line(profile: Profile, folder: Path, namespace: str = '') -> str:
    """Return the command that starts the controller with the files in a folder."""
    words = ['ros2', 'launch', 'robodyn_ros', 'controller.launch.py',
             f'params_file:={folder / "arm.yaml"}']
    if profile.command.way == FORWARD:
        words += ['ros2_control:=true', f'ros2_control_file:={folder / "controllers.yaml"}']
    if profile.state.topic != 'joint_states':
        words.append(f'joint_states:={profile.state.topic}')
    if namespace:
        words.append(f'namespace:={namespace}')
    return shlex.join(words)


def steps_of(name: str, profile: Profile, line: str, options: str = '') -> list[tuple[str, str]]:
    """Return the steps up to the launch, each with how it is verified; `options` of --check."""
    steps = [(each.do, each.verify) for each in profile.steps.by_name.values()]
    if profile.command.way == PLUGIN:
        steps += [
            (f'robodyn export URDF src/{name}_controller --ros2-control --prefix {name}; colcon '
             f'build --packages-select {name}_controller', 'it is built without an error'),
            (f'add controllers.yaml to the parameters of controller_manager, and activate '
             f'{name}_controller in it', f'ros2 control list_controllers shows {name}_controller '
             'active; the arm is held where it is')]
    check = f'robodyn arm {name} --check{options}'
    return [*steps, (check, 'no finding prevents a start'),
            (line, 'the log names the limits that it uses; the arm stays where it is')]
