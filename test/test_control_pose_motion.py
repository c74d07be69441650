"""Motion of a link to a pose: of the reference, and of the arm that follows it."""

from closed_loop import arm, BENT, MODEL, STRETCHED
from design import change_settings, settings_of
import numpy as np
import pytest
from robodyn_ros.control import ArmController, Mode, Term
from robodyn_ros.control.settings import CartesianSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ModelError, ParameterError, StateError
from scipy.spatial.transform import Rotation

LINK = 'tool0'
SETTINGS = CartesianSettings()
ACCELERATION = 5.0 * MODEL.velocity_limit
LAWS = ('computed_torque', 'feedforward_pd', 'joint_impedance', 'cartesian_impedance',
        'operational_space')


@pytest.fixture(scope='module')
def dyn():
    return Dynamics(MODEL)


class Way:
    """The reference of an arm that follows it, and all that it went through."""

    def __init__(self, dyn, q, period=1e-3):
        self.dyn, self.period, self.now = dyn, period, 0.0
        self.control = ArmController(dyn, settings_of(cartesian=SETTINGS))
        self.reference, self.rows, self.outcome = self.control.reference, [], ''
        self.control.activate(self.now, q, 0.0 * q)
        self.run(0.2)
        assert self.control.mode is Mode.HOLD
        self.rows.clear()

    def aim(self, pose):
        self.control.motions.reach(pose[:3, 3], quaternion(pose))

    def run(self, seconds=20.0, measured=None):
        """Follow the reference, or stay where the arm is held, until the motion has ended."""
        for _ in range(round(seconds / self.period)):
            reaching = self.control.mode is Mode.REACH
            self.now += self.period
            q, qd = self.reference.q.copy(), self.reference.qd.copy()
            self.control.update(self.now, *((q, qd) if measured is None
                                            else (measured, 0.0 * measured)))
            self.rows.append([each.copy() for each in self.reference.arrays[:3]])
            self.outcome = self.control.message if self.control.mode is not Mode.REACH else ''
            if reaching and self.outcome:
                break
        return self

    def column(self, index):
        return np.array([row[index] for row in self.rows])

    @property
    def pose(self):
        return self.dyn.forward_kinematics(self.reference.q, LINK)

    @property
    def twists(self):
        return np.array([self.dyn.jacobian(q, LINK) @ qd for q, qd, _ in self.rows])

    def check_limits(self, excess=1.1):
        q, qd, qdd = (self.column(index) for index in range(3))
        assert np.all(q >= MODEL.lower) and np.all(q <= MODEL.upper)
        assert np.all(np.abs(qd) <= MODEL.velocity_limit * 1.01)
        assert np.all(np.abs(qdd) <= ACCELERATION * 1.01)
        # no step in velocity: positions follow from velocities, and those from accelerations
        assert np.abs(np.diff(qd, axis=0)).max() <= 1.01 * self.period * np.abs(qdd).max()
        linear, angular = (np.linalg.norm(part, axis=1).max()
                           for part in np.split(self.twists, 2, axis=1))
        limit = SETTINGS.velocity_limit
        assert linear <= excess * limit[0] and angular <= excess * limit[1]


def pose_of(dyn, q):
    return dyn.forward_kinematics(np.array(q), LINK)


def near(seed, spread=0.5):
    change = np.random.default_rng(seed).uniform(-spread, spread, 7)
    return np.clip(BENT + change, MODEL.lower + 0.2, MODEL.upper - 0.2)


@pytest.mark.parametrize('period', [1e-3, 5e-3])
@pytest.mark.parametrize('seed', range(4))
def test_a_pose_is_reached_within_all_limits(dyn, seed, period):
    way = Way(dyn, BENT, period=period)
    target = pose_of(dyn, near(seed))
    way.aim(target)
    assert way.run().outcome == 'the target pose is reached'
    assert np.abs(way.pose - target).max() < 2e-5
    way.check_limits()
    # straight: the link deviates little from the line
    start, line = pose_of(dyn, BENT)[:3, 3], target[:3, 3] - pose_of(dyn, BENT)[:3, 3]
    points = np.array([pose_of(dyn, q)[:3, 3] for q in way.column(0)[::20]]) - start
    beside = points - np.outer(points @ line, line) / (line @ line)
    assert np.linalg.norm(beside, axis=1).max() < 0.1 * np.linalg.norm(line) + 0.005


def test_it_begins_and_ends_smoothly(dyn):
    way = Way(dyn, BENT)
    way.aim(pose_of(dyn, near(0)))
    way.run()
    qd, qdd = way.column(1), way.column(2)
    # from cycle to cycle, an acceleration changes by a fraction of the largest
    assert np.abs(np.diff(qdd, axis=0)).max() < 0.25 * np.abs(qdd).max()
    assert np.abs(qd[-1]).max() < 3e-4 and np.abs(qdd[-1]).max() < 5e-3


def test_targets_at_100_hz_are_followed_smoothly(dyn):
    way, start = Way(dyn, BENT), pose_of(dyn, BENT)
    behind = []
    for k in range(400):
        t = 0.01 * k
        target = start.copy()
        target[:3, 3] += 0.08 * np.array([np.cos(1.5 * t) - 1, np.sin(1.5 * t), 0.0])
        target[:3, :3] = Rotation.from_rotvec([0, 0, 0.3 * np.sin(1.5 * t)]).as_matrix() @ (
            start[:3, :3])
        way.aim(target)
        way.run(0.01)
        behind.append(np.linalg.norm(way.pose[:3, 3] - target[:3, 3]))
    way.check_limits()
    twists = way.twists
    changes = np.linalg.norm(np.diff(twists[:, :3], axis=0), axis=1) / way.period
    # the limit is on J qdd; what velocities cause comes on top
    assert changes.max() < 1.6 * SETTINGS.acceleration_limit[0]
    # a source at 0.12 m/s is followed by its speed times what it takes to settle
    assert max(behind[50:]) < 0.03
    assert way.run().outcome == 'the target pose is reached'


def test_a_new_target_is_taken_up_from_the_motion_under_way(dyn):
    way = Way(dyn, BENT)
    way.aim(pose_of(dyn, near(1)))
    way.run(0.6)
    way.aim(pose_of(dyn, near(2)))
    assert way.run().outcome == 'the target pose is reached'
    way.check_limits()


def test_what_is_out_of_reach_is_approached(dyn):
    way, target = Way(dyn, BENT), pose_of(dyn, BENT)
    target[:3, 3] += [2.0, 0.0, 0.0]
    way.aim(target)
    assert 'tool0 is out of reach: the reference stops' in way.run().outcome
    left = np.linalg.norm(way.pose[:3, 3] - target[:3, 3])
    assert f'{1e3 * left:.3g} mm' in way.outcome
    # stretched out towards it: there is not much more reach
    far = max(np.linalg.norm(pose_of(dyn, q)[:3, 3] - target[:3, 3]) * -1.0 for q in (
        np.random.default_rng(0).uniform(MODEL.lower, MODEL.upper, (3000, 7))))
    assert left < -far + 0.02
    way.check_limits(2.0)


def test_a_stretched_arm_finds_its_way_inward(dyn):
    way, target = Way(dyn, STRETCHED), pose_of(dyn, STRETCHED)
    target[:3, 3] *= 0.8
    way.aim(target)
    assert way.run().outcome == 'the target pose is reached'
    way.check_limits(2.0)


@pytest.mark.parametrize('seed', range(3))
def test_limits_of_joints_are_kept_on_the_way_to_their_edge(dyn, seed):
    rng = np.random.default_rng(seed)
    # every joint near one of its limits
    goal = np.where(rng.random(7) < 0.5, MODEL.lower + 0.02, MODEL.upper - 0.02)
    way = Way(dyn, BENT)
    way.aim(pose_of(dyn, goal))
    assert way.run(30.0).outcome
    way.check_limits(2.0)


def test_the_reference_waits_for_an_arm_that_is_held_back(dyn):
    way, start = Way(dyn, BENT), pose_of(dyn, BENT)
    way.aim(pose_of(dyn, near(1, 0.9)))
    way.run(4.0, measured=BENT)
    gone = np.linalg.norm(way.pose[:3, 3] - start[:3, 3])
    turned = Rotation.from_matrix(way.pose[:3, :3] @ start[:3, :3].T).magnitude()
    assert not way.outcome and np.abs(way.reference.qd).max() < 1e-2
    linear, angular = SETTINGS.max_tracking_error
    assert 0.9 < max(gone / linear, turned / angular) < 1.1
    assert way.run().outcome == 'the target pose is reached'  # once it is released


@pytest.mark.parametrize('given, words', [
    ({'velocity_limit': (0.0, 1.0)}, 'number 1 of 2, is 0.0: the least allowed is 0.001'),
    ({'max_tracking_error': (1.0,)}, 'give two numbers, linear then angular'),
    ({'acceleration_limit': (1.0, np.inf)}, 'number 2 of 2, is inf: it must be finite')])
def test_settings_that_make_no_sense_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        CartesianSettings(**given)


# --- under control ------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def loop():
    return arm(settings=settings_of(activation_time=0.05))


def quaternion(pose):
    return Rotation.from_matrix(pose[:3, :3]).as_quat()


def command_pose(loop, pose):
    loop.control.motions.reach(pose[:3, 3], quaternion(pose))


@pytest.mark.parametrize('law', LAWS)
def test_an_arm_gets_to_a_pose_in_every_mode(loop, dyn, law):
    loop.start(BENT)
    loop.control.changes.enter(law)
    loop.run(0.3)
    target = pose_of(dyn, near(1, 0.3))
    command_pose(loop, target)
    begin = len(loop.log) - 1
    assert loop.control.mode is Mode.REACH
    for _ in range(4000):
        loop.cycle()
        if loop.control.mode is Mode.HOLD:
            break
    loop.run(0.3)
    assert loop.control.message == 'the target pose is reached' and not loop.control.fault
    assert np.abs(loop.control.pose(loop.plant.q) - target).max() < 1e-3
    # of the effort limit and millisecond, as in the tests of transitions
    steps = np.abs(np.diff(loop.torques[begin:], axis=0)) / MODEL.effort_limit
    assert steps.max() < 0.012


def test_laws_and_gains_change_without_a_step_while_a_pose_is_reached(loop, dyn):
    control = loop.control

    def gains(frequency, axes):
        change_settings(control, cartesian__natural_frequency=frequency, cartesian__axes=axes)

    changes = [lambda: control.changes.enter('cartesian_impedance'), lambda: gains(8.0, 'target'),
               lambda: control.changes.enter('operational_space'), lambda: gains(25.0, 'base'),
               lambda: control.changes.enter('cartesian_impedance'),
               control.requests.compensate_gravity,
               lambda: command_pose(loop, pose_of(dyn, BENT)),
               lambda: control.changes.enter('joint_impedance')]
    loop.start(BENT)
    loop.run(0.2)
    command_pose(loop, pose_of(dyn, near(2)))
    begin = len(loop.log)
    for change in changes:
        loop.run(0.25)
        change()
    loop.run(0.5)
    steps = np.abs(np.diff(loop.torques[begin:], axis=0)) / MODEL.effort_limit
    assert steps.max() < 0.012


def test_it_ends_with_whatever_ends_a_motion(loop, dyn):
    control, target = loop.control, pose_of(dyn, near(2))
    requests = control.requests
    for end, words in ((requests.hold, 'hold was requested'), (lambda: requests.stop('x'), 'x'),
                       (lambda: requests.fail('broken'), 'broken'),
                       (lambda: loop.coast(0.02), 'the joint states are silent')):
        loop.start(BENT)
        loop.run(0.2)
        command_pose(loop, target)
        loop.run(0.5)
        end()
        assert control.mode in (Mode.STOP, Mode.HOLD) and control.message == words
        control.reset_fault()
    loop.start(BENT)
    command_pose(loop, target)
    loop.run(0.3)
    loop.follow(BENT, 2.0)
    assert control.mode is Mode.TRACK
    loop.settle()
    assert np.abs(loop.plant.q - BENT).max() < 1e-3


@pytest.mark.parametrize('position, rotation, words', [
    ((np.nan, 0, 0), (0, 0, 0, 1), 'must be finite numbers'),
    ((0, 0, 0), (0, 0, np.inf, 1), 'must be finite numbers'),
    ((0.3, 0, 0.3), (0, 0, 0, 0), 'has norm 0; normalise it'),
    ((0.3, 0, 0.3), (0, 0, 0, 1.02), 'has norm 1.02; normalise it')])
def test_poses_that_make_no_sense_are_refused(loop, position, rotation, words):
    loop.start(BENT)
    with pytest.raises(ArgumentError, match=words):
        loop.control.motions.reach(position, rotation)
    assert loop.control.mode is Mode.STOP or loop.control.mode is Mode.HOLD


def test_no_pose_while_a_fault_is_latched(loop):
    loop.start(BENT)
    loop.control.requests.fail('broken')
    with pytest.raises(StateError, match='a fault is latched: broken'):
        loop.control.motions.reach((0.3, 0, 0.3), (0, 0, 0, 1))
    loop.control.reset_fault()


# --- pressing -----------------------------------------------------------------------------------


@pytest.mark.parametrize('law', ['cartesian_impedance', 'operational_space'])
def test_a_target_wrench_is_what_the_link_presses_with(loop, dyn, law):
    loop.start(BENT)
    loop.control.changes.enter(law)
    loop.run(0.3)
    wrench = np.array([1.0, -2.0, 5.0, 0.1, 0.0, 0.2])
    before = loop.control.terms.copy()
    for _ in range(150):
        loop.control.inputs.press(loop.now, LINK, wrench)
        loop.cycle()
    turn = np.kron(np.eye(2), loop.control.pose(loop.plant.q)[:3, :3])
    expected = dyn.jacobian(loop.plant.q, LINK).T @ turn @ wrench
    np.testing.assert_allclose(loop.control.terms[Term.EXTERNAL], expected, atol=0.05)
    assert not before[Term.EXTERNAL].any()
    loop.run(0.6)  # it is not requested any more
    assert not loop.control.terms[Term.EXTERNAL].any()


def test_target_wrenches_that_cannot_be_are_refused(loop):
    loop.start(BENT)
    loop.control.changes.enter('computed_torque')
    with pytest.raises(StateError, match='in the Cartesian modes only, the mode is computed_torq'):
        loop.control.inputs.press(loop.now, LINK, np.zeros(6))
    loop.control.changes.enter('cartesian_impedance')
    with pytest.raises(ModelError, match="joint '.*' would need .* for it, its motor may give"):
        loop.control.inputs.press(loop.now, LINK, [5e3, 0, 0, 0, 0, 0])
    with pytest.raises(ModelError, match="no link 'hand'"):
        loop.control.inputs.press(loop.now, 'hand', np.zeros(6))


def test_a_stiffness_that_grows_under_load_pays_for_it(loop, dyn):
    loop.start(BENT)
    control = loop.control
    change_settings(control, cartesian__stiffness=100.0)
    control.changes.enter('cartesian_impedance')
    loop.run(0.3)
    springs = control.host.memory.task_springs
    change_settings(control, cartesian__stiffness=800.0)
    loop.run(1.0)
    np.testing.assert_allclose(springs.value, 800.0)
    springs.energy[()] = 0.0
    change_settings(control, cartesian__stiffness=1600.0)

    def held(q):
        for _ in range(500):
            control.update(loop.now, q, np.zeros(7))
            loop.now += loop.period

    held(control.reference.q + 0.01)
    np.testing.assert_array_equal(springs.value, 800.0)
    held(control.reference.q.copy())
    np.testing.assert_array_equal(springs.value, 1600.0)
