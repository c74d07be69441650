"""Torque of a guard: the arm comes to rest and stays there, also with a wrong model."""


import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the parameters of the guard need ROS 2')

from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.dynamics.loads import with_slots  # noqa: E402
from robodyn_ros.exceptions import ModelError  # noqa: E402
from robodyn_ros.model import Payload, RobotModel  # noqa: E402
from robodyn_ros.nodes.guard.parameters import GuardSettings  # noqa: E402
from robodyn_ros.nodes.guard.torque import GuardTorque  # noqa: E402
from robodyn_ros.safety.acceptance import FROM_STATE  # noqa: E402
from robodyn_ros.safety.state_judge import StateJudge  # noqa: E402
from robodyn_ros.settings import with_values  # noqa: E402
from robodyn_ros.simulation import Plant  # noqa: E402
from robodyn_ros.simulation.mismatch import mismatched  # noqa: E402
from ros_process import ROOT  # noqa: E402

MODEL = RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf')
HOME = np.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])
SPEED = np.array([0.6, -0.5, 0.4, 0.7, -0.6, 0.5, 0.8])
STEP, LATE = 1e-3, 2   # s between states; cycles until a torque acts


class Held:
    """
    An arm without friction under a guard, its torques as late as on a wire.

    Parameters
    ----------
    masses : float
        Those of the arm, as a share of those that the guard reckons with.
    report : callable
        Of the velocities that are reported for the true ones.
    measured : bool
        Whether its loop was measured, and bears the feedback of the guard.
    **values
        Parameters of the guard.

    """

    dynamics = Dynamics(with_slots(MODEL))

    def __init__(self, masses=1.0, report=np.copy, measured=True, **values):
        self.values = with_values(GuardSettings(), values)
        model = MODEL if masses == 1.0 else mismatched(MODEL, masses)
        self.plant = Plant(model, STEP, damping=0.0, friction=0.0)
        self.guard = GuardTorque(self.dynamics, self.values)
        if measured:
            self.guard.set_loop(np.full(MODEL.nv, 2e-3), np.ones(MODEL.nv))
        self.judge = StateJudge(self.dynamics, self.guard.usable, hold=0.05, stop=0.25, skew=1.0,
                                slack=0.06)
        self.report, self.track, self.torques = report, [], []

    def take_over(self, q=HOME, qd=0.0):
        plant = self.plant
        plant.reset(q)
        plant.qd[:] = qd
        self.receive(0.0, plant.q, plant.qd, None)
        self.guard.start(0.0, self.judge.seen.q, self.judge.seen.qd, None)
        self.torques = [self.guard.last] * LATE
        return self

    def receive(self, now, q, qd, sent):
        """Return the kind of cycle for a state; sent: None before the takeover."""
        given = self.judge.given
        given.q[:], given.qd[:], given.effort[:] = q, self.report(qd), np.nan
        return self.judge.judge(now, True, sent)

    def respond(self, now):
        """Return the torque for the present state."""
        plant, seen = self.plant, self.judge.seen
        if self.receive(now, plant.q, plant.qd, self.guard.last) != FROM_STATE:
            return self.guard.update_without_state(now)
        return self.guard.update(now, seen.q, seen.qd)

    def run(self, duration, push=None, silent=False):
        plant, first = self.plant, len(self.torques)
        for k in range(first, first + round(duration / STEP)):
            now = STEP * (k - LATE + 1)
            torque = self.guard.update_without_state(now) if silent else self.respond(now)
            self.torques.append(torque.copy())
            plant.step(self.torques[-LATE] + (0.0 if push is None else push))
            self.track.append(plant.q.copy())
        return self

    def sink(self, since=0):
        return np.abs(np.array(self.track[since:]) - HOME).max()


@pytest.mark.parametrize('masses', [0.9, 1.1])
def test_an_arm_with_wrong_masses_sinks_by_a_few_thousandths(masses):
    held = Held(masses).take_over().run(3.0)
    assert 1e-3 < held.sink() < 6e-3
    assert np.abs(held.track[-1] - held.track[-1000]).max() < 1e-4, 'and stays there'
    loose = Held(masses, hold_rate=0.0).take_over().run(3.0)
    assert loose.sink() > 0.1, 'without a hold it is lost'


def test_the_first_torque_is_the_last_one_of_the_controller():
    held, gravity = Held(), Dynamics(MODEL).gravity(HOME)
    usable = held.guard.usable
    last = gravity + 0.1 * usable
    for torque, expected in ((last, last), (None, gravity), (10.0 * usable, usable),
                             (-10.0 * usable, -usable)):
        held.guard.start(0.0, HOME, np.zeros(7), torque)
        np.testing.assert_allclose(held.guard.last, expected, atol=1e-12)
        # and it goes from there at the rate of the limits
        step = held.guard.update_without_state(1e-3) - expected
        assert (np.abs(step) <= 0.1 * MODEL.effort_limit * (1.0 + 1e-9)).all()


def test_a_moving_arm_is_held_where_its_damping_stops_it():
    held = Held().take_over(qd=SPEED).run(1.5)
    rest = HOME + SPEED / held.values.damping
    np.testing.assert_allclose(held.track[-1], rest, atol=0.01)
    overshoot = np.array(held.track) - np.array(held.track[-1])
    assert (np.sign(SPEED) * overshoot).max() < 2e-3, 'it comes from one side'
    assert np.abs(held.plant.qd).max() < 1e-3
    gravity_torque = Dynamics(MODEL).gravity(held.plant.q)
    np.testing.assert_allclose(held.torques[-1], gravity_torque, atol=0.1)


def test_speed_decays_at_the_requested_rate():
    held = Held().take_over(qd=SPEED).run(0.25)
    np.testing.assert_allclose(held.plant.qd, SPEED * np.exp(-2.5), atol=0.05)


def test_a_push_stronger_than_the_hold_moves_the_arm_and_it_stays_there():
    held = Held(hold_effort=0.1).take_over().run(0.2)
    push = np.zeros(7)
    push[1] = 0.05 * MODEL.effort_limit[1]
    held.run(1.0, push)
    assert 3e-3 < held.sink() < 0.03
    held.run(1.0)
    assert np.abs(held.track[-1] - HOME).max() < 1e-3, 'a spring'
    held.run(0.5, 4.0 * push)
    moved = held.track[-1][1] - HOME[1]
    assert moved > 0.1
    held.run(1.0)
    away = held.track[-1] - HOME
    assert 0.1 < away[1] < moved + 0.1, 'it does not swing back'
    assert np.abs(np.delete(away, 1)).max() < 0.01, 'others keep their place'


def test_the_hold_is_bounded():
    held, push = Held(hold_effort=0.1).take_over(), 0.15 * MODEL.effort_limit
    for _ in range(20):  # a push stronger than the gravity torque and a tenth of the limits
        before = held.plant.q.copy()
        held.run(0.02, push)
        # what is sent while the state does not change is the hold and the gravity torque
        torque = held.guard.update_without_state(10.0) - Dynamics(MODEL).gravity(held.track[-2])
        assert (np.abs(torque) <= 0.1 * MODEL.effort_limit * (1.0 + 1e-9)).all()
    assert np.abs(held.plant.q - before).max() > 1e-3


@pytest.mark.parametrize('rate', [0.0, 60.0])
def test_a_joint_is_braked_before_its_limit(rate):
    q, qd = HOME.copy(), np.zeros(7)
    joint = int(np.flatnonzero(np.isfinite(MODEL.upper))[0])
    q[joint], qd[joint] = MODEL.upper[joint] - 0.3, 2.0
    held = Held(damping=2.0, hold_rate=rate).take_over(q, qd).run(2.0)
    track = np.array(held.track)[:, joint]
    # damping alone would let it go on for 1 rad
    assert MODEL.upper[joint] - 0.03 < track.max() < MODEL.upper[joint] + 5e-3


def test_an_arm_whose_loop_is_not_known_is_braked_there_as_well():
    q, qd = HOME.copy(), np.zeros(7)
    joint = int(np.flatnonzero(np.isfinite(MODEL.upper))[0])
    q[joint], qd[joint] = MODEL.upper[joint] - 0.15, 2.0
    held = Held(measured=False).take_over(q, qd).run(2.0)
    # the soft stop would let it go on for 0.3 rad
    assert np.array(held.track)[:, joint].max() < MODEL.upper[joint] + 5e-3


@pytest.mark.parametrize('masses', [1.0, 1.1])
def test_an_arm_whose_loop_is_not_known_is_stopped_softly_and_then_held(masses):
    held, firm = (Held(masses, measured=measured).take_over(qd=SPEED).run(0.1)
                  for measured in (False, True))
    assert np.linalg.norm(held.plant.qd) > 1.1 * np.linalg.norm(firm.plant.qd)
    held.run(3.4)
    speeds = np.abs(np.diff(held.track, axis=0)) / STEP
    assert (speeds.max(axis=0) < 0.5 * MODEL.velocity_limit).all()
    assert speeds[-500:].max() < 1e-3, 'and stays'
    # then as firmly as others
    sinks = []
    for each in (held, Held(masses).take_over(held.track[-1]).run(1.0)):
        rest, push = each.track[-1], np.zeros(7)
        push[1] = 0.05 * MODEL.effort_limit[1]
        each.run(0.5, push)
        sinks.append(np.abs(each.track[-1] - rest).max())
    assert sinks[0] < 1.2 * sinks[1]


@pytest.mark.parametrize('gravity', [(0.0, 0.0, 0.0), (9.81, 0.0, 0.0)])
def test_an_arm_that_falls_in_a_soft_stop_is_held_at_once(gravity, monkeypatch):
    """The gravity that the guard was told is not that of the arm."""
    monkeypatch.setattr(Held, 'dynamics', Dynamics(with_slots(MODEL)))  # it keeps what it is told
    held = Held(measured=False)
    held.guard.set_loads([], gravity, held.guard.armature)
    held.take_over(qd=SPEED).run(4.0)
    assert speed_of(held) < 1.5
    assert (np.abs(held.plant.qd) / MODEL.velocity_limit).max() < 0.02, 'it rests'


def test_a_gravity_of_another_size_is_refused():
    held = Held(measured=True)
    for gravity in ((0.0, 0.0, 0.0), (0.0, 0.0, -7.8), (0.0, 0.0, -12.0)):
        for in_charge in (False, True):
            with pytest.raises(ModelError, match='it may differ by 2 at most'):
                held.guard.set_gravity(gravity, in_charge)
    np.testing.assert_array_equal(held.guard.loads.gravity, MODEL.gravity)


def test_an_arm_at_rest_is_held_at_once_whatever_is_known():
    one, other = (Held(1.1, measured=measured).take_over().run(0.5) for measured in (True, False))
    np.testing.assert_array_equal(one.track, other.track)


@pytest.mark.parametrize('delay, excess, borne', [
    (0.002, 1.0, True), (0.03, 1.0, False), (0.002, 12.0, False), (np.inf, 1.0, False),
    (0.002, np.nan, False)])
def test_a_loop_that_does_not_bear_the_feedback_is_stopped_softly(delay, excess, borne):
    held = Held(measured=False)
    numbers = np.full(7, 0.002), np.ones(7)
    numbers[0][3], numbers[1][3] = delay, excess
    held.guard.set_loop(*numbers)
    held.take_over(qd=SPEED).run(0.3)
    slow = np.abs(held.plant.qd) < 0.1 * np.abs(SPEED)
    assert slow.all() == borne


def test_a_load_that_it_knows_is_carried_while_states_are_missing_or_no_numbers(monkeypatch):
    monkeypatch.setattr(Held, 'dynamics', Dynamics(with_slots(MODEL)))  # it keeps what it is told
    held = Held()
    held.plant = Plant(MODEL.with_payload('link7', 2.0, (0.0, 0.0, 0.05)), STEP, damping=0.0,
                       friction=0.0)
    held.guard.set_payload(load(2.0), False)
    held.take_over().run(0.5)
    rest = held.track[-1]
    held.run(0.3, silent=True)
    held.run(0.3)
    held.report = lambda qd: np.nan * qd
    held.run(0.3)
    assert np.abs(np.array(held.track) - rest).max() < 5e-3
    assert np.isfinite(held.torques).all()
    np.testing.assert_allclose(held.torques[-1], Dynamics(held.plant.model).gravity(rest),
                               atol=0.5)


def test_what_held_the_arm_holds_it_also_while_no_state_comes():
    held = Held(1.1).take_over().run(1.0)
    rest = held.track[-1]
    held.run(0.3, silent=True)
    assert np.abs(held.track[-1] - rest).max() < 5e-3
    held.guard.release_hold()
    held.run(0.3, silent=True)
    assert np.abs(held.track[-1] - rest).max() > 0.02, 'the weight alone does not'


def test_rotors_are_reckoned_with():
    armature = np.array([1.0, 1.0, 0.5, 0.5, 0.2, 0.1, 0.1])
    held = Held()
    held.plant.change(damping=0.0, friction=0.0, armature=armature)
    held.guard.armature[:] = armature
    held.take_over(qd=SPEED).run(0.25)
    np.testing.assert_allclose(held.plant.qd, SPEED * np.exp(-2.5), atol=0.05)


@pytest.mark.parametrize('period', [1, 4, 10])
def test_it_is_stable_also_if_states_are_rare(period):
    held = Held(1.1).take_over(qd=SPEED)
    plant, torque = held.plant, held.torques[0]
    for k in range(2000):
        if k % period == 0:
            late, torque = torque, held.guard.update(STEP * k, plant.q.copy(),
                                                     plant.qd.copy()).copy()
        plant.step(late)
    assert np.abs(plant.qd).max() < 1e-2


# --- beyond a position limit -------------------------------------------------------------------

@pytest.mark.parametrize('side', [1.0, -1.0])
def test_an_arm_beyond_its_limits_is_held_there_and_guided_inwards_only(side):
    held, joint = Held(), 3
    held.plant = Plant(MODEL, STEP, damping=0.0, friction=0.0, lower=MODEL.lower - 0.5,
                       upper=MODEL.upper + 0.5)
    q = HOME.copy()
    q[joint] = side * (MODEL.upper[joint] + 0.05)
    held.take_over(q)
    held.run(1.0)
    assert np.abs(held.plant.q - q).max() < 1e-3, 'no spring back to the limit'
    push = np.zeros(7)
    push[joint] = 2.0 * side
    held.run(0.5, push)
    assert side * (held.plant.q[joint] - q[joint]) < 1e-2
    held.run(1.0, -10.0 * push)
    inner = side * held.plant.q[joint]
    assert inner < side * q[joint] - 0.02
    held.run(1.0, push)
    edge = max(inner, MODEL.upper[joint])
    assert side * held.plant.q[joint] < edge + 1e-2, 'what was gained is not lost'


@pytest.mark.parametrize('factor', [0.0, -1.0, np.degrees(1.0)])
def test_an_arm_whose_velocities_are_wrong_comes_to_rest_all_the_same(factor):
    # before it commands, the guard has received states of the arm in motion for a while
    held = Held(report=lambda qd: factor * qd)
    held.plant.reset(HOME)
    held.plant.qd[:] = SPEED
    for k in range(100):
        held.receive(0.002 * (k - 100), HOME + 0.002 * (k - 100) * SPEED, SPEED, None)
    held.take_over(qd=SPEED).run(1.5)
    assert np.abs(held.plant.qd).max() < 0.01
    nominal = Held().take_over(qd=SPEED).run(1.5)
    assert np.abs(np.array(held.track) - np.array(nominal.track)).max() < 0.03


def load(mass):
    """Return a load in the hand."""
    return Payload('link7', mass, np.array([0.0, 0.0, 0.05]), np.zeros((3, 3)))


def speed_of(held):
    """Return the largest speed, as a part of the velocity limit."""
    return (np.abs(np.diff(held.track, axis=0)) / STEP / MODEL.velocity_limit).max()


@pytest.mark.parametrize('spacing', [0.1, 3.0])
def test_loads_that_are_false_do_not_throw_an_arm_that_the_guard_holds(spacing):
    """Told and taken back, again and again, or once: whoever may publish them."""
    held, told = Held().take_over().run(0.3), 0
    with pytest.raises(ModelError, match="'joint.' would get .* it could not hold against"):
        held.guard.set_payload(load(6.0), True)
    for k in range(round(6.0 / spacing)):
        try:
            held.guard.set_payload(load(1.4 * (1 - k % 2)), True)
            told += 1
        except ModelError:
            pass
        held.run(spacing)
    assert told > 1
    assert speed_of(held) < 0.4
    held.run(1.5)
    assert (np.abs(held.plant.qd) / MODEL.velocity_limit).max() < 0.02, 'it rests'
