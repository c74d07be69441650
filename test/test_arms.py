"""Profiles of arms: complete, and taken by the controller; wrong ones are refused."""

from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from robodyn_ros import arms
from robodyn_ros.arms.profile import FORWARD, read
from robodyn_ros.cli.main import main, USER_MISTAKE
from robodyn_ros.control import Settings
from robodyn_ros.control.arm.design import Design
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import with_slots
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import read_parameters
from robodyn_ros.inspection.finding import STOP
from robodyn_ros.model import RobotModel
from robodyn_ros.settings import parameters, with_values
import yaml

FOLDER = Path(arms.__file__).parent
NAMES = arms.names()
TREE = {row.name for row in parameters(Settings)}
# profile and arm of example-robot-data; '' is a URDF that is made here
MODELS = [*((name, '') for name in NAMES), ('panda', 'panda'), ('ur', 'ur5_robot'),
          ('ur', 'ur10_robot')]


def urdf_of(model, profile, tmp_path):
    """Return the URDF of example-robot-data, or one that is made for a profile."""
    if not model:
        return made_urdf(profile, tmp_path)
    oracle = pytest.importorskip('oracle', reason='needs Pinocchio and example-robot-data')
    if model not in (files := oracle.robot_files()):
        pytest.skip('example-robot-data lacks this arm')
    return files[model]


def made_urdf(profile, tmp_path):
    """Write a chain with the joints of a profile: a metre long, with a gripper."""
    names, root = [*profile.joints, 'finger'], ElementTree.Element('robot', name='arm')
    ElementTree.SubElement(root, 'link', name='base')
    links = [*(f'link{k}' for k in range(1, len(names))), 'finger_link']
    if profile.tip:
        links[len(profile.joints) - 1] = profile.tip
    for k, (joint, link) in enumerate(zip(names, links)):
        body = ElementTree.SubElement(ElementTree.SubElement(root, 'link', name=link), 'inertial')
        ElementTree.SubElement(body, 'origin', xyz='0 0 0.05')
        ElementTree.SubElement(body, 'mass', value='0.5')
        ElementTree.SubElement(body, 'inertia', ixx='0.002', iyy='0.002', izz='0.001', ixy='0',
                               ixz='0', iyz='0')
        node = ElementTree.SubElement(root, 'joint', name=joint, type='revolute')
        ElementTree.SubElement(node, 'parent', link=links[k - 1] if k else 'base')
        ElementTree.SubElement(node, 'child', link=link)
        ElementTree.SubElement(node, 'origin', xyz='0 0 0.1')
        ElementTree.SubElement(node, 'axis', xyz='0 1 0' if k % 2 else '0 0 1')
        ElementTree.SubElement(node, 'limit', lower='-2', upper='2', effort='50', velocity='2')
    path = tmp_path / 'arm.urdf'
    ElementTree.ElementTree(root).write(path)
    return path


@pytest.mark.parametrize('name, arm', MODELS)
def test_the_controller_takes_what_is_written(name, arm, tmp_path, capsys):
    profile = arms.load(name)[1].named('')
    folder = tmp_path / 'launch'
    assert main(['arm', name, '--urdf', str(urdf_of(arm, profile, tmp_path)), '--write',
                 str(folder)]) == 0
    given = read_parameters(folder / 'arm.yaml')
    assert given['driver_compensates_gravity'] is profile.parameters.driver_compensates_gravity
    model = RobotModel.from_urdf(given['urdf_file'], given['gravity'], tip=given['tip'])
    assert model.joint_names == profile.joints == tuple(given['command_joints'])
    limits = {key: given.get(key, ()) for key in ('effort_limit', 'velocity_limit')}
    model = model.with_limits(**limits)
    settings = with_values(Settings(), {key: value for key, value in given.items() if key in TREE})
    bounds = Design.make(Dynamics(with_slots(model), backend='python'), settings).bounds
    for key, usable in (('effort_limit', bounds.usable), ('torque_rate_limit', bounds.rate)):
        if key in given:
            np.testing.assert_array_equal(usable, given[key])
    if limits['velocity_limit']:
        np.testing.assert_array_equal(model.velocity_limit, limits['velocity_limit'])
    shown = capsys.readouterr().out
    steps = profile.steps.by_name
    assert len(re.findall(r'^ *\d+\. ', shown, re.MULTILINE)) == len(
        re.findall(r'^    verify: ', shown, re.MULTILINE)) >= len(steps) + 2
    assert f'params_file:={folder}/arm.yaml' in shown


@pytest.mark.parametrize('name', NAMES)
def test_controllers_command_these_joints(name):
    profile = arms.load(name)[1].named('left_')
    text = arms.controllers_file(name, profile)
    assert bool(text) == (profile.command.way in (FORWARD, arms.PLUGIN))
    if not text:
        return
    nodes = {key: value['ros__parameters'] for key, value in yaml.safe_load(text).items()}
    controller = 'effort_controller' if profile.command.way == FORWARD else f'{name}_controller'
    own, manager = nodes[f'/**/{controller}'], nodes['/**/controller_manager']
    assert own['joints'] == list(profile.joints) and 'left_' in own['joints'][0]
    assert manager['update_rate'] == profile.state.rate
    assert manager[controller]['type'] == own['type']
    assert arms.command_topic(name, profile).startswith(controller)
    if profile.command.way == FORWARD:
        assert own['interface_name'] == profile.command.interface
    else:
        assert own['block'] == arms.parameters_of(name, profile)['shared_block']
        assert own['drive_kp'] == list(profile.command.kp)
        assert own['drive_kd'] == list(profile.command.kd)


@pytest.mark.parametrize('name', NAMES)
def test_the_simulator_takes_the_parameters(name):
    pytest.importorskip('rclpy', reason='the table of the node needs rclpy')
    from robodyn_ros.nodes.simulator.parameters import PARAMETERS
    from robodyn_ros.simulation.faults import parse_fault

    rows, profile = {row.name: row for row in PARAMETERS}, arms.load(name)[1].named('')
    values = arms.simulator_of(profile)
    for key, value in values.items():
        rows[key].checked(value)
    for fault in values.get('faults', ()):
        parse_fault(fault, profile.joints)
    gravity = profile.parameters.driver_compensates_gravity
    assert ('driver.gravity' in values) == gravity


def test_names_and_other_names_are_of_one_arm():
    profiles = {name: arms.load(name)[1] for name in NAMES}
    every = [*NAMES, *(each for profile in profiles.values() for each in profile.also),
             *arms.refused()]
    assert len(every) == len(set(every))
    for name, profile in profiles.items():
        assert all(arms.load(each)[0] == name for each in profile.also)


@pytest.mark.parametrize('name, why', [
    ('xarm6', 'no torque command'), ('SO-101', 'no torque mode'), ('gen3', 'ignored silently'),
    ('piper', 'positions only'), ('fr33', "did you mean 'fr3'"), ('toaster', 'all: fr3, iiwa')])
def test_other_arms_are_refused(name, why, capsys):
    assert main(['arm', name]) == USER_MISTAKE
    assert why in capsys.readouterr().err


def test_an_urdf_of_another_arm_is_refused(tmp_path, capsys):
    urdf = made_urdf(arms.load('omy')[1].named(''), tmp_path)
    folder = tmp_path / 'x'
    assert main(['arm', 'fr3', '--urdf', str(urdf), '--write', str(folder)]) == USER_MISTAKE
    error = capsys.readouterr().err
    assert 'fr3_joint1' in error and 'joint6' in error and '--prefix' in error
    assert not folder.exists()


def test_nothing_is_overwritten(tmp_path, capsys):
    urdf = made_urdf(arms.load('fr3')[1].named(''), tmp_path)
    (tmp_path / 'controllers.yaml').write_text('mine')
    assert main(['arm', 'fr3', '--urdf', str(urdf), '--write', str(tmp_path)]) == USER_MISTAKE
    assert 'exists already' in capsys.readouterr().err
    assert (tmp_path / 'controllers.yaml').read_text() == 'mine'
    assert not (tmp_path / 'arm.yaml').exists()


@pytest.mark.parametrize('old, new, field', [
    ('title:', 'titel:', 'title'),
    ('title: Franka FR3', 'title: []', 'title'),
    ("'{prefix}fr3_joint2'", "'{prefix}fr3_joint1'", 'joints'),
    ("'{prefix}fr3_joint2', ", '', 'torque_rate_limit'),
    ('  driver_compensates_gravity: true\n', '', 'driver_compensates_gravity'),
    ('[1000, 1000,', '[0.001, 1000,', 'torque_rate_limit'),
    ('friction_scale: 0', 'friction_scale: 20', 'friction_scale'),
    ('rate: 1000', 'rate: 0.001', 'state.rate'),
    ('effort: with_gravity', 'effort: milliampere', 'effort'),
    ('way: forward', 'way: forward\n  interface: torque', 'interface'),
    ('way: forward', 'way: forward\n  message: x/msg/Y', 'command.fields'),
    ('way: forward', 'way: forward\n  kp: [1.0]', 'command.kp has 1 numbers'),
    ('    verify: uname -v names PREEMPT_RT\n', '', 'steps.kernel.verify'),
    ('    source: libfranka kEnforce', "    hardware: ['kp1']\n    source: x", 'kernel.hardware')])
def test_a_wrong_profile_is_refused_with_its_field(old, new, field, tmp_path):
    text = (FOLDER / 'fr3.yaml').read_text()
    assert old in text
    path = tmp_path / 'mine.yaml'
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ParameterError) as error:
        read(path)
    assert str(path) in str(error.value) and field in str(error.value)


def test_steps_keep_prefix_and_namespace(capsys):
    assert main(['arm', 'show', 'openarm', '--prefix', 'left_', '--namespace', 'left']) == 0
    shown = capsys.readouterr().out
    assert 'robodyn arm openarm --check --prefix left_ --namespace left\n' in shown
    assert 'controllers.yaml namespace:=left\n' in shown


def test_a_list_is_no_profile(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text('- fr3\n')
    with pytest.raises(ParameterError, match='is no profile'):
        read(path)
    shutil.copy(FOLDER / 'fr3.yaml', path)
    assert read(path).title == 'Franka FR3'


def seen_of(profile, rate, joints=None, **changes):
    """Return what is seen of a driver at rest whose motors hold an arm without weight."""
    live_check = pytest.importorskip('robodyn_ros.client.live_check', reason='needs ROS')
    names = tuple(joints or profile.joints)
    rest = np.zeros(len(names))
    messages = [live_check.SeenState(k / rate, k / rate, k / rate, names, rest + 0.1, rest, rest)
                for k in range(1, 101)]
    return live_check.Seen(f'/{profile.state.topic}', messages, ('/driver',), (), '/commands', (),
                           (), ('/driver',), '/own_controller', None, None)._replace(**changes)


def findings(name, tmp_path, hardware='', rate=None, **changes):
    """Return the texts of the findings that prevent a start, of an arm without gravity."""
    from robodyn_ros.inspection.driver import judge_driver

    profile = arms.load(name)[1].named('')
    urdf = made_urdf(profile, tmp_path).read_text().replace(
        '</robot>', f'<ros2_control><hardware>{hardware}</hardware></ros2_control></robot>')
    model = RobotModel.from_urdf(urdf, (0.0, 0.0, 0.0), **arms.robot_for(profile, urdf))
    seen = seen_of(profile, rate or profile.state.rate, **changes)
    return [each.text for each in judge_driver(profile, Dynamics(model), urdf, seen)
            if each.level == STOP]


GAINS = ''.join(f'<param name="kp{k}">0</param>' for k in range(1, 8))


def test_a_driver_as_its_profile_says_has_no_finding(tmp_path):
    assert findings('openarm', tmp_path, GAINS) == []
    assert findings('fr3', tmp_path) == []
    joints = list(arms.load('yam')[1].named('').joints)
    assert findings('yam', tmp_path, parameters={'joints': joints}) == []
    joints = list(arms.load('wxai')[1].named('').joints)
    assert findings('wxai', tmp_path, parameters={
        'joints': joints, 'interface_name': 'external_effort'}) == []


def test_a_step_that_is_not_done_is_found(tmp_path):
    missing, = findings('openarm', tmp_path)
    assert all(f'kp{k} is missing, needed is 0.0' in missing for k in range(1, 8))
    wrong, = findings('openarm', tmp_path, GAINS.replace('kp3">0', 'kp3">70'))
    assert 'description: kp3 is 70, needed is 0.0. Add' in wrong
    slow, = findings('fr3', tmp_path, rate=30.0)
    assert '30 Hz' in slow and '1000 Hz' in slow and '/franka/joint_states' in slow
    plugin, = findings('yam', tmp_path)
    assert '/own_controller, the exported plugin, does not run' in plugin
    joints = list(arms.load('wxai')[1].named('').joints)
    interface, = findings('wxai', tmp_path, parameters={
        'joints': joints, 'interface_name': 'effort'})
    assert "set its interface_name to 'external_effort'" in interface
    order, = findings('fr3', tmp_path, parameters={
        'joints': list(arms.load('fr3')[1].named('').joints)[::-1], 'interface_name': 'effort'})
    assert 'another order' in order


def test_the_driver_of_another_arm_is_named():
    seen_of(arms.load('fr3')[1].named(''), 1000.0)  # skips without ROS
    from robodyn_ros.inspection.driver import foreign

    mine, other = (arms.load(name)[1].named('') for name in ('rizon', 'panda'))
    finding, = foreign(mine, seen_of(mine, 1000.0, other.joints))
    assert 'not the driver of Flexiv Rizon' in finding.text
    assert 'these are joints of panda' in finding.text
    finding, = foreign(mine, seen_of(mine, 1000.0, ['left_joint1']))
    assert '--prefix' in finding.text
    assert foreign(mine, seen_of(mine, 1000.0)) == []


def test_a_simulated_driver_is_that_of_its_profile(tmp_path, capsys):
    pytest.importorskip('rclpy', reason='the simulator needs ROS')
    from robodyn_ros.nodes.domain import isolate
    isolate()
    urdf = str(made_urdf(arms.load('iiwa')[1].named(''), tmp_path))
    simulator = subprocess.Popen([
        sys.executable, '-m', 'robodyn_ros.cli.main', 'arm', 'iiwa', '--urdf', urdf, '--simulate'])
    try:
        assert main(['arm', 'iiwa', '--urdf', urdf, '--check', '--timeout', '60']) == 0
        shown = capsys.readouterr().out
        assert 'velocity missing' in shown and 'agrees with the gravity torque' in shown
        assert main(['arm', 'rizon', '--check', '--timeout', '60']) == 1
        assert 'these are joints of iiwa' in ' '.join(capsys.readouterr().out.split())
    finally:
        simulator.send_signal(signal.SIGINT)
        assert simulator.wait(30.0) == 0


def test_what_becomes_of_an_arm_in_silence_is_told(capsys):
    for name, text, habits in (
            ('ur', 'the last torque stays for ever', ('repeat', 0.1)),
            ('yam', 'with its gains the arm comes to rest', ('repeat', 0.1)),
            ('rebot', 'after 0.5 s the motors are disabled: the arm falls', ('disable', 0.5))):
        assert main(['arm', 'show', name]) == 0
        assert text in ' '.join(capsys.readouterr().out.split())
        simulated = arms.simulator_of(arms.load(name)[1].named(''))
        assert (simulated['driver.silence'], simulated['driver.silence_after']) == habits
        told = arms.parameters_of(name, arms.load(name)[1].named(''))
        assert told.get('silence.drives', 'repeat') == habits[0]
