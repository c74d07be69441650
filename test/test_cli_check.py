"""`robodyn check`: closed forms of what motors must hold, all mistakes at once, exit codes."""
import json
from pathlib import Path

from model_urdf import arm, gripper, INERTIAL, joint, link, robot
import numpy as np
import pytest
from test_model_defects import JOINTS, STRUCTURE, TEXT

from robodyn_ros.cli.main import FAILURE, main, SUCCESS, USER_MISTAKE
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.inspection.motors import findings, Motors
from robodyn_ros.inspection.urdf import read
from robodyn_ros.inspection.workspace import condition, gravity_load, largest_payload, sample
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot

OWN = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
G = 9.81
FEW = ['--poses', '300']
# what can be written into a file and is no XML of a robot, or a wrong one
BROKEN = {name: text for name, (text, _) in (TEXT | STRUCTURE | JOINTS).items()
          if isinstance(text, str) and text.isascii() and text.startswith('<')}


def rod(mass, length):
    """Return the inertial of a point mass at the end of a link along x."""
    return f'<inertial><origin xyz="{length} 0 0"/><mass value="{mass}"/></inertial>'


def limits(lower=-3, upper=3, effort=50):
    return f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="2"/>'


def pendulum(effort=50, lower=-3, upper=3, tip=''):
    """Return an arm of one joint about y: 2 kg at 0.5 m, a tip at 0.8 m."""
    return robot(link('base', ''), link('rod', rod(2, 0.5)), link('tip', ''),
                 joint('hinge', 'base', 'rod', inside=limits(lower, upper, effort), axis='0 1 0'),
                 joint('end', 'rod', 'tip', 'fixed', '', xyz='0.8 0 0'), tip)


def two_links(shoulder=100, elbow=100):
    """Return two joints about y: 3 kg at 0.4 m, which is the elbow, and 2 kg at 0.3 m from it."""
    return robot(link('base', ''), link('upper', rod(3, 0.4)), link('fore', rod(2, 0.3)),
                 joint('shoulder', 'base', 'upper', inside=limits(effort=shoulder), axis='0 1 0'),
                 joint('elbow', 'upper', 'fore', inside=limits(effort=elbow), axis='0 1 0',
                       xyz='0.4 0 0'))


def dynamics(text):
    return Dynamics(RobotModel.from_urdf(text))


@pytest.fixture
def check(tmp_path, capsys):
    """Return a function that checks a URDF text; it returns exit code, stdout and stderr."""
    def run(text, *options):
        path = tmp_path / 'arm.urdf'
        path.write_text(text, encoding='utf-8')
        code = main(['check', str(path), *FEW, *options])
        return code, *capsys.readouterr()
    return run


# --- closed forms ------------------------------------------------------------------------------

def test_worst_gravity_of_two_links_is_the_stretched_arm():
    dyn = dynamics(two_links())
    load = gravity_load(dyn, sample(dyn.model, 200, 1))
    expected = G * (3 * 0.4 + 2 * (0.4 + 0.3)), G * 2 * 0.3
    np.testing.assert_allclose(np.abs(load.torque), expected, rtol=1e-6)
    # both links horizontal
    angles = load.poses[0, 0], load.poses[0].sum()
    np.testing.assert_allclose(np.sin(angles), 0.0, atol=1e-3)
    assert np.sin(load.poses[1].sum()) == pytest.approx(0.0, abs=1e-3)


def test_share_of_overloaded_poses_of_a_pendulum():
    # |cos q| m g r above the limit, q even in -3 .. 3
    dyn = dynamics(pendulum(effort=0.5 * 2 * G * 0.5))
    poses = sample(dyn.model, 40_000, 2)
    over = (2 * np.pi / 3 + 2 * (3 - 2 * np.pi / 3)) / 6
    assert gravity_load(dyn, poses).over[0] == pytest.approx(over, abs=0.01)


def test_largest_payload_of_a_horizontal_pendulum():
    dyn = dynamics(pendulum())
    payload = largest_payload(dyn, 'tip', sample(dyn.model, 100, 3))
    assert payload.mass == pytest.approx((50 - 2 * G * 0.5) / (G * 0.8), rel=1e-6)
    assert payload.joint == 0
    assert np.sin(payload.pose[0]) == pytest.approx(0.0, abs=1e-3)
    # in a share p of the poses |cos q| is below c, and c has to be paid for
    c = np.quantile(np.abs(np.cos(sample(dyn.model, 100, 3)[:, 0])), 0.5, method='higher')
    assert payload.shares[50] == pytest.approx((50 / c - 2 * G * 0.5) / (G * 0.8), rel=1e-9)


def test_payload_where_gravity_alone_is_too_much():
    dyn = dynamics(pendulum(effort=5))
    payload = largest_payload(dyn, 'tip', sample(dyn.model, 100, 3))
    assert payload.mass == 0.0 and payload.joint == 0
    # within a range that is nearly upright it holds itself
    dyn = dynamics(pendulum(effort=5, lower=1.4, upper=1.7))
    payload = largest_payload(dyn, 'tip', sample(dyn.model, 100, 3))
    expected = (5 / np.abs(np.cos((1.4, 1.7))).max() - 2 * G * 0.5) / (G * 0.8)
    assert payload.mass == pytest.approx(expected, rel=1e-6)


def test_payload_agrees_with_the_dynamics_that_carry_it():
    model = RobotModel.from_urdf(OWN)
    payload = largest_payload(Dynamics(model), 'tool0', sample(model, 500, 0))
    held = np.abs(Dynamics(model.with_payload('tool0', payload.mass)).gravity(payload.pose))
    j = payload.joint
    assert held[j] == pytest.approx(model.effort_limit[j], rel=1e-9)
    assert (held <= model.effort_limit * (1.0 + 1e-9)).all()


def test_gravity_sideways_spares_a_vertical_axis():
    models = [RobotModel.from_urdf(arm(), gravity=g) for g in ((0, 0, -G), (-G, 0, 0))]
    upright, lying = (gravity_load(Dynamics(model), sample(model, 100, 0)) for model in models)
    assert upright.torque[0] == pytest.approx(0.0, abs=1e-9)
    # 2 kg at 0.1 m from the elbow, which turns it out of the axis
    assert abs(lying.torque[0]) == pytest.approx(2 * G * 0.1, rel=1e-6)


def test_condition_of_two_equal_sliders():
    slide = '<limit lower="0" upper="1" effort="9" velocity="1"/>'
    text = robot(link('base', ''), link('a', rod(3, 0)), link('b', rod(1, 0)),
                 joint('x', 'base', 'a', 'prismatic', slide, axis='1 0 0'),
                 joint('y', 'a', 'b', 'prismatic', slide, axis='0 1 0'))
    found = condition(dynamics(text), np.zeros((1, 2)))
    assert found.number == pytest.approx(4.0) and found.joint == 1


def test_unlimited_joints_are_sampled_over_a_turn():
    text = pendulum(lower='-1e308', upper='1e308')
    poses = sample(RobotModel.from_urdf(text), 1000, 0)
    assert np.ptp(poses) == pytest.approx(2 * np.pi, rel=0.01)
    assert (sample(RobotModel.from_urdf(text), 1000, 0) == poses).all()
    assert (sample(RobotModel.from_urdf(text), 1000, 1) != poses).any()


# --- findings -----------------------------------------------------------------------------------

def messages(text, *levels, **selection):
    """Return the findings of some levels as one text."""
    return '\n'.join(each.text for each in read_text(text, **selection).findings
                     if not levels or each.level in levels)


def read_text(text, **selection):
    return read(Robot(text, **selection))


def test_all_mistakes_are_reported_at_once():
    text = arm(link('hand', '<inertial><mass value="-2"/></inertial>'),
               joint('wrist', 'forearm', 'hand', kind='revolut'),
               shoulder_inside=limits(effort=-5), elbow_inside=limits(lower=2, upper=-2),
               forearm='<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="-1" '
               'ixy="0" ixz="0" iyz="0"/></inertial>')
    reading = read_text(text)
    assert reading.model is None
    assert len(reading.findings) == 5
    for words in ("'hand': mass -2", "'shoulder': effort limit -5", "'elbow': lower limit 2",
                  "type 'revolut'", "'forearm': inertia has a negative"):
        assert sum(words in each.text for each in reading.findings) == 1, words


@pytest.mark.parametrize('name', BROKEN)
def test_every_defect_is_a_finding(check, name):
    code, printed, _ = check(BROKEN[name])
    assert code == FAILURE and 'STOP' in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_several_mistakes_of_the_tree_and_of_inertias():
    tree = messages(arm(joint('j1', 'forarm', 'x'), joint('j2', 'forearm', 'hand')), 'stop')
    assert "'forarm' does not exist" in tree and "'hand' does not exist" in tree
    bad = ('<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="-1" ixy="0" ixz="0" '
           'iyz="0"/></inertial>')
    reading = read_text(arm(link('hand', bad), joint('wrist', 'forearm', 'hand'), forearm=bad))
    kinds = [each.kind for each in reading.findings if each.level == 'stop']
    assert kinds == ['inertia', 'inertia']


def test_limits_of_all_joints_are_in_one_message():
    zero = limits(effort=0).replace('velocity="2"', 'velocity="0"')
    found = [each for each in read_text(arm(shoulder_inside=zero, elbow_inside=zero)).findings
             if each.kind == 'limits']
    assert [each.level for each in found] == ['stop', 'warning']
    assert all("'shoulder', 'elbow'" in each.text for each in found)
    huge = messages(arm(shoulder_inside=limits(effort=1e9)), 'warning')
    assert 'protects nothing' in huge and "'shoulder'" in huge


def test_an_inertia_in_a_wrong_unit_is_named():
    big = ('<inertial><mass value="2"/><inertia ixx="9e3" iyy="9e3" izz="9e3" ixy="0" ixz="0" '
           'iyz="0"/></inertial>')
    text = messages(arm(forearm=big), 'warning')
    assert "'forearm'" in text and 'radius of gyration' in text and 'kg m^2' in text
    assert 'radius of gyration' not in messages(arm())


def test_limits_in_degrees_and_millimetres_are_named():
    degrees = '<limit lower="-170" upper="170" effort="50" velocity="180"/>'
    slide = '<limit lower="0" upper="40" effort="20" velocity="0.1"/>'
    text = arm(link('finger'), joint('grip', 'forearm', 'finger', 'prismatic', slide),
               shoulder_inside=degrees, elbow_inside=limits(-7, 7))
    found = messages(text, 'warning')
    assert "position limits beyond two turns at 'shoulder' (170): the unit of URDF is rad" in found
    assert "velocity limits above 60 rad/s at 'shoulder' (180): the unit of URDF is rad/s" in found
    assert "position limits beyond 10 m at 'grip' (40): the unit of URDF is m" in found
    # also beside a mistake of the tree, and not where 1e308 stands for none
    broken = text.replace('<parent link="forearm"/>', '<parent link="x"/>')
    assert "'shoulder' (170)" in messages(broken)
    assert not messages(arm(elbow_inside=limits('-1e308', '1e308')), 'warning')


def test_a_centre_of_mass_in_millimetres_is_named():
    found = messages(arm(forearm=INERTIAL.replace('0 0 0.1', '0 0 150')), 'warning')
    assert "link 'forearm': its centre of mass is 150 m away" in found and 'not mm' in found
    assert 'centre of mass' not in messages(pendulum()) + messages(two_links())


def test_unused_soft_limits_are_named():
    def safety(lower, upper):
        return limits(-3, 3) + (f'<safety_controller k_velocity="3" k_position="9" '
                                f'soft_lower_limit="{lower}" soft_upper_limit="{upper}"/>')

    found = messages(arm(shoulder_inside=safety(-2.8, 3.1), elbow_inside=safety(-3, 3)), 'warning')
    assert "soft limits of <safety_controller> at 'shoulder' (-2.8 .. 3.1 within -3 .. 3)" in found
    assert "'elbow'" not in found
    unlimited = limits() + '<safety_controller k_velocity="3"/>'
    assert not messages(arm(elbow_inside=unlimited), 'warning')


def test_what_followers_do_to_limits_is_noted():
    def follower(multiplier, offset, inside):
        return arm(link('finger'), joint('follower', 'forearm', 'finger', inside=inside + (
            f'<mimic joint="elbow" multiplier="{multiplier}" offset="{offset}"/>')),
            elbow_inside=limits(-2, 2))

    inside = '<limit lower="-9" upper="11" effort="1" velocity="1"/>'
    narrow = messages(follower(10, 1, inside), 'note')
    assert ("lower the limits of their leaders: 'follower' from 'elbow' (position -2 .. 2 to "
            '-1 .. 1, velocity 2 to 0.1, effort 50 to 10)') in narrow
    assert 'never reach' not in narrow
    wide = messages(follower(-0.5, 0.2, limits(-3, 3, effort=100)), 'note')
    assert "never reach: 'follower' (-0.8 .. 1.2 of -3 .. 3)" in wide
    assert 'lower the limits' not in wide
    equal = messages(follower(1, 0, limits(-2, 2)), 'note', 'warning')
    for words in ('lower the limits', 'never reach', 'no range'):
        assert words not in equal
    # meets the range of the leader in one point
    stuck = messages(follower(1, 0, limits(2, 5)), 'warning')
    assert "leave no range to 'elbow'" in stuck


def test_a_sound_arm_gets_no_warning():
    assert not messages(OWN.read_text(encoding='utf-8'), 'warning', 'stop')
    # nor does one whose base has a mass, as nearly every URDF
    assert not messages(arm().replace('<link name="base">', '<link name="base">' + INERTIAL),
                        'warning', 'stop')


def test_roles_of_all_joints():
    reading = read_text(gripper(), locked=('elbow:0.5',))
    assert reading.roles == {
        'shoulder': 'moves', 'elbow': 'locked at 0.5', 'wrist': 'fixed', 'left_finger': 'moves',
        'right_finger': 'mimics left_finger * 0.5 + 0.01'}
    reading = read_text(gripper(), base='upper_arm', tip='hand')
    assert reading.roles['shoulder'] == 'left out'
    notes = '\n'.join(each.text for each in reading.findings if each.level == 'note')
    assert 'left_finger' in notes and 'locked at' in notes and 'shoulder' in notes


def test_an_arm_that_cannot_be_held_is_a_stop():
    for text, level in ((pendulum(effort=1, lower=-0.5, upper=0.5), 'stop'),
                        (pendulum(effort=9), 'warning')):
        dyn = dynamics(text)
        found = findings(dyn.model, Motors.examine(dyn, 'tip', 300, 0))
        first, = (each for each in found if 'gravity alone' in each.text)
        assert first.level == level and "'hinge'" in first.text and '9.81 N m' in first.text


def test_a_payload_that_a_finger_limits_comes_with_a_hint():
    def note(text, tip=None):
        dyn = dynamics(text)
        motors = Motors.examine(dyn, tip or dyn.model.tip, 100, 0)
        return '\n'.join(each.text for each in findings(dyn.model, motors)
                         if each.kind == 'payload')

    # a gripper under gravity along its fingers' axis
    weak = '<limit lower="0" upper="0.04" effort="{}" velocity="0.2"/>'
    parts = [link('left'), link('right')] + [
        joint(f'{side}_finger', 'forearm', side, 'prismatic', weak.format(20), axis='0 0 1')
        for side in ('left', 'right')]
    printed = note(arm(*parts))
    assert "Joint 'right_finger' is one of a gripper" in printed and '--tip' in printed
    assert '--tip' not in note(arm(*parts), 'forearm') and '--tip' not in note(two_links())


def test_joints_without_rotors_come_with_what_to_set():
    def warning(text):
        dyn = dynamics(text)
        return [each.text for each in findings(dyn.model, Motors.examine(
            dyn, dyn.model.tip, 100, 0)) if each.kind == 'armature' and each.level == 'warning']

    (text,) = warning(OWN.read_text(encoding='utf-8'))
    assert "'joint7' (12 N m on 0.00025, armature about 0.024)" in text
    assert not warning(pendulum())


# --- the command -------------------------------------------------------------------------------

def test_our_arm_passes(capsys):
    assert main(['check', str(OWN), *FEW]) == SUCCESS
    printed = capsys.readouterr().out
    for words in ('no finding prevents a start', 'kg in every pose', 'us per call'):
        assert words in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_what_stops_a_start_is_the_exit_code(check):
    code, printed, _ = check(arm(elbow_inside=limits(effort=0)))
    assert code == FAILURE and '1 finding prevents a start' in printed
    code, printed, _ = check(arm(joint('j', 'forearm', 'nowhere')))
    assert code == FAILURE and 'Traceback' not in printed


@pytest.mark.parametrize('options, words', [
    (['--tip', 'forarm'], "did you mean 'forearm'"), (['--lock', 'elbo:0'], "'elbow'"),
    (['--lock', 'elbow'], 'joint:position'), (['--urdf', 'x.urdf'], 'two URDFs')])
def test_a_mistake_in_the_options_is_no_finding(check, options, words):
    code, _, printed = check(arm(), *options)
    assert code == USER_MISTAKE and words in printed


def test_a_missing_file_is_a_mistake(capsys):
    assert main(['check', 'nowhere.urdf']) == USER_MISTAKE
    assert "'nowhere.urdf'" in capsys.readouterr().err


def test_fixed_joints_are_not_suggested_for_locking(check):
    code, _, printed = check(gripper(), '--lock', 'wrst:0')
    assert code == USER_MISTAKE and 'wrist' not in printed and 'elbow' in printed


@pytest.mark.parametrize('text, code', [
    (pendulum(), SUCCESS), (pendulum(effort=0), FAILURE), ('<robot', FAILURE)])
def test_json_is_one_document_with_stable_keys(check, text, code):
    found, printed, _ = check(text, '--json')
    document = json.loads(printed, parse_constant=pytest.fail)
    assert found == code and document['passed'] == (code == SUCCESS)
    assert set(document) == {'urdf', 'robot', 'passed', 'findings', 'roles', 'joints', 'workspace',
                             'payload', 'mass_matrix', 'loop', 'live'}
    assert all(set(each) == {'level', 'kind', 'text'} for each in document['findings'])
    if code == SUCCESS:
        hinge, = document['joints']
        assert hinge['effort_unit'] == 'N m' and hinge['gravity'] == pytest.approx(
            np.copysign(G, hinge['gravity']))
        assert document['payload']['joint'] == 'hinge'
