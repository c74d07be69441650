"""Collisions, the disturbance observer, and inertia that is shaped in contact."""

from closed_loop import arm, BENT, Loop, MODEL, STRETCHED
import numpy as np
import pytest
from robodyn_ros.control import make_gains, Mode, Term
from robodyn_ros.control.arm import controller
from robodyn_ros.control.compiled import CompiledCycle
from robodyn_ros.control.settings import CollisionSettings
from robodyn_ros.control.steps import collision, observer
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.mismatch import mismatched
from design import change_settings, gains_with, settings_of
from steps import array, body_of, doubles, filled

LIMIT = np.array(MODEL.effort_limit)
ROTORS = 2e-3 * LIMIT
TIP = 'tool0'


def guarded(reaction='stop', threshold=0.05 * LIMIT, gains=None, tracking='computed_torque',
            duration=0.005, **options):
    """Return a loop around the arm with rotors that minds collisions."""
    settings = settings_of(
        mode=tracking, activation_time=0.05, collision__threshold=threshold,
        collision__reaction=reaction, collision__duration=duration)
    options.setdefault('q', BENT)
    loop = Loop(MODEL, settings, gains={'armature': ROTORS, **(gains or {})}, armature=ROTORS,
                **options)
    loop.run(0.1)
    return loop


def seen(loop):
    return loop.control.observation


# --- when it is one --------------------------------------------------------------------------

class Monitor:
    """Collisions by thresholds."""

    def __init__(self, threshold=10.0, release=0.4, duration=0.003):
        self.p = filled(collision.Program, on=1.0, threshold=threshold, duration=duration,
                        release=release * np.asarray(threshold))
        self.m = filled(collision.Memory)

    def go(self, torque, excess=None, dt=1e-3, undecided=0.0):
        """Take external torque and its excess; return whether a collision has begun."""
        excess = np.abs(torque) if excess is None else excess
        self.m, begun = collision.update(self.m, self.p, *doubles([dt, excess, torque]),
                                         doubles(undecided))
        return bool(begun)

    @property
    def present(self):
        return bool(collision.present(self.m, self.p))


def test_a_collision_needs_size_and_time_and_ends_below_another_level():
    monitor = Monitor()

    def give(size, cycles=1, joint=2):
        torque = np.zeros(7)
        torque[joint] = -size
        return [monitor.go(torque) for _ in range(cycles)]

    assert give(9.9, 10) == [False] * 10
    assert give(11.0, 2) == [False] * 2 and not monitor.present
    assert give(5.0, 10) == [False] * 10, 'between the levels no time passes'
    assert give(11.0) == [True] and array(monitor.m.colliding).tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert (monitor.m.joint, monitor.m.torque) == (2.0, -11.0)
    assert give(11.0, 5) == [False] * 5 and give(5.0) == [False] and monitor.present
    assert give(11.0) == [False], 'it is the same collision'
    assert (monitor.m.joint, monitor.m.torque, monitor.m.count) == (2.0, -11.0, 1.0)
    assert give(3.9) == [False] and not monitor.present
    assert give(11.0, 2) == [False] * 2 and give(3.0) == [False] and give(11.0, 2) == [False] * 2
    assert give(11.0) == [True] and monitor.m.count == 2.0


def test_a_collision_waits_for_a_velocity_that_differs_from_positions_but_not_for_long():
    hit = np.full(7, 20.0)
    monitor = Monitor()
    assert not any(monitor.go(hit, undecided=1.0) for _ in range(40))
    agrees = [monitor.go(hit) for _ in range(40)].index(True)
    assert agrees == pytest.approx(30, abs=1)
    monitor = Monitor()
    waited = [monitor.go(hit, undecided=1.0) for _ in range(200)].index(True)
    assert waited == pytest.approx(120, abs=1)
    for _ in range(20):
        monitor.go(np.zeros(7))
    # the time is available again only slowly
    assert [monitor.go(hit, undecided=1.0) for _ in range(100)].index(True) < 6


def test_the_joint_is_named_that_takes_part_and_exceeds_its_threshold_most():
    """Protects the message from joints that do not take part, however large their torque is."""
    monitor, torque = Monitor(0.1 * LIMIT, duration=0.0), np.zeros(7)
    torque[[0, 1, 6]] = 0.09 * LIMIT[0], 0.12 * LIMIT[1], -0.3 * LIMIT[6]
    assert monitor.go(torque)
    assert (monitor.m.joint, monitor.m.torque) == (6.0, torque[6]), '3 times, not 1.2 times'
    torque[0] = 9.0 * LIMIT[0]
    joint, value = collision.most_affected(monitor.m, monitor.p, doubles(torque))
    assert (joint, value) == (6.0, torque[6]), 'the first one does not take part'


def test_time_counts_for_each_joint_alone():
    """Protects from a collision made of short peaks of several joints."""
    monitor = Monitor(0.1 * LIMIT, 0.5, duration=0.0015)
    for k in range(12):
        excess = np.zeros(7)
        excess[k % 3], excess[(k + 1) % 3] = LIMIT[k % 3], 0.06 * LIMIT[(k + 1) % 3]
        assert not monitor.go(excess) and not monitor.present, k


def test_switched_off_it_forgets_and_sees_nothing():
    """Protects from a collision that stays for ever because its detection was switched off."""
    monitor, off = Monitor(0.1 * LIMIT, duration=0.0), filled(collision.Program)
    on = monitor.p
    assert monitor.go(LIMIT) and monitor.present
    monitor.p = off
    assert not monitor.present
    assert not monitor.go(LIMIT) and not array(monitor.m.colliding).any()
    monitor.p = on
    assert not monitor.present
    assert monitor.go(LIMIT) and monitor.m.count == 2.0


def test_reset_it_needs_all_of_its_duration_again():
    """Protects a new activation from time that was counted before it."""
    monitor = Monitor(0.1 * LIMIT)
    assert [monitor.go(LIMIT) for _ in range(2)] == [False] * 2
    monitor.m = collision.reset(monitor.m, 1.0)
    assert [monitor.go(LIMIT) for _ in range(3)] == [False, False, True]
    monitor.m = collision.reset(monitor.m, 1.0)
    assert not monitor.present


@pytest.mark.parametrize('threshold, words', [
    ([1.0, 2.0], 'collision.threshold has 2 values.*7 joints'),
    ([1.0] * 6 + [-1.0], "collision.threshold', number 7 of 7, is -1"),
    ([1.0] * 6 + [0.0], "collision.threshold', number 7 of 7, is 0")])
def test_bad_thresholds_are_refused_and_change_nothing(threshold, words):
    with pytest.raises(ParameterError, match=words):
        guarded(threshold=threshold)
    loop = guarded(threshold=None)
    with pytest.raises(ParameterError, match=words):
        change_settings(loop.control, collision__threshold=threshold)
    assert loop.control.settings.collision.threshold == ()


def test_reactions_have_names():
    with pytest.raises(ParameterError, match="'flee': choose one of report, stop, float"):
        CollisionSettings(reaction='flee')


@pytest.mark.parametrize('seed', range(3))
def test_no_alarm_in_fast_motion_of_an_arm_that_differs_from_its_model(seed):
    friction = {'friction__coulomb': 0.02 * LIMIT, 'friction__viscous': 0.01 * LIMIT,
                'friction_scale': 1.0}
    loop = guarded('report', gains=friction, plant=mismatched(MODEL, 1.05))
    loop.plant.change(friction=0.03 * LIMIT, damping=0.015 * LIMIT, armature=ROTORS)
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(2):
        loop.follow(loop.swing(1.5, rng.uniform(0.6, 0.9)), 1.5)
        for _ in range(1600):
            loop.cycle()
            worst = max(worst, np.abs(seen(loop).unknown / LIMIT).max())
    assert seen(loop).collisions == 0
    assert worst > 0.01, 'the arm does differ'


# --- what is done ----------------------------------------------------------------------------

def collide(loop, force=60.0):
    """Push against the tip in the midst of a motion until something is done; return seconds."""
    loop.moving(duration=3.0, share=0.5)
    velocity = (loop.dynamics.jacobian(loop.plant.q, TIP) @ loop.plant.qd)[:3]
    loop.plant.push(TIP, [*(-force * velocity / np.linalg.norm(velocity)), 0.0, 0.0, 0.0])
    start = loop.now
    while not seen(loop).collisions and loop.now < start + 0.5:
        loop.cycle()
    return loop.now - start


def test_stopped_the_arm_holds_where_it_was_found_until_the_cause_is_gone():
    loop = guarded('stop')
    assert collide(loop) < 0.03
    control = loop.control
    assert control.mode is Mode.STOP and control.fault.startswith('collision: external')
    assert 'collision.threshold is' in control.fault
    loop.run(0.5)
    assert control.mode is Mode.HOLD
    with pytest.raises(StateError, match='the cause is still there: external torque'):
        control.reset_fault()
    with pytest.raises(StateError, match='a fault is latched: collision'):
        loop.follow(BENT, 2.0)
    loop.plant.push(TIP, None)
    loop.run(1.0)
    assert np.abs(loop.plant.qd).max() < 1e-3
    control.reset_fault()
    loop.follow(BENT, 2.0)
    loop.settle()
    assert not control.fault and seen(loop).collisions == 1


def test_a_stop_does_not_press_on():
    # a stop along the reference would go on into the obstacle
    loop = guarded('stop')
    collide(loop)
    pressed = (loop.control.terms[Term.FEEDBACK] / LIMIT)
    assert np.abs(pressed).max() < 0.01
    np.testing.assert_allclose(loop.log[-1][3], loop.log[-1][1], atol=3e-3)  # a cycle's way


def test_a_floating_arm_yields():
    loop = guarded('float')
    collide(loop)
    assert loop.control.mode is Mode.FLOAT and loop.control.fault.startswith('collision: ')
    q = loop.plant.q.copy()
    loop.run(0.1)
    assert np.abs(loop.plant.q - q).max() > 0.02, 'pushed away'
    with pytest.raises(StateError, match='the cause is still there'):
        loop.control.reset_fault()


def test_a_report_changes_no_torque():
    torques = []
    for threshold in (None, 0.05 * LIMIT):
        loop = guarded('report', threshold=threshold)
        collide(loop)
        loop.run(0.2)
        torques.append(loop.torques[:2000])
        assert not loop.control.fault
    n = min(map(len, torques))
    np.testing.assert_array_equal(torques[0][:n], torques[1][:n])
    assert seen(loop).collisions == 1 and seen(loop).collision_text


def test_a_floating_arm_may_be_pushed():
    loop = guarded('stop')
    loop.control.requests.compensate_gravity()
    loop.run(0.3)
    loop.plant.push(TIP, [0.0, 40.0, 0.0, 0.0, 0.0, 0.0])
    loop.run(0.1)
    assert seen(loop).collision
    assert loop.control.mode is Mode.FLOAT and not loop.control.fault


def test_known_wrenches_are_no_collision():
    for known in (True, False):
        loop = guarded('stop')
        wrench = np.array([0.0, 40.0, 0.0, 0.0, 0.0, 0.0])
        loop.plant.push(TIP, wrench)
        for _ in range(200):
            if known:
                R = loop.dynamics.forward_kinematics(loop.plant.q, TIP)[:3, :3]
                loop.control.inputs.apply_wrench(
                    loop.now, TIP, [*(R.T @ wrench[:3]), 0.0, 0.0, 0.0])
            loop.cycle()
        assert bool(loop.control.fault) is not known


# --- compensation of disturbances ---------------------------------------------------------------

def sag(**gains):
    """Return the largest error at rest of an arm that is heavier than its model, and the loop."""
    loop = guarded(threshold=None, gains=gains, plant=mismatched(MODEL, 1.05))
    loop.run(1.5)
    return np.abs(loop.error[-1]).max(), loop


@pytest.mark.parametrize('tracking', ['computed_torque', 'feedforward_pd'])
def test_what_disturbs_is_compensated(tracking):
    loop = guarded(threshold=None, gains={'disturbance_observer': True}, tracking=tracking,
                   plant=mismatched(MODEL, 1.05))
    loop.run(4.0)
    assert np.abs(loop.error[-1]).max() < 3.5e-4 < 1e-3 < sag()[0]
    np.testing.assert_allclose(loop.control.terms[Term.INTEGRAL], -seen(loop).unknown,
                               atol=4e-3 * LIMIT.max())


def test_it_takes_no_more_than_it_may():
    loop = guarded(threshold=None, gains={'disturbance_observer': True})
    loop.plant.external[:] = 0.15 * LIMIT
    loop.run(3.0)
    np.testing.assert_allclose(loop.control.terms[Term.INTEGRAL][:2], -0.1 * LIMIT[:2])
    loop.plant.external[:] = 0.0
    loop.run(1.5)
    # nothing is wound up: it is gone soon
    assert np.abs(loop.control.terms[Term.INTEGRAL] / LIMIT).max() < 5e-3


def test_switched_it_goes_over_smoothly():
    _, loop = sag()
    begin = len(loop.log) - 1
    change_settings(loop.control, disturbance_observer=True)
    loop.run(4.0)
    assert np.abs(loop.error[-1]).max() < 3.5e-4
    loop.control.changes.change(loop.settings)
    loop.run(1.0)
    assert np.abs(loop.error[-1]).max() > 1e-3
    steps = np.abs(np.diff(loop.torques[begin:], axis=0)) / LIMIT
    assert steps.max() < 1e-2, 'what a transition lets through'


def test_known_wrenches_are_not_compensated_twice():
    loop = guarded(threshold=None, gains={'disturbance_observer': True})
    wrench = np.array([8.0, -5.0, 3.0, 0.0, 0.0, 0.0])
    loop.plant.push(TIP, wrench)
    for _ in range(1500):
        R = loop.dynamics.forward_kinematics(loop.plant.q, TIP)[:3, :3]
        loop.control.inputs.apply_wrench(loop.now, TIP, [*(R.T @ wrench[:3]), 0.0, 0.0, 0.0])
        loop.cycle()
    # what is learned while the wrench is filtered, is unlearned
    assert np.abs(loop.control.terms[Term.INTEGRAL] / LIMIT).max() < 5e-3
    assert np.abs(loop.error[-1]).max() < 3.5e-4


def test_a_collision_is_not_fought():
    loop = guarded('stop', gains={'disturbance_observer': True})
    collide(loop)
    loop.cycle()
    assert np.abs(seen(loop).unknown / LIMIT).max() > 0.05
    assert not loop.control.terms[Term.INTEGRAL].any()


# --- inertia shaping ---------------------------------------------------------------------------

def motion_against(stiffness, q, tracking, part):
    """Return the speed of joints early and late, with the tip held by an undamped spring."""
    dyn = Dynamics(MODEL)
    own = gains_with(dyn, armature=ROTORS).inertia
    control = guarded(threshold=None, tracking=tracking, q=q,
                      gains={'impedance__inertia': part * own}).control
    plant = Plant(MODEL, 2e-4, friction=0.0, damping=0.0, armature=ROTORS)
    plant.reset(q)
    plant.qd[:] = 0.05
    x0, speeds = dyn.forward_kinematics(q, TIP)[:3, 3].copy(), []
    for cycle in range(1000):
        torque = control.update(1.0 + 1e-3 * cycle, plant.q, plant.qd)
        for _ in range(5):
            x = dyn.forward_kinematics(plant.q, TIP)[:3, 3]
            plant.external[:] = stiffness * (x0 - x) @ dyn.jacobian(plant.q, TIP)[:3]
            plant.step(torque)
        speeds.append(np.abs(plant.qd).max())
    return max(speeds[:50]), max(speeds[-50:])


@pytest.mark.parametrize('q', [BENT, 0.95 * STRETCHED], ids=['bent', 'stretched'])
@pytest.mark.parametrize('part', [0.8, 1.0, 2.0])
def test_shaped_inertia_is_calm_on_a_stiff_spring(q, part):
    early, late = motion_against(2e4, q, 'shaped_impedance', part)
    assert late < 0.1 * early


def test_as_much_is_fed_back_as_the_present_damping_allows():
    # D goes with the root of the stiffness, which may wait for energy on its way to the gains'
    dyn = Dynamics(MODEL)
    gains = gains_with(
        dyn, impedance__inertia=0.1 * make_gains(dyn).inertia, impedance__stiffness=100.0)
    body, torque = body_of(dyn, gains), np.linspace(1.0, 7.0, 7)
    whole, part = (array(observer.stable_external(body, *doubles([BENT, torque, stiffness])))
                   for stiffness in (gains.stiffness, 0.04 * gains.stiffness))
    np.testing.assert_allclose(whole / torque, whole[0])
    assert 0.0 < whole[0] < 1.0
    np.testing.assert_allclose(part, 0.2 * whole)


class AllFedBack(CompiledCycle):
    """A cycle that feeds back all of the external torque."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        own, = self.functions['stable_part']
        self.functions['stable_part'] = [Function(lambda *_: [1.0], own.arguments, own.outputs)]


def test_all_of_the_torque_would_not_be_calm(monkeypatch):
    monkeypatch.setattr(controller, 'CompiledCycle', AllFedBack)
    early, late = motion_against(2e4, 0.95 * STRETCHED, 'shaped_impedance', 0.8)
    assert late > early


def test_pushed_joints_have_the_requested_inertia():
    own = gains_with(Dynamics(MODEL), armature=ROTORS).inertia
    loop = guarded(threshold=None, tracking='shaped_impedance', gains={
        'impedance__inertia': 4.0 * own, 'impedance__stiffness': 0.0, 'impedance__damping': 0.0})
    push = np.zeros(7)
    push[0] = 1.0
    loop.plant.external[:] = push
    loop.run(0.3)  # the observer has settled
    before = loop.plant.qd.copy()
    loop.run(0.1)
    gained = (loop.plant.qd - before) / 0.1
    assert gained[0] == pytest.approx(0.25 / own[0], rel=0.02)
    assert np.abs(gained[1:]).max() < 0.02 * gained[0]


def test_too_little_inertia_is_refused():
    dyn = Dynamics(MODEL)
    own = make_gains(dyn).inertia
    small = own * np.array([1.0, 1.0, 0.3, 1.0, 1.0, 1.0, 1.0])
    words = "impedance.inertia of joint 'joint3'.*in contact.*observer.bandwidth"
    with pytest.raises(ParameterError, match=words):
        arm(gains={'impedance__inertia': small})
    loop = arm()
    with pytest.raises(ParameterError, match=words):
        change_settings(loop.control, impedance__inertia=small)
    # damping, or a slower observer, makes room
    arm(gains={'impedance__inertia': small, 'impedance__damping': 30.0 * own})
    arm(gains={'impedance__inertia': small, 'observer__bandwidth': 5.0})
