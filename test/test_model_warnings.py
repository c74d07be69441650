"""Warnings name what is unusual about a robot, which loads nevertheless."""
import re

from model_urdf import arm, gripper, INERTIA, INERTIAL, joint, LIMIT, link, robot
import pytest

from robodyn_ros.model import RobotModel

WEIGHTLESS = '<inertial><mass value="0"/>' + INERTIA + '</inertial>'
POINT = '<inertial><origin xyz="{}"/><mass value="1"/></inertial>'
FLAT = ('<inertial><mass value="1"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" '
        'izz="0.01"/></inertial>')
IMPOSSIBLE = ('<inertial><mass value="1e-6"/><inertia ixx="-1e-8" ixy="0" ixz="0" iyy="1e-8" '
              'iyz="0" izz="1e-8"/></inertial>')


def limited(**limit):
    values = {'lower': -2, 'upper': 2, 'effort': 50, 'velocity': 3, **limit}
    return '<limit ' + ' '.join(f'{name}="{value}"' for name, value in values.items()) + '/>'


def on_forearm(inside):
    """Return an arm with one more link fixed to the forearm."""
    return arm(link('tool', inside), joint('flange', 'forearm', 'tool', 'fixed', ''))


FIXED_MIMIC = arm(link('tool'), joint('flange', 'forearm', 'tool', 'fixed',
                                      '<mimic joint="elbow"/>'))
CASES = {
    'triangle inequality': (arm(forearm=FLAT), r"link 'forearm'.*0\.001, 0\.001, 0\.01.*triangle"),
    'inertia without mass': (arm(forearm=WEIGHTLESS), r'inertia but no mass \(forearm\)'),
    'mass without inertia': (arm(forearm=POINT.format('1 0 0')),
                             r'no <inertia>, which URDF requires.*point mass.*\(forearm\)'),
    'neither mass nor inertia': (on_forearm('<inertial><mass value="0"/></inertial>'),
                                 r'no <inertia>, which URDF requires.*\(tool\)'),
    'massless link that moves a load': (arm().replace(INERTIAL, '', 1),
                                        r'moved by a joint but has no mass \(upper_arm\)'),
    'massless end': (arm(forearm=''), r'moves no mass.*singular.*\(elbow\)'),
    'point mass on the axis': (arm(forearm=POINT.format('0 1 0')), r'singular.*\(elbow\)'),
    'impossible, but made up for': (on_forearm(IMPOSSIBLE), "link 'tool'.*negative.*make up for"),
    'no effort': (arm(elbow_inside=limited(effort=0)), r'effort limit .* 0 \(elbow\)'),
    'no velocity': (arm(elbow_inside=limited(velocity=0)), r'velocity limit .* 0 \(elbow\)'),
    'no room': (arm(elbow_inside=limited(lower=1, upper=1)), r'both 1, it cannot move \(elbow\)'),
    'friction of a placeholder': (arm(elbow_inside=LIMIT + '<dynamics damping="10"/>'),
                                  r'above a tenth of the effort limit.*\(elbow\)'),
    'mimicry': (gripper(), r"mimics 'left_finger' and is no coordinate.*\(right_finger\)"),
    'mimicry of a fixed joint': (FIXED_MIMIC, r'<mimic> is ignored \(flange\)'),
    'foreign attribute': (arm(elbow_inside=LIMIT + '<dynamics mu_viscous="1" mu_coulomb="2"/>'),
                          r"attribute 'mu_coulomb' of <dynamics>.*\(elbow\)"),
    'foreign element': (arm('<anchor/>'), r'element <anchor> in <robot>'),
    'foreign element of a link': (arm(forearm='<origin/>' + INERTIAL),
                                  r'element <origin> in <link> .* ignored \(forearm\)'),
    'repeated element': (arm(elbow_inside=LIMIT + limited(upper=1)), '<limit> is repeated.*elbow'),
    'no robot name': (arm().replace(' name="arm"', ''), 'has no name'),
    'newer version': (arm().replace('<robot ', '<robot version="1.2" '), "version '1.2'"),
}


@pytest.mark.parametrize('xml, warning', CASES.values(), ids=CASES.keys())
def test_warning(xml, warning, capfd):
    model = RobotModel.from_urdf(xml)
    assert any(re.search(warning, line) for line in model.warnings), model.warnings
    assert capfd.readouterr() == ('', ''), 'warnings are collected, not printed'


def chain(*limits, masses=(2.0, 2.0, 2.0, 2.0)):
    """Return an arm of four joints with these limits and masses."""
    links = [link('link0', '')] + [
        link(f'link{k}', INERTIAL.replace('value="2"', f'value="{mass}"'))
        for k, mass in enumerate(masses, 1)]
    return robot(*links, *(joint(f'j{k}', f'link{k - 1}', f'link{k}', inside=limited(**each))
                           for k, each in enumerate(limits, 1)))


@pytest.mark.parametrize('xml, warnings', [
    (chain(*[{'effort': 200}] * 4), ['effort limit is 200 for all joints, likely a placeholder.*'
                                     'set effort_limit']),
    (chain(*[{'effort': e, 'velocity': 100} for e in (50, 50, 20, 10)]),
     ['velocity limit is 100 for all joints.*set velocity_limit']),
    (chain(*[{'effort': e} for e in (50, 50, 20, 10)], masses=(2.0, 42.9, 3.0, 2.0)),
     [r'link has 42\.9 kg, all others together have 7 kg: check its <mass>.*\(link2\)']),
    (chain(*[{'effort': e} for e in (50, 50, 20, 10)]), [])])
def test_numbers_that_nobody_measured_are_named(xml, warnings):
    found = RobotModel.from_urdf(xml).warnings
    assert len(found) == len(warnings) and all(map(re.search, warnings, found)), found


@pytest.mark.parametrize('motor, suggested', [
    ('motor_inertia="3e-5" gear_ratio="100"', 'suggest the parameter armature: 0.3 kg m^2'),
    ('motor_inertia="x" gear_ratio="100"', 'armature: nan'),
    ('gear_ratio="100"', "attribute 'gear_ratio' of <dynamics> is not known")])
def test_a_rotor_in_the_dynamics_of_a_joint_is_a_suggestion(motor, suggested):
    model = RobotModel.from_urdf(arm(elbow_inside=LIMIT + f'<dynamics {motor}/>'))
    assert len(model.warnings) == 1 and suggested in model.warnings[0]
    assert model.warnings[0].endswith('(elbow)')


def test_point_masses_and_frames_are_nothing_odd():
    zero = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
    point = f'<inertial><origin xyz="0.3 0 0"/><mass value="1"/>{zero}</inertial>'
    frame = link('tool', ''), joint('flange', 'forearm', 'tool', 'fixed', '', axis='0 0 0')
    assert RobotModel.from_urdf(arm(*frame, forearm=point)).warnings == ()


def test_an_inertial_of_the_base_is_nothing_odd():
    text = arm().replace('<link name="base">', '<link name="base">' + INERTIAL)
    assert RobotModel.from_urdf(text).warnings == ()


def test_what_dynamics_does_not_need_is_silent():
    shape = '<geometry><box size="1 1 1"/></geometry>'
    seen = f'<visual>{shape}<material name="red"/></visual><collision>{shape}</collision>'
    extra = ('<material name="red"><color rgba="1 0 0 1"/></material>'
             '<gazebo reference="forearm"><mu1>0.2</mu1></gazebo>'
             '<transmission name="t"><joint name="elbow"><hardwareInterface>e</hardwareInterface>'
             '</joint></transmission>'
             '<ros2_control name="c" type="system"><joint name="elbow"/></ros2_control>'
             '<!-- a comment --><?robot instruction?>')
    text = arm(extra, elbow_inside=LIMIT + '<safety_controller k_velocity="3"/><calibration/>',
               forearm=seen + INERTIAL)
    model = RobotModel.from_urdf('<?xml version="1.0" ?>\n<!-- xacro -->' + text)
    assert model.warnings == ()
    assert model.structure_key == RobotModel.from_urdf(arm()).structure_key


def test_one_line_for_the_same_oddity_of_many_joints():
    odd = LIMIT + '<dynamics K="7000"/>'
    links = [link(f'link{index}') for index in range(31)]
    joints = [joint(f'j{index}', f'link{index}', f'link{index + 1}', inside=odd)
              for index in range(30)]
    model = RobotModel.from_urdf(robot(*links, *joints))
    line, = (line for line in model.warnings if "'K'" in line)
    assert line.endswith('(j0, j1, j2 and 27 more)')


def test_warnings_are_bounded():
    model = RobotModel.from_urdf(arm(*(f'<odd{index}/>' for index in range(5000))))
    assert len(model.warnings) < 300
    assert model.warnings[-1] == '4800 further warnings are left out'
