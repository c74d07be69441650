"""Acceptance of states in the cycle: against an oracle with arrays."""

import math
from types import SimpleNamespace

from closed_loop import ARM, BENT, MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import ArmController, Mode
from robodyn_ros.control.settings import StaleSettings
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.safety.acceptance import BETWEEN, FROM_STATE, REQUESTS, SILENT
from robodyn_ros.simulation import Plant
from state_oracle import JumpDetector, StaleMonitor

TURN = 2.0 * math.pi
# the oracle does not compare the numbers with each other
NEUTRAL = {'velocity_source': 'measured', 'plausibility__motion': math.inf,
           'plausibility__repeated': math.inf, 'overspeed': math.inf}
EPOCH = 1.7e9  # s between the local clock and that of the stamps


def controller(model=MODEL, simulated=False, **settings):
    return ArmController(Dynamics(model), settings_of(**settings), simulated=simulated)


def turning():
    """Return the arm with joints that have no limits."""
    text = ARM.read_text(encoding='utf-8')
    for name in ('joint1', 'joint7'):
        text = text.replace(f'<joint name="{name}" type="revolute">',
                            f'<joint name="{name}" type="continuous">')
    return RobotModel.from_urdf(text)


class Arm:
    """A controller that receives states, at a rate of 500 Hz by default."""

    def __init__(self, model=MODEL, **states):
        self.control = controller(model, **states)
        self.now, self.offset = 100.0, EPOCH
        self.q, self.qd = BENT.copy(), np.zeros(7)

    @property
    def seen(self):
        return self.control.status.states

    def state(self, dt=2e-3, late=0.0, stamp=None, clock=None, permitted=True):
        """Let a state be measured `dt` after the last, and arrive some time later."""
        self.now += dt
        state = self.control.host.state
        state.q[:], state.qd[:], state.effort[:] = self.q, self.qd, math.nan
        stamp = self.now + self.offset if stamp is None else stamp
        return self.control.receive(self.now + late, stamp,
                                    self.now + late + self.offset if clock is None else clock,
                                    permitted)

    def nothing(self, dt=5e-3, due=False):
        self.now += dt
        return self.control.cycle.wait(self.now, True, due)

    def take_over(self):
        self.state()
        self.control.activate(self.now - float(self.seen.offset), self.q, self.qd, self.now)
        return self


@pytest.fixture
def arm():
    return Arm().take_over()


@pytest.mark.parametrize('pause', [0.3, 0.5, 2.0])
@pytest.mark.parametrize('queued', [False, True])
def test_a_pause_of_this_process_is_no_silence_of_the_states(arm, pause, queued):
    """Whether a state has waited meanwhile, or the next one is still to come."""
    for _ in range(50):
        arm.state()
    if queued:
        # what is older than `max_skew` is not used
        assert (arm.state(late=pause) is not None) == (pause < 1.0)
        arm.now += pause
    else:
        arm.nothing(pause)
    assert arm.state() is not None
    assert not arm.control.fault
    assert max(float(arm.seen.pause), pause) == pytest.approx(pause, abs=0.01)
    for _ in range(200):
        arm.state()
    assert arm.control.mode is Mode.HOLD and not arm.control.fault


@pytest.mark.parametrize('pause', [0.3, 0.9])
def test_several_states_that_waited_during_a_pause_of_this_process_are_not_late(arm, pause):
    for _ in range(50):
        arm.state()
    arm.now += 2e-3
    for k in range(20):  # the middleware delivers what was sent meanwhile, oldest first
        assert arm.state(2e-4, stamp=arm.now + arm.offset + k * pause / 20.0,
                         late=pause) is not None
    arm.now += pause
    for _ in range(200):
        arm.state()
    assert arm.control.mode is Mode.HOLD and not arm.control.fault


@pytest.mark.parametrize('epoch, skew', [(EPOCH, 1.0), (0.0, math.inf)])
@pytest.mark.parametrize('waiting', [0, 14])
def test_an_arm_moved_during_a_pause_of_this_process_stays_there(epoch, skew, waiting):
    """States that waited in the queue come first."""
    arm = Arm(stale__max_skew=skew)
    arm.offset = epoch
    arm.take_over()
    for _ in range(50):
        arm.state()
    pause, after = 0.8, arm.q - 0.35
    assert arm.state(late=pause) is not None
    for k in range(waiting):
        arm.q, arm.qd = after + 0.025 * (13 - k), np.full(7, -0.5)
        assert arm.state(1e-4, stamp=arm.now + arm.offset + 0.05 * (k + 1), late=pause) is not None
    arm.q, arm.qd = after, np.zeros(7)
    arm.now += pause
    for _ in range(3):
        arm.state(2e-4)
        np.testing.assert_allclose(arm.control.reference.q, after, atol=1e-6)
    assert not arm.control.fault


def test_states_that_stay_late_after_a_pause_are_a_fault_all_the_same(arm):
    for _ in range(50):
        arm.state()
    for _ in range(200):
        arm.state(late=0.3)
    assert 'by their stamps messages arrive 0.300 s late' in arm.control.fault


def test_silence_after_a_pause_is_a_fault_all_the_same(arm):
    arm.state()
    arm.nothing(1.0)
    assert not arm.control.fault
    for _ in range(100):
        arm.nothing()
    assert 'no good data' in arm.control.fault


# --- against an oracle -----------------------------------------------------------

class Oracle:
    """The judgement of states, with arrays."""

    def __init__(self, model, settings):
        stale = settings.stale
        self.stale = StaleMonitor(stale.hold, stale.max_skew)
        self.jumps = JumpDetector(model.joint_names, model.velocity_limit, stale.jump,
                                  stale.stop + 0.05)
        self.continuous = np.flatnonzero(model.continuous)
        self.q, self.complete, self.refused = np.zeros(model.nv), False, 0
        self.least, self.before, self.offset, self.latest = math.inf, 0.0, 0.0, 0.0

    def receive(self, arrival, stamp, clock, q, qd):
        """Return whether the state counts."""
        q = q.copy()
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            self.refused += 1
            return False
        if self.complete:
            c = self.continuous
            q[c] -= TURN * np.round((q[c] - self.q[c]) / TURN)
        if not self.jumps.accept(stamp or arrival, q, qd):
            self.refused += 1
            return False
        self.q, self.complete = q, True
        if not self.stale.received(arrival, stamp, clock):
            return False
        self.follow(arrival, stamp)
        return self.stale.age(arrival) < self.stale.hold_after

    def follow(self, now, stamp):
        """Find the delay beyond the least one; the least one may grow by 2e-4 s/s."""
        late = 0.0
        if stamp:
            delay = now - stamp
            self.least = min(delay, self.least + 2e-4 * max(0.0, now - self.before))
            self.before = now
            late = delay - self.least if delay - self.least <= 0.02 else 0.0
        self.offset = min(late, max(0.0, now - self.latest))
        self.latest = now - self.offset


@pytest.mark.parametrize('seed', range(6))
def test_states_are_judged_as_with_arrays(seed):
    rng = np.random.default_rng(seed)
    model = turning()
    arm = Arm(model, stale__jump=rng.choice([0.02, 0.1]), stale__hold=0.03, stale__stop=0.1,
              **NEUTRAL)
    arm.take_over()
    oracle = Oracle(model, arm.control.settings)
    oracle.receive(arm.now, arm.now + EPOCH, arm.now + EPOCH, arm.q, arm.qd)
    met = set()
    for _ in range(1500):
        arm.qd = rng.normal(0.0, 0.3, 7)
        dt, late = rng.choice([2e-3] * 8 + [0.0, 0.02, 0.2]), rng.exponential(2e-4)
        arm.q = arm.q + dt * arm.qd + rng.normal(0.0, 1e-4, 7)
        kind = rng.random()
        kept = arm.q.copy()
        if kind < 0.03:
            arm.q[rng.integers(7)] += rng.choice([0.5, TURN, -TURN, 3.0])
        elif kind < 0.05:
            arm.q[:2] = arm.q[1::-1]
        elif kind < 0.06:
            arm.q[3] = rng.choice([math.nan, math.inf])
        while dt > 0.1:  # without a call there would be a pause of this process
            arm.nothing(0.09)
            dt -= 0.09
        stamp = arm.now + dt + arm.offset
        if kind > 0.9:
            stamp = rng.choice([0.0, stamp - 0.01, stamp - 2.0, float(arm.seen.stamp)])
        clock = arm.now + dt + late + EPOCH
        before = float(arm.seen.measured)
        arm.state(dt, late, stamp, clock)
        arrival = arm.now + late
        counts = oracle.receive(arrival, stamp, clock, arm.q, arm.qd)
        met.add(counts)
        assert (arm.seen.kind == FROM_STATE) == counts
        assert int(arm.seen.refused) == oracle.refused
        np.testing.assert_array_equal(arm.seen.q, oracle.q)
        assert float(arm.seen.offset) == pytest.approx(oracle.offset, abs=1e-9)
        age = oracle.stale.age(arrival)
        assert float(arm.seen.age) == pytest.approx(age, abs=1e-9)
        assert float(arm.seen.measured) <= max(before, arrival)
        expected = oracle.jumps.problem
        if np.isfinite(arm.q).all() and np.isfinite(arm.qd).all():
            assert arm.control.status.state_problem == expected
        if not age < arm.control.settings.stale.stop:
            assert arm.control.fault
            arm.control.reset_fault()
        if not rng.integers(3):
            arm.q = kept
    assert met == {True, False}


# --- silence, and what follows it ---------------------------------------------------------------

def test_an_arm_without_states_comes_to_rest_and_then_has_a_fault(arm):
    for _ in range(300):
        arm.state()
    kinds = []
    while not arm.control.fault:
        torque = arm.nothing()
        kinds.append((float(arm.seen.age), float(arm.seen.kind)))
        assert torque is None or np.isfinite(torque).all()
    assert {kind for age, kind in kinds if age < 0.05} == {REQUESTS}
    assert {kind for age, kind in kinds if age >= 0.05} == {SILENT}
    assert kinds[-1][0] == pytest.approx(0.25, abs=0.006)
    assert arm.control.fault.startswith('joint states: no good data for 0.25')
    assert arm.control.fault.endswith('s: silent')


def test_it_is_found_again_where_it_is(arm):
    for _ in range(300):
        arm.state()
    for _ in range(20):
        arm.nothing()
    arm.q = arm.q + 0.05
    arm.state()
    assert arm.seen.resumes and arm.seen.kind == FROM_STATE
    np.testing.assert_allclose(arm.control.reference.q, arm.q, atol=1e-12)
    arm.state()
    assert not arm.seen.resumes


def test_a_slip_just_above_the_jump_is_not_accepted_as_fast_motion(arm):
    arm.qd[0] = -0.8

    def kinds(count):
        found = set()
        for _ in range(count):
            arm.q = arm.q + 2e-3 * arm.qd
            arm.state()
            found.add(float(arm.seen.kind))
        return found

    assert kinds(150) == {FROM_STATE}
    # in the time of a few states a fast joint could move so far
    arm.q[0] += arm.control.settings.stale.jump * MODEL.velocity_limit[0] + 0.009
    assert FROM_STATE not in kinds(100)


def test_a_process_that_was_held_up_finds_the_arm_anew(arm):
    for _ in range(300):
        arm.state()
    arm.state(dt=0.4)
    assert arm.seen.resumes and float(arm.seen.pause) == pytest.approx(0.4)
    arm.state()
    assert not arm.seen.pause


def test_another_commander_lets_it_find_the_arm_anew(arm):
    arm.state()
    arm.control.cycle.lose()
    assert arm.state(permitted=False) is None
    arm.state()
    assert arm.seen.resumes
    arm.state()
    assert not arm.seen.resumes


def test_a_late_state_is_answered_at_the_time_of_the_law_at_which_it_was_measured(arm):
    for _ in range(10):
        arm.state()
    arm.state(late=5e-3)
    assert float(arm.seen.offset) == pytest.approx(5e-3, abs=1e-5)
    assert float(arm.seen.now) == pytest.approx(arm.now, abs=1e-5)


def test_the_torque_rate_limit_holds_where_a_delay_of_the_states_ends():
    """The time of the law jumps by the delay; that between two torques does not."""
    arm = Arm(torque_rate_limit=[200.0]).take_over()
    sent = []
    for k in range(120):
        dt, late = 2e-3, 0.018 if 50 <= k < 70 else 0.0
        arm.q = BENT + 0.04 * (-1.0) ** (k // 4)  # the torque follows at its rate limit
        torque = arm.state(0.02 if k == 70 else dt, late)
        if torque is not None:
            sent.append((arm.now + late, torque.copy()))
    times, torques = map(np.array, zip(*sent))
    step = np.abs(np.diff(torques, axis=0)).max(axis=1)
    assert (step <= 200.0 * np.diff(times) + 1e-6).all()
    # it does reach the limit, in usual cycles and in the one after the delay
    assert step[20:40].max() == pytest.approx(0.4, abs=1e-6)
    assert step[-52:-48].max() == pytest.approx(0.4, abs=1e-6)


def test_a_torque_between_two_states_is_returned_only_when_due(arm):
    arm.state()
    assert arm.nothing(1e-3) is None
    assert arm.nothing(1e-3, due=True) is not None and arm.seen.kind == BETWEEN


def test_without_permission_states_are_seen_and_not_answered(arm):
    arm.q = arm.q + 1e-3
    assert arm.state(permitted=False) is None
    np.testing.assert_array_equal(arm.seen.q, arm.q)


def test_an_arm_that_is_not_under_control_may_be_moved_by_anything():
    arm = Arm(stale__jump=0.02)
    arm.state()
    arm.q = arm.q + 1.0
    arm.state()
    np.testing.assert_array_equal(arm.seen.q, arm.q)
    assert not arm.seen.refused and arm.control.mode is Mode.INACTIVE
    arm.take_over()
    arm.q = arm.q + np.eye(7)[0]
    arm.state()
    assert arm.seen.refused == 1
    assert "'joint1' has jumped by 1 in 0.002 s" in arm.control.status.state_problem


def test_a_fault_names_why_no_state_counts(arm):
    problems = {}
    for name, options in (('behind', {'clock': EPOCH + 1e3}), ('frozen', {'stamp': EPOCH}),
                          ('back', {'stamp': EPOCH - 1.0})):
        arm = Arm(stale__max_skew=1e4).take_over() if name != 'behind' else Arm().take_over()
        if name == 'frozen':
            arm.state(stamp=EPOCH)
        while not arm.control.fault:
            arm.state(**{key: value - 1e-3 * arm.now if name == 'back' else value
                         for key, value in options.items()})
        problems[name] = arm.control.fault
    assert 's behind the clock; check time synchronisation and use_sim_time' in problems['behind']
    assert 'the stamp is frozen at 1700000000.000000 s' in problems['frozen']
    assert 'the stamp went back by' in problems['back']


@pytest.mark.parametrize('options', [{'hold': 0.3, 'stop': 0.2}, {'hold': 0.0},
                                     {'max_skew': 0.0}])
def test_settings_out_of_range_are_refused(options):
    with pytest.raises(ParameterError):
        StaleSettings(**options)


def test_numbers_that_are_not_finite_are_refused_and_named(arm):
    arm.state()
    before = arm.seen.q.copy()
    arm.q = arm.q.copy()
    arm.q[4] = math.nan
    assert arm.state() is None
    np.testing.assert_array_equal(arm.seen.q, before)
    assert arm.control.status.state_problem == "joint 'joint5' reports position nan, velocity 0.0"
    assert SimpleNamespace(**vars(arm.seen.problem)).joint == 4


# --- a clock that is set back -------------------------------------------------------------------

class Simulated:
    """An arm in a simulation whose clock may be set back; the law counts in its stamps."""

    def __init__(self, **settings):
        dynamics = Dynamics(MODEL)
        self.control = ArmController(
            dynamics, settings_of(stale__max_skew=math.inf, **settings), simulated=True)
        self.plant = Plant(MODEL, 1e-3)
        self.plant.reset(BENT)
        self.arrival = self.stamp = 100.0
        self.control.activate(self.stamp, self.plant.q, self.plant.qd, self.arrival)
        self.torque = self.control.gravity_torque().copy()

    def run(self, seconds):
        state = self.control.host.state
        for _ in range(round(1e3 * seconds)):
            self.arrival, self.stamp = self.arrival + 1e-3, self.stamp + 1e-3
            state.q[:], state.qd[:], state.effort[:] = self.plant.q, self.plant.qd, np.nan
            torque = self.control.receive(self.arrival, self.stamp, self.stamp)
            self.torque = self.torque if torque is None else torque.copy()
            self.plant.step(self.torque)


@pytest.mark.parametrize('floats', [False, True])
def test_an_arm_is_controlled_after_the_clock_of_a_simulation_was_set_back(floats):
    arm = Simulated(mode='gravity_compensation' if floats else 'computed_torque')
    arm.run(1.0)
    arm.stamp = 1.0
    arm.run(0.5)
    assert arm.control.mode is (Mode.FLOAT if floats else Mode.HOLD)
    arm.control.requests.hold()
    arm.run(1.0)
    assert arm.control.mode is Mode.HOLD and not arm.control.fault
    place = arm.plant.q.copy()
    arm.plant.qd[:] = 0.3
    arm.run(1.0)
    np.testing.assert_allclose(arm.plant.q, place, atol=5e-3)
    arm.control.requests.shut_down('the controller leaves')
    arm.run(1.0)
    assert arm.control.status.shutdown_over


def test_what_was_announced_before_a_clock_was_set_back_counts_no_longer():
    arm = Simulated()
    arm.run(1.0)
    arm.control.inputs.apply_wrench(arm.stamp, 'link7', [0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    arm.stamp = 1.0
    arm.run(0.5)
    assert not arm.control.inputs.wrenches.links
    np.testing.assert_array_equal(arm.control.terms[Term.EXTERNAL], 0.0)
