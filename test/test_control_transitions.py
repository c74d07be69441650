"""Whatever changes while an arm is held, floats or moves: its torque goes over, it never steps."""

from closed_loop import arm, BENT, HEAVY, Loop, MODEL
from design import change_settings, settings_of
from lqr import command
import numpy as np
import pytest
from robodyn_ros.control import make_gains, Mode, with_slots
from robodyn_ros.control.examples.scalar_law import stiffening
from robodyn_ros.control.steps import transition
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import Payload
from steps import array, doubles, filled

SLOTTED = with_slots(MODEL)
# Of the effort limit and millisecond; the rate limit allows 0.1. What goes over in 0.2 s along a
# smooth step changes by 0.0075 of its size at most, and the torque of a moving arm changes anyway.
SMOOTH = 0.0125
NOTHING = np.zeros((3, 3))
USUAL = settings_of(activation_time=0.05, linear_feedback__timeout=1.0)
SENDER = Dynamics(MODEL)  # of linear feedback, without the controller's loads
USUAL_GAINS = make_gains(SENDER)
GAIN = np.hstack((np.diag(USUAL_GAINS.pd_kp), np.diag(USUAL_GAINS.pd_kd)))


def unload(control):
    """Remove what the tests before have put on the arm, at once."""
    control.activation.deactivate()
    control.load_changes.set_payload(Payload('link6', 0.0, (0, 0, 0), NOTHING))
    control.load_changes.set_gravity(MODEL.gravity)


def changes(loop):
    """Return all requests to a controller, by name; each needs a transition of the torque."""
    control = loop.control

    def linear_feedback():
        control.changes.enter('linear_feedback')
        loop.run(0.4)  # it takes over an arm at rest
        if control.status.law_at_work != 'linear_feedback':
            loop.pose = loop.plant.q.copy()
        control.inputs.take_linear_feedback(loop.now, command(SENDER, loop.pose, GAIN))

    load = control.load_changes.set_payload

    def gains(**design):
        change_settings(control, friction_scale=0.0, **design)

    return {
        'computed_torque': lambda: control.changes.enter('computed_torque'),
        'feedforward_pd': lambda: control.changes.enter('feedforward_pd'),
        'adaptive': lambda: control.changes.enter('adaptive'),
        'gravity_compensation': lambda: control.changes.enter('gravity_compensation'),
        'own_law': lambda: control.changes.enter('own_law'), 'linear_feedback': linear_feedback,
        'hold': control.requests.hold, 'float': control.requests.compensate_gravity,
        'stop': lambda: control.requests.stop('stop'),
        'reset_fault': lambda: (control.requests.fail('x'), control.reset_fault()),
        'payload': lambda: load(Payload('link6', 0.7, (0.0, 0.0, 0.1), NOTHING)),
        'no payload': lambda: load(Payload('link6', 0.0, (0, 0, 0), NOTHING)),
        'gravity': lambda: control.load_changes.set_gravity((1.5, 0.0, -9.6)),
        'stiff': lambda: gains(natural_frequency=30.0),
        'soft': lambda: gains(natural_frequency=10.0, armature=0.005),
        'weak': lambda: change_settings(control, effort_margin=0.5, load_time=0.5)}


NAMES = list(changes(arm()))
CASES = [('computed_torque', True), ('own_law', True), ('linear_feedback', False),
         pytest.param('computed_torque', False, marks=pytest.mark.slow),
         pytest.param('feedforward_pd', True, marks=pytest.mark.slow)]


@pytest.fixture(scope='module')
def loop():
    """Return a loop around an arm with a load that is unknown to the controller."""
    return Loop(SLOTTED, USUAL, q=BENT, plant=HEAVY, friction=True, own_law=stiffening)


def largest_share(torques):
    """Return the largest change per cycle of 1 ms, as a share of the effort limit."""
    return (np.abs(np.diff(torques, axis=0)) / MODEL.effort_limit).max()


@pytest.mark.parametrize('law, moving', CASES)
@pytest.mark.parametrize('first', NAMES)
def test_no_change_steps_the_torque(loop, law, moving, first):
    worst = {}
    for second in NAMES:
        unload(loop.control)
        loop.start(BENT)
        loop.control.changes.change(loop.settings)
        changes(loop)[law]()
        loop.run(0.1)
        assert loop.control.status.law_at_work == law
        if moving:
            loop.follow(loop.swing(1.0, 0.4), 1.0)
            loop.run(0.25)
            assert loop.control.mode is Mode.TRACK
        begin = len(loop.log) - 1
        changes(loop)[first]()
        loop.run(0.06)
        changes(loop)[second]()
        loop.run(0.2)
        assert np.isfinite(loop.torques).all()
        worst[second] = largest_share(loop.torques[begin:])
    assert max(worst.values()) < SMOOTH, max(worst.items(), key=lambda item: item[1])


LIMITS, LAW, LAST = np.array([10.0, 20.0]), np.array([1.0, 2.0]), np.array([4.0, -3.0])


class Over:
    """A transition to the torque of a law, of two joints."""

    def __init__(self, duration=0.1):
        self.m, self.p = filled(transition.Memory, 2), None
        self.change(duration)

    def change(self, duration):
        """Let other transitions take so long."""
        self.p = filled(transition.Program, 2, duration=duration)

    def begin(self):
        """Let the next torque be the last one sent; return the transition."""
        self.m = transition.begin(self.m, self.p, 1.0)
        return self

    def go(self, seconds=1e-3, last=LAST):
        """Return what is sent in place of the torque of the law."""
        torque, self.m = transition.blend(
            *map(doubles, (LAW, last, seconds, LIMITS)), self.m, self.p)
        return array(torque)

    @property
    def under_way(self):
        return bool(transition.under_way(self.m))


def test_a_transition_starts_at_the_last_torque_and_ends_in_the_law():
    over = Over().begin()
    sent = np.array([over.go() for _ in range(120)])
    np.testing.assert_array_equal(sent[0], LAST)
    # a smooth step without a kink at its ends: 27/32 are left after a quarter
    np.testing.assert_allclose(sent[25], LAW + 27.0 / 32.0 * (LAST - LAW))
    np.testing.assert_array_equal(sent[100:], np.tile(LAW, (20, 1)))
    # the steepest slope of a smooth step is 1.5 of its mean
    assert np.all(np.abs(np.diff(sent, axis=0)) <= 1.5 * np.abs(LAST - LAW) * 0.01 * (1 + 1e-9))


@pytest.mark.parametrize('last, duration', [
    ((1.05, 2.1), 0.1), ((np.nan, 5.0), 0.1), ((5.0, 5.0), 0.0)],
    ids=['hardly any difference', 'no number', 'no time'])
def test_without_a_transition_the_law_counts_at_once(last, duration):
    np.testing.assert_array_equal(Over(duration).begin().go(last=last), LAW)


def test_a_transition_is_under_way_from_its_beginning_to_its_end():
    """Protects what waits for the end of transitions: integrals, and learning."""
    over = Over()
    assert not over.under_way
    over.begin()
    assert over.under_way, 'before the first torque'
    np.testing.assert_array_equal(over.go(), LAST)
    assert over.under_way
    over.go(0.05)
    assert over.under_way
    np.testing.assert_array_equal(over.go(0.06), LAW)
    assert not over.under_way
    over.change(0.0)
    assert not over.begin().under_way, 'it takes no time'


def test_one_joint_that_differs_takes_all_over_smoothly():
    """Protects the other joints from a step of less than a hundredth of their limits."""
    last = [1.11, 2.15]
    np.testing.assert_array_equal(Over().begin().go(last=last), last)


@pytest.mark.parametrize('last', [(np.nan, 9.0), (4.0, np.inf)])
def test_no_transition_begins_at_a_torque_that_is_not_finite(last):
    """Protects from a torque that is not a number for as long as a transition lasts."""
    over = Over().begin()
    for _ in range(3):
        np.testing.assert_array_equal(over.go(last=last), LAW)
    assert not over.under_way


def test_begun_again_on_the_way_a_transition_has_all_of_its_time_again():
    """Protects from a step where a second change follows before the first is over."""
    over = Over().begin()
    over.go()
    over.go(0.09)
    np.testing.assert_array_equal(over.begin().go(), LAST)
    np.testing.assert_allclose(over.go(0.05), 0.5 * (LAST + LAW))


def test_another_duration_counts_from_the_next_transition_on():
    """Protects from a step where the duration is changed while a transition is under way."""
    over = Over().begin()
    over.go()
    over.change(1e-9)
    np.testing.assert_allclose(over.go(0.05), 0.5 * (LAST + LAW))
    over.begin().go()
    np.testing.assert_array_equal(over.go(1e-6), LAW)


@pytest.mark.parametrize('cycles', [0, 1, 3])
def test_cancelled_it_returns_the_torque_of_the_law(cycles):
    """Protects an arm in a collision from what is left of another torque."""
    over = Over().begin()
    for _ in range(cycles):
        over.go()
    over.m = transition.cancel(over.m, 1.0)
    assert not over.under_way
    np.testing.assert_array_equal(over.go(), LAW)


def test_limits_that_shrink_take_the_torque_down_at_its_rate():
    loop = Loop(MODEL, settings_of(transition_time=0.0), q=BENT, plant=HEAVY)
    loop.run(0.7)
    before = loop.torque
    begin = len(loop.log) - 1
    # less than what holds the heavier arm, and enough for what the model weighs
    gravity_torque = np.abs(Dynamics(MODEL).gravity(loop.plant.q))
    limit = 0.5 * (gravity_torque + np.abs(before)) + 0.1
    change_settings(loop.control, effort_limit=limit, transition_time=0.0, torque_rate_limit=500.0)
    loop.run(0.2)
    changes = np.abs(np.diff(loop.torques[begin:], axis=0))
    assert changes.max() <= 0.5 * (1 + 1e-9) and np.all(np.abs(loop.torque) <= limit)
    assert np.any(np.abs(before) > limit)


@pytest.mark.parametrize('tracking', ['computed_torque', 'shaped_impedance'])
def test_gains_that_change_at_every_cycle_hold_no_torque_back(tracking):
    """Protects an arm whose gains change continuously: the torque follows state and reference."""
    loop = arm(q=BENT, settings=settings_of(mode=tracking, activation_time=0.05), gains={
        'friction_scale': 0.0}, period=0.01)
    loop.run(0.1)
    random, error = np.random.default_rng(3), []
    for k in range(400):
        change_settings(loop.control, natural_frequency=random.uniform(15.0, 25.0))
        if k % 2 == 0:
            loop.follow(BENT + random.uniform(-0.1, 0.1), 0.4)
        loop.cycle()
        error.append(np.abs(loop.plant.q - loop.control.reference.q).max())
    assert max(error) < 0.05
