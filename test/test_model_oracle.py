"""
The arrays of the model against Pinocchio, which reads the same URDF with its own parser.

Both add the same few products in another order: differences are some 1e-16 of the largest term.
Inertias are compared about the body origin, where no cancellation enters, so the size of m c^2
bounds them. Pinocchio turns rpy into a quaternion and back, which costs a few more roundings.
"""
import numpy as np
import oracle
import pytest
from robodyn_ros.model import RobotModel
from tolerance import assert_close

pin = oracle.pin
FILES = oracle.robot_files()
ROUNDING = 1e-12
ROBOTS = ('panda', 'ur5_robot', 'ur10_robot', 'z1', 'xarm7', 'kinova', 'baxter', 'pr2', 'tiago',
          'tiago_pro', 'talos_full_v2', 'talos_left_arm', 'romeo_small', 'icub', 'go2',
          'anymal-kinova', 'allegro_right_hand', 'so101', 'centauro', 'double_pendulum_continuous',
          'g1_29dof_with_hand_rev_1_0', 'simple_humanoid', 'human')


@pytest.fixture(scope='module', params=ROBOTS)
def pair(request):
    if request.param not in FILES:
        pytest.skip('example_robot_data is not installed, or lacks this robot')
    path = FILES[request.param]
    return RobotModel.from_urdf(path), pin.buildModelFromUrdf(str(path))


def test_the_same_joints_move(pair):
    model, theirs = pair
    assert model.nb == theirs.nv
    assert sorted(model.body_joints) == sorted(list(theirs.names)[1:])
    followers = model.nb - model.nv
    assert followers == sum(name not in model.joint_names for name in model.body_joints)


def test_mass(pair):
    model, theirs = pair
    assert_close(model.mass.sum(), pin.computeTotalMass(theirs), ROUNDING)
    assert_close(model.total_mass, sum(body.mass for body in theirs.inertias), ROUNDING)


def test_each_body_is_lumped_alike(pair):
    model, theirs = pair
    for body, name in enumerate(model.body_joints):
        spatial = theirs.inertias[theirs.getJointId(name)].matrix()
        cross = spatial[3:, :3]
        first_moment = np.array([cross[2, 1], cross[0, 2], cross[1, 0]])
        size = np.max(np.abs(spatial))
        assert_close(model.mass[body], spatial[0, 0], ROUNDING, what=f'mass moved by {name}')
        assert_close(model.first_moment[body], first_moment, ROUNDING, size, f'moment at {name}')
        assert_close(model.inertia[body], spatial[3:, 3:], ROUNDING, size, f'inertia at {name}')


def test_joint_frames(pair):
    model, theirs = pair
    for body, name in enumerate(model.body_joints):
        joint = theirs.getJointId(name)
        above = model.parent[body]
        parent = theirs.names[theirs.parents[joint]]
        assert (model.body_joints[above] if above >= 0 else 'universe') == parent
        place = theirs.jointPlacements[joint]
        assert_close(model.rotation[body], place.rotation, ROUNDING, what=f'rotation of {name}')
        assert_close(model.translation[body], place.translation, ROUNDING, 1.0, f'at {name}')


def test_link_frames(pair):
    model, theirs = pair
    for name, frame in model.links.items():
        other = theirs.frames[theirs.getFrameId(name, pin.FrameType.BODY)]
        carrier = model.body_joints[frame.body] if frame.body >= 0 else 'universe'
        assert carrier == theirs.names[other.parentJoint]
        assert_close(frame.rotation, other.placement.rotation, ROUNDING, what=f'axes of {name}')
        assert_close(frame.translation, other.placement.translation, ROUNDING, 1.0, name)


def test_limits_and_friction(pair):
    model, theirs = pair
    for index, name in enumerate(model.joint_names):
        joint = theirs.joints[theirs.getJointId(name)]
        velocity = joint.idx_v
        assert bool(model.continuous[index]) == (joint.nq == 2)
        if not model.continuous[index] and model.nb == model.nv:
            limits = theirs.lowerPositionLimit, theirs.upperPositionLimit
            assert (model.lower[index], model.upper[index]) == tuple(
                limit[joint.idx_q] for limit in limits)
        if model.nb == model.nv:
            assert model.damping[index] == theirs.damping[velocity]
        assert model.velocity_limit[index] == theirs.velocityLimit[velocity]
        assert model.effort_limit[index] == theirs.effortLimit[velocity]
