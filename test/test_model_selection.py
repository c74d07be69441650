"""Base, tip, locked and mimicking joints: which joints move, and where the mass of others goes."""
from model_urdf import arm, gripper, INERTIAL, joint, LIMIT, link, robot
import numpy as np
import pytest
from tolerance import assert_close

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.inertia import parallel_axis

ROUNDING = 1e-14  # a product or two
BENT = '<limit lower="0.5" upper="2" effort="1" velocity="1"/>'
BRANCHES = robot(
    link('world', ''), link('pelvis'), link('left'), link('right'), link('foot'), link('toe'),
    joint('rail', 'world', 'pelvis', kind='floating', inside=''),
    joint('to_right', 'pelvis', 'right', axis='0 1 0'),
    joint('to_left', 'pelvis', 'left', axis='1 0 0'),
    joint('to_foot', 'left', 'foot', inside=BENT),
    joint('to_toe', 'foot', 'toe', kind='continuous', inside=''))


def coupled(*factors, kind='revolute', inside=LIMIT):
    """Return links and joints that each mimic the joint before by (multiplier, offset)."""
    parts = []
    above = 'elbow', 'forearm'
    for index, (multiplier, offset) in enumerate(factors):
        follow = f'<mimic joint="{above[0]}" multiplier="{multiplier}" offset="{offset}"/>'
        name, child = f'follower{index}', f'finger{index}'
        parts += [link(child), joint(name, above[1], child, kind, inside + follow)]
        above = name, child
    return parts


def test_order_is_depth_first_in_document_order():
    model = RobotModel.from_urdf(BRANCHES, base='pelvis')
    assert model.joint_names == ('to_right', 'to_left', 'to_foot', 'to_toe')
    assert model.body_names == ('right', 'left', 'foot', 'toe')
    assert model.parent.tolist() == [-1, -1, 1, 2]
    assert model.continuous.tolist() == [False, False, False, True]
    assert (model.lower[3], model.upper[3]) == (-np.inf, np.inf)
    assert (model.effort_limit[3], model.velocity_limit[3]) == (np.inf, np.inf)


def test_the_root_is_found_wherever_it_stands():
    shuffled = robot(link('forearm'), link('upper_arm'), link('base', ''),
                     joint('elbow', 'upper_arm', 'forearm', axis='0 1 0'),
                     joint('shoulder', 'base', 'upper_arm'))
    model = RobotModel.from_urdf(shuffled)
    assert model.base_link == 'base'
    assert model.joint_names == ('shoulder', 'elbow')


def test_base_excludes_the_links_above_and_beside_it():
    model = RobotModel.from_urdf(BRANCHES, base='left')
    assert model.joint_names == ('to_foot', 'to_toe')
    assert set(model.links) == {'left', 'foot', 'toe'}
    assert model.base_mass == 2.0
    assert any("3 links above or beside base link 'left'" in line for line in model.warnings)


def test_tip_locks_the_rest_and_keeps_its_mass():
    whole = RobotModel.from_urdf(BRANCHES, base='pelvis')
    model = RobotModel.from_urdf(BRANCHES, base='pelvis', tip='left', locked={'to_toe': 0.4})
    assert model.joint_names == ('to_left',)
    assert model.total_mass == whole.total_mass
    assert model.base_mass == 4.0
    locked, = (line for line in model.warnings if line.startswith('locked joints'))
    assert locked == 'locked joints: to_toe at 0.4, to_right at 0, to_foot at 0.5'


def test_a_floating_joint_may_be_locked():
    model = RobotModel.from_urdf(BRANCHES, locked={'rail': 0})
    assert model.base_link == 'world'
    assert model.links['pelvis'].body == -1
    with pytest.raises(ModelError, match="'rail' is floating.*not at 0.1"):
        RobotModel.from_urdf(BRANCHES, locked={'rail': 0.1})


@pytest.mark.parametrize('kind, pose, shift', [
    ('revolute', [[np.cos(0.7), -np.sin(0.7), 0], [np.sin(0.7), np.cos(0.7), 0], [0, 0, 1]], 0),
    ('prismatic', np.eye(3), 0.7)])
def test_locked_joint_is_lumped_at_its_position(kind, pose, shift):
    tool = INERTIAL.replace('0 0 0.1', '0.2 0 0')
    text = arm(link('hand', tool), joint('wrist', 'forearm', 'hand', kind))
    model = RobotModel.from_urdf(text, locked={'wrist': 0.7})
    com = np.array(pose) @ [0.2, 0, 0] + [0, 0, 0.3 + shift]
    own = np.diag([0.02, 0.02, 0.01])
    expected = parallel_axis(own, 2, [0, 0, 0.1]) + parallel_axis(own, 2, com)
    assert model.joint_names == ('shoulder', 'elbow')
    assert_close(model.links['hand'].rotation, np.array(pose, dtype=float), ROUNDING)
    assert_close(model.first_moment[1], 2 * com + [0, 0, 0.2], ROUNDING)
    assert_close(model.inertia[1], expected, ROUNDING)


def test_locked_joint_gives_the_same_numbers_as_a_fixed_one():
    parts = link('hand'), joint('wrist', 'forearm', 'hand', rpy='0.3 -0.2 1', axis='0 3 4')
    fixed = (parts[0], parts[1].replace('revolute', 'fixed'))
    locked = RobotModel.from_urdf(arm(*parts), locked={'wrist': 0.0})
    assert locked.structure_key == RobotModel.from_urdf(arm(*fixed)).structure_key


def test_follower_is_a_body_but_no_coordinate():
    model = RobotModel.from_urdf(gripper())
    assert model.joint_names == ('shoulder', 'elbow', 'left_finger')
    assert model.body_joints == ('shoulder', 'elbow', 'left_finger', 'right_finger')
    assert model.coordinate.tolist() == [0, 1, 2, 2]
    assert model.multiplier.tolist() == [1, 1, 1, 0.5]
    assert model.offset.tolist() == [0, 0, 0, 0.01]
    assert model.prismatic.tolist() == [False, False, True, True]


def test_chains_of_mimics_multiply():
    model = RobotModel.from_urdf(arm(*coupled((0.5, 0.1), (-0.5, 0.2))))
    assert model.nv == 2
    assert model.coordinate.tolist() == [0, 1, 1, 1]
    assert model.multiplier.tolist() == [1, 1, 0.5, -0.25]
    assert_close(model.offset, [0, 0, 0.1, -0.5 * 0.1 + 0.2], ROUNDING)


def test_a_follower_may_come_before_its_leader():
    early = '<mimic joint="elbow" multiplier="0.5"/>'
    model = RobotModel.from_urdf(arm(shoulder_inside=LIMIT + early))
    assert model.joint_names == ('elbow',)
    assert model.body_joints == ('shoulder', 'elbow')
    assert model.multiplier.tolist() == [0.5, 1]


def test_followers_add_friction_and_narrow_limits():
    dynamics = '<dynamics damping="2" friction="3"/>'
    narrow = '<limit lower="-1" upper="3" effort="9" velocity="9"/>'
    parts = coupled((-2, 0.5), inside=narrow + dynamics)
    model = RobotModel.from_urdf(arm(*parts, elbow_inside=LIMIT + dynamics))
    assert model.damping.tolist() == [0, 2 + 4 * 2]
    assert model.friction.tolist() == [0, 3 + 2 * 3]
    assert (model.lower[1], model.upper[1]) == ((3 - 0.5) / -2, (-1 - 0.5) / -2)


@pytest.mark.parametrize('multiplier', [10, -10])
def test_followers_lower_the_velocity_and_effort_limits_of_their_leader(multiplier):
    leader = '<limit lower="-2" upper="2" effort="50" velocity="5"/>'
    follower = '<limit lower="-99" upper="99" effort="1" velocity="1"/>'
    parts = coupled((multiplier, 0.3), inside=follower)
    model = RobotModel.from_urdf(arm(*parts, elbow_inside=leader))
    # at 0.1 rad/s the follower turns with 1 rad/s; of 10 N m at the leader it gets 1 N m
    assert model.velocity_limit.tolist() == [3, 0.1]
    assert model.effort_limit.tolist() == [50, 10]
    # by way of another follower: 1 / (0.5 * 10) of the limits in velocity
    chained = RobotModel.from_urdf(
        arm(*coupled((0.5, 0), (multiplier, 0), inside=follower), elbow_inside=leader))
    assert chained.velocity_limit[1] == 0.2
    assert chained.effort_limit[1] == 0.5


def test_followers_with_more_room_or_no_motor_leave_the_limits_as_they_are():
    leader = '<limit lower="-2" upper="2" effort="50" velocity="5"/>'
    for limit in ('effort="500" velocity="50"', 'effort="0" velocity="0"'):
        parts = coupled((0.5, 0), inside=f'<limit lower="-2" upper="2" {limit}/>')
        model = RobotModel.from_urdf(arm(*parts, elbow_inside=leader))
        assert (model.velocity_limit[1], model.effort_limit[1]) == (5, 50)
        assert any('effort limit 0 of a joint that mimics another is taken as none' in line
                   for line in model.warnings) == ('"0"' in limit)
    still = RobotModel.from_urdf(arm(*coupled((0, 0), inside=LIMIT), elbow_inside=leader))
    assert (still.velocity_limit[1], still.effort_limit[1]) == (5, 50)


@pytest.mark.parametrize('multiplier, kind, turns', [
    (2, 'continuous', True), (-1, 'continuous', True), (0.5, 'continuous', False),
    (1, 'revolute', False)])
def test_a_full_turn_counts_only_if_the_followers_agree(multiplier, kind, turns):
    parts = coupled((multiplier, 0), kind=kind, inside=LIMIT if kind == 'revolute' else '')
    text = arm(*parts).replace('name="elbow" type="revolute"', 'name="elbow" type="continuous"')
    model = RobotModel.from_urdf(text)
    assert bool(model.continuous[1]) is turns
    assert np.isfinite(model.lower[1]) == (kind == 'revolute')


def test_followers_of_a_locked_joint_are_locked_with_it():
    model = RobotModel.from_urdf(gripper(), locked={'left_finger': 0.04})
    assert model.joint_names == model.body_joints == ('shoulder', 'elbow')
    wrist = model.links['hand']
    right = wrist.rotation @ [0, -(0.5 * 0.04 + 0.01), 0.3] + wrist.translation
    assert_close(model.links['right'].translation, right, ROUNDING)


def test_a_follower_beside_the_chain_still_follows():
    # a parallel linkage outside the chain moves with its leader and must not be frozen
    beside = link('bar'), joint('linkage', 'base', 'bar', inside=LIMIT + '<mimic joint="elbow"/>')
    model = RobotModel.from_urdf(arm(*beside), tip='forearm')
    assert model.joint_names == ('shoulder', 'elbow')
    assert model.body_joints == ('shoulder', 'elbow', 'linkage')


def test_a_follower_whose_leader_is_left_out_is_locked():
    model = RobotModel.from_urdf(
        gripper(), base='hand', locked={'shoulder': 1.0}, tip='left')
    assert model.joint_names == ('left_finger',)
    led = link('x'), joint('led', 'forearm', 'x', inside=LIMIT + '<mimic joint="shoulder"/>')
    model = RobotModel.from_urdf(arm(*led), base='upper_arm')
    assert model.body_joints == ('elbow',)
    assert any("mimics 'shoulder', which does not move (led)" in line for line in model.warnings)


@pytest.mark.parametrize('factors, kind, locked, message', [
    ([(1e30, 0)] * 11, 'revolute', None, 'multiplies up to inf'),
    ([(1e30, 0)] * 10, 'prismatic', {'elbow': 1.0}, 'inertia, with all .* too large'),
    ([(1e30, 0)] * 6, 'revolute', None, 'add up to more than a number can hold')])
def test_absurd_multipliers(factors, kind, locked, message):
    parts = coupled(*factors, kind=kind, inside=LIMIT + '<dynamics damping="1"/>')
    with pytest.raises(ModelError, match=message):
        RobotModel.from_urdf(arm(*parts), locked=locked)


def test_followers_that_stand_outside_their_limits():
    still = RobotModel.from_urdf(arm(*coupled((0, 5))))
    assert any('multiplier of <mimic> is 0' in line for line in still.warnings)
    locked = RobotModel.from_urdf(arm(*coupled((2, 0))), locked={'elbow': 1.5})
    assert any('locked at 3, outside its limits -2 .. 2' in line for line in locked.warnings)


def test_eight_cubes_on_fixed_joints_are_one_cube():
    side, mass = 0.4, 3.0
    small = mass / 8 * (side / 2) ** 2 / 6
    cube = (f'<inertial><mass value="{mass / 8}"/><inertia ixx="{small}" ixy="0" ixz="0" '
            f'iyy="{small}" iyz="0" izz="{small}"/></inertial>')
    corners = [(x, y, z) for x in (1, 3) for y in (1, 3) for z in (1, 3)]
    parts = [link('ground', ''), link('corner', ''), joint('hinge', 'ground', 'corner')]
    for index, corner in enumerate(corners):
        xyz = ' '.join(str(step * side / 4) for step in corner)
        parts += [link(f'cube{index}', cube),
                  joint(f'glue{index}', 'corner', f'cube{index}', 'fixed', '', xyz=xyz,
                        rpy=f'{index} 0 {-index}')]
    model = RobotModel.from_urdf(robot(*parts))
    expected = mass * side**2 * (np.eye(3) * 11 / 12 - np.full((3, 3), 1 / 4))
    assert_close(model.inertia[0], expected, ROUNDING)
    assert_close(model.first_moment[0], np.full(3, mass * side / 2), ROUNDING)


MOUNTED = """<robot name="mounted"><link name="world"/><link name="torso"/><link name="arm_base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.002" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lift" type="{}"><parent link="world"/><child link="torso"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1" effort="100" velocity="1"/></joint>
  <joint name="mount" type="fixed"><parent link="torso"/><child link="arm_base"/>
    <origin xyz="0 0 0.7" rpy="1.5707963267948966 0 0"/></joint>
  <joint name="joint1" type="revolute"><parent link="arm_base"/><child link="upper"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="20" velocity="2"/></joint></robot>"""


@pytest.mark.parametrize('kind', ['fixed', 'prismatic'])
def test_a_base_below_a_tilted_mount_has_the_gravity_of_the_root(kind):
    whole = Dynamics(RobotModel.from_urdf(MOUNTED.format('fixed')))
    arm = RobotModel.from_urdf(MOUNTED.format(kind), base='arm_base')
    torque, = Dynamics(arm).gravity(np.zeros(1))
    assert torque == pytest.approx(whole.gravity(np.zeros(1))[0]) == pytest.approx(3.924)
    np.testing.assert_allclose(arm.gravity, [0.0, -9.81, 0.0], atol=1e-12)
    assert any("base link 'arm_base' is tilted" in each for each in arm.warnings)
    assert any('standing at 0 (lift)' in each for each in arm.warnings) == (kind == 'prismatic')
    # a gravity of its own is in the base frame
    own = RobotModel.from_urdf(MOUNTED.format(kind), (0.0, 0.0, -3.7), base='arm_base')
    np.testing.assert_array_equal(own.gravity, [0.0, 0.0, -3.7])
