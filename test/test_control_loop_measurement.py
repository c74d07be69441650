"""The loop of a joint is measured: from its response to the gains that follow."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
import math
from pathlib import Path

from closed_loop import Loop
from design import change_settings, settings_of
import numpy as np
import pytest
from robodyn_ros.control import ArmController, Settings
from robodyn_ros.control.arm import loop_measurement
from robodyn_ros.control.arm.gain_design import make_gains
from robodyn_ros.control.arm.loop_response import (
    certain, Doublet, fit, MeasuredLoop, moved_inertia, Response)
from robodyn_ros.control.mode import Mode
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import likely_rotors
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.inspection.loop import open_loop
from robodyn_ros.model import RobotModel
from robodyn_ros.safety.loop_margin import gain_margin, largest_frequency, phase_margin
from robodyn_ros.simulation import Plant
from robodyn_ros.trajectory import TrajectoryPoint

URDF = Path(__file__).resolve().parents[1] / 'urdf'
MODEL = RobotModel.from_urdf(URDF / 'robodyn7.urdf')
DYNAMICS = Dynamics(MODEL)
Q = np.array([0.3, 0.4, -0.2, -1.2, 0.1, 0.8, 0.3])
LIMIT = np.array(MODEL.effort_limit)
GAINS, STILL, NONE = make_gains(DYNAMICS), np.zeros(7, bool), np.zeros(7)
SEEN = ~STILL


def record(amplitude, J, F=0.0, b=0.0, rest=0.0, delay=0.0, length=4e-3, period=1e-3, noise=0.0,
           seed=0):
    """Return the doublet of a joint, integrated in steps of 10 us."""
    step, window = 1e-5, 4.0 * length + 0.05
    edges = length, 3.0 * length, 4.0 * length
    speeds, v = np.zeros(round(window / step) + 1), 0.0
    for k in range(speeds.size - 1):
        t = k * step
        u = rest + (amplitude if t < edges[0] else -amplitude if t < edges[1] else
                    amplitude if t < edges[2] else 0.0)
        if v or abs(u) > F:
            after = v + step * (u - math.copysign(F, v or u) - b * v) / J
            v = 0.0 if v and v * after < 0.0 else after
        speeds[k + 1] = v
    times = np.arange(period, window, period)
    shown = np.rint((times - delay) / step).astype(int)
    seen = np.where(shown > 0, speeds[np.clip(shown, 0, None)], 0.0)
    return Doublet(amplitude, edges, times, seen + noise * np.random.default_rng(
        seed).standard_normal(times.size))


@pytest.mark.parametrize('J, most', [(0.05, 1.0), (0.00025, 0.2)])
@pytest.mark.parametrize('F', [0.0, 0.3])
@pytest.mark.parametrize('delay, period', [(0.003, 1e-3), (0.012, 2e-3)])
def test_delay_inertia_and_friction_are_found(J, most, F, delay, period):
    length = max(4e-3, period)
    found = fit([record(a * most, J, F * most, 0.0, 0.2 * F * most, delay, length, period, 2e-3, k)
                 for k, a in enumerate((0.5, 1.0))])
    assert certain(found)
    assert found.delay == pytest.approx(delay, abs=6e-4)
    assert found.inertia == pytest.approx(J, rel=0.12)
    assert found.friction == pytest.approx(F * most, abs=0.06 * most)
    assert not found.resonance


@pytest.mark.parametrize('noise', [0.0, 2e-4])
def test_a_response_that_fills_the_record_is_no_noise(noise):
    """At 250 Hz the doublet is as long as eight states, and its response as sharp as noise."""
    shown = record(4e-4, 7.5e-4, delay=0.03, length=8e-3, period=4e-3, noise=noise)
    assert shown.noise < max(2.5 * noise, 1e-5)
    found = fit([shown])
    assert found.inertia == pytest.approx(7.5e-4, rel=0.15)
    assert found.delay == pytest.approx(0.03, abs=1e-3)


def test_noise_and_other_motion_are_no_response():
    quiet = record(0.01, 0.05, noise=2e-3)
    assert fit([quiet]) is None
    shaken = record(1.0, 0.05)
    other = Doublet(1.0, shaken.edges, shaken.times, 0.1 * np.sin(40.0 * shaken.times))
    assert not certain(fit([other]))


@pytest.mark.parametrize('drift', [0.05, -0.2])
def test_a_joint_that_swings_is_measured_beside_its_own_motion(drift):
    def swinging(amplitude):
        still = record(amplitude, 0.05, delay=0.012, noise=2e-4)
        swing = drift * (1.0 - 3.0 * still.times ** 2) + 0.2 * still.times
        return replace(still, speeds=still.speeds + swing, begin=drift).without_drift()

    found = fit([swinging(1.0)])
    assert found.inertia == pytest.approx(0.05, rel=0.12)
    assert found.delay == pytest.approx(0.012, abs=1e-3)
    assert fit([swinging(0.02)]) is None, 'a doublet that its motion hides'
    still = record(1.0, 0.05, F=0.3)
    assert still.without_drift() is still


@pytest.mark.parametrize('rotor, link, K', [(0.2, 2.0, 7000.0), (0.08, 0.08, 2000.0)])
def test_the_rotor_and_the_resonance_of_an_elastic_joint_are_found(rotor, link, K):
    step, window, delay, length, amplitude = 1e-5, 0.066, 0.004, 4e-3, 3.0
    state, speeds = np.zeros(4), []
    for k in range(round(window / step)):
        t = k * step
        u = amplitude * (1.0 if t < length else -1.0 if t < 3 * length else 1.0 if t < 4 * length
                         else 0.0)
        spring = K * (state[0] - state[2]) + 2.0 * (state[1] - state[3])
        state[1] += step * (u - spring) / rotor
        state[3] += step * spring / link
        state[[0, 2]] += step * state[[1, 3]]
        speeds.append(state[1])
    times = np.arange(1e-3, window, 1e-3)
    late = np.array([0.0 if t < delay else speeds[round((t - delay) / step)] for t in times])
    noise = 2e-3 * np.random.default_rng(0).standard_normal(times.size)
    found = fit([Doublet(amplitude, (length, 3 * length, 4 * length), times, late + noise)])
    assert found.inertia == pytest.approx(rotor, rel=0.2)
    assert found.delay == pytest.approx(delay, abs=1.5e-3)
    expected = math.sqrt(K * (1.0 / rotor + 1.0 / link)) / math.tau
    assert found.resonance == pytest.approx(expected, rel=0.1)


# --- margins ------------------------------------------------------------------------------------

@pytest.mark.parametrize('damping_ratio', [0.4, 0.7, 1.0, 2.0])
@pytest.mark.parametrize('delay', [0.002, 0.02])
def test_margins_are_those_of_the_frequency_response(damping_ratio, delay):
    w = largest_frequency(damping_ratio, delay)
    frequencies = np.geomspace(1e-2 * w, 100.0 * w, 200_001)
    s = 1j * frequencies
    loop = (2.0 * damping_ratio * w * s + w * w) * np.exp(-s * delay) / s ** 2
    phase = np.unwrap(np.angle(-loop))  # 0 where that of the loop is -180 degrees
    crossover = int(np.argmin(np.abs(np.log(np.abs(loop)))))
    assert phase_margin(w, damping_ratio, delay) == pytest.approx(phase[crossover], abs=1e-3)
    critical = int(np.flatnonzero((phase[:-1] > 0.0) & (phase[1:] <= 0.0))[0])
    assert gain_margin(w, damping_ratio, delay) == pytest.approx(
        1.0 / abs(loop[critical]), rel=1e-3)
    # one of both is at its bound
    wanted = min(math.pi / 4.0, 2.0 / 3.0 * phase_margin(1.0, damping_ratio, 0.0))
    assert (phase_margin(w, damping_ratio, delay) == pytest.approx(wanted, abs=1e-6)
            or gain_margin(w, damping_ratio, delay) == pytest.approx(2.0, abs=1e-6))
    assert phase_margin(w, damping_ratio, delay) >= wanted - 1e-9
    assert gain_margin(w, damping_ratio, delay) >= 2.0 - 1e-9


# --- what follows -------------------------------------------------------------------------------

def responses(inertia, friction=0.0, delay=0.002):
    return [Response(delay, float(J), friction, 0.0) for J in inertia]


def test_the_picture_shows_the_margins():
    kp, kd, delay, gain = 400.0, 40.0, 0.008, 2.0
    wn = math.sqrt(gain * kp)
    w = np.geomspace(1.0, 300.0, 200_000)
    loop = open_loop(w, kp, kd, delay, gain)
    crossover = np.argmin(np.abs(np.abs(loop) - 1.0))
    assert math.pi + np.unwrap(np.angle(loop))[crossover] - math.tau == pytest.approx(
        phase_margin(wn, 0.5 * gain * kd / wn, delay) - math.tau, abs=1e-3)
    turned = np.argmin(np.abs(np.unwrap(np.angle(loop))[w > w[crossover]] + math.pi))
    assert 1.0 / np.abs(loop[w > w[crossover]][turned]) == pytest.approx(
        gain_margin(wn, 0.5 * gain * kd / wn, delay), rel=1e-3)


def test_rotors_explain_inertia_that_the_model_lacks():
    M, rotors = DYNAMICS.mass_matrix(Q), 0.002 * LIMIT
    torque, still = 0.06 * LIMIT, STILL
    free = 1.0 / np.diag(np.linalg.inv(M + np.diag(rotors)))
    loop = MeasuredLoop.of(responses(free), SEEN, M, NONE, torque, 1e-3, still, GAINS)
    np.testing.assert_allclose(loop.missing, rotors, rtol=1e-3)
    assert (loop.excess == 1.0).all()
    # where the other joints are held by their friction
    locked = np.diag(M) + rotors
    loop = MeasuredLoop.of(responses(locked, 20.0), SEEN, M, NONE, torque, 1e-3, still, GAINS)
    lacks = locked > 1.3 * np.diag(M)
    np.testing.assert_allclose(loop.missing, np.where(lacks, rotors, 0.0), rtol=1e-9)


def test_a_rotor_that_is_given_later_replaces_the_measured_one():
    M, likely = DYNAMICS.mass_matrix(Q), likely_rotors(MODEL)
    found = responses(np.diag(M) + likely, 20.0)
    loop = MeasuredLoop.of(found, SEEN, M, NONE, 0.06 * LIMIT, 1e-3, STILL, GAINS)
    added = make_gains(DYNAMICS, Settings(), loop).armature
    np.testing.assert_allclose(added, loop.missing)
    given = np.full(7, 0.01)
    given[0] = 0.0
    gains = make_gains(DYNAMICS, Settings(armature=given.tolist()), loop)
    np.testing.assert_allclose(gains.armature[1:], 0.01)
    assert gains.armature[0] == added[0]


def test_a_rotor_that_is_known_is_not_found_again():
    """Dry friction locks the other joints, and may look like inertia."""
    M, rotors = DYNAMICS.mass_matrix(Q), np.full(7, 0.05)
    found = responses(2.0 * (np.diag(M) + rotors))
    for armature, added in ((rotors, False), (NONE, True)):
        loop = MeasuredLoop.of(found, SEEN, M, armature, 0.06 * LIMIT, 1e-3, STILL, GAINS)
        assert loop.missing.any() == added


@pytest.mark.parametrize('speed', [None, 100.0])
def test_the_measured_rotor_is_at_most_three_times_that_of_its_effort_limit(speed):
    """A velocity limit that is a placeholder makes no joint light: its wrist was 200 mrad off."""
    model = MODEL if speed is None else replace(MODEL, velocity_limit=np.full(7, speed))
    M = DYNAMICS.mass_matrix(Q)
    likely = LIMIT / 500.0
    loop = MeasuredLoop.of(responses(np.diag(M) + 5.0 * likely), SEEN, M, NONE, LIMIT, 1e-3, STILL,
                           GAINS)
    np.testing.assert_allclose(make_gains(Dynamics(model), Settings(), loop).armature,
                               3.0 * likely)


def test_an_arm_that_equals_its_model_changes_nothing():
    M = DYNAMICS.mass_matrix(Q)
    free = moved_inertia(M, np.zeros(7), LIMIT)
    np.testing.assert_allclose(free, 1.0 / np.diag(np.linalg.inv(M)), rtol=1e-5)
    loop = MeasuredLoop.of(responses(1.2 * free), SEEN, M, NONE, LIMIT, 1e-3, STILL, GAINS)
    assert not loop.missing.any() and (loop.excess == 1.0).all()
    np.testing.assert_allclose(loop.delay, 0.0025)


def test_a_joint_that_was_not_measured_has_the_longest_delay_of_the_others():
    found = [*responses(np.diag(DYNAMICS.mass_matrix(Q))[:6], delay=0.004), None]
    loop = MeasuredLoop.of(found, STILL, DYNAMICS.mass_matrix(Q), NONE, LIMIT, 2e-3, STILL, GAINS)
    assert loop.delay[6] == 0.005 and loop.missing[6] == 0.0
    nothing = MeasuredLoop.of([None] * 7, STILL, DYNAMICS.mass_matrix(Q), NONE, LIMIT, 2e-3,
                              STILL, GAINS)
    assert not nothing.delay.any()


def test_a_joint_that_answers_otherwise_stays_soft():
    M = DYNAMICS.mass_matrix(Q)
    found = responses(np.diag(M))
    found[1], found[2] = None, Response(0.008, float(M[2, 2]), 0.0, 0.0, 25.0)
    found[3] = Response(0.002, 0.9 * float(M[3, 3]), 0.0, 0.0, 25.0)
    loop = MeasuredLoop.of(found, SEEN, M, NONE, LIMIT, 1e-3, STILL, GAINS)
    assert loop.unexplained.tolist() == [False, True, True, False, False, False, False]
    hidden = MeasuredLoop.of(found, STILL, M, NONE, LIMIT, 1e-3, STILL, GAINS)
    assert not hidden.unexplained[1]


def test_only_the_rotor_of_an_elastic_joint_is_there():
    M = DYNAMICS.mass_matrix(Q)
    inertia = np.diag(M).copy()
    inertia[1] = 0.2  # less than with all others free
    loop = MeasuredLoop.of(responses(inertia), SEEN, M, NONE, LIMIT, 1e-3, STILL, GAINS)
    assert loop.excess[1] == pytest.approx(M[1, 1] / 0.2)
    shaken = np.arange(7) == 0
    inertia[:2] = 0.9 * M[0, 0], M[1, 1]
    loop = MeasuredLoop.of(responses(inertia), SEEN, M, NONE, LIMIT, 1e-3, shaken, GAINS)
    assert loop.excess[0] == pytest.approx(1.0 / 0.9) and (loop.excess[1:] == 1.0).all()


# --- the sequence -------------------------------------------------------------------------------

class Late:
    """The simulator, with states that are late."""

    def __init__(self, delay=0, noise=2e-3):
        self.plant = Plant(MODEL, 1e-3)
        self.plant.reset(Q)
        self._late, self._noise = [], noise
        self._delay, self._rng = delay, np.random.default_rng(0)
        self.controller = ArmController(DYNAMICS, Settings())
        self.controller.activate(0.0, Q, 0.0 * Q)
        self.torque = self.controller.gravity_torque().copy()
        self.now, self.furthest = 0.0, 0.0

    def run(self, seconds, until=lambda: False):
        end, controller = self.now + seconds, self.controller
        while self.now < end and not until():
            self._late.append((self.plant.q.copy(), self.plant.qd.copy()))
            q, qd = self._late[-1 - self._delay] if len(self._late) > self._delay else (Q, 0.0 * Q)
            noisy = qd + self._noise * self._rng.standard_normal(7)
            self.torque = controller.update(self.now, q, noisy).copy()
            self.plant.step(self.torque)
            self.furthest = max(self.furthest, float(np.abs(self.plant.q - Q).max()))
            self.now += 1e-3


def test_all_joints_are_measured_in_a_hold_by_motions_below_a_milliradian():
    arm = Late(delay=9)
    arm.controller.loop.begin()
    arm.run(6.0, lambda: arm.controller.update_loop(wait=True))
    loop, gains = arm.controller.loop.result, arm.controller.design.gains
    assert loop is not None and arm.controller.design.loop is loop and arm.now < 5.0
    assert arm.furthest < 1e-3
    free = 1.0 / np.diag(np.linalg.inv(DYNAMICS.mass_matrix(Q)))
    for each, inertia in zip(loop.responses, free):
        assert each.delay == pytest.approx(0.009, abs=1e-3)
        assert each.inertia == pytest.approx(inertia, rel=0.25)
    assert not loop.missing.any() and not gains.feedback_inertia.any()
    np.testing.assert_allclose(np.sqrt(gains.kp), [
        min(20.0, largest_frequency(1.0, delay)) for delay in loop.delay])
    assert arm.controller.status.loop_summary.endswith('ms from torque to velocity')


def test_a_joint_that_is_blocked_is_named_and_its_gains_are_not_those_of_what_it_seems():
    arm = Late(noise=0.0)
    arm.plant = Plant(MODEL, 1e-3, armature=[0.0] * 5 + [30.0, 0.0])
    arm.plant.reset(Q)
    arm.controller.loop.begin()
    arm.run(9.0, lambda: arm.controller.update_loop(wait=True))
    texts = arm.controller.status.measured_loops
    assert 'is it blocked, by a brake or a contact?' in texts['joint6'] and len(texts) == 1
    assert not arm.controller.design.gains.armature.any()


def test_no_joint_is_given_inertia_or_friction_that_it_cannot_have_while_controlled():
    """Feedback and reference would be multiplied by it: such an arm was thrown."""
    arm, likely = Late(), likely_rotors(MODEL)
    control = arm.controller
    change_settings(control, armature=likely.tolist())
    for name, value in (('armature', 1000.0), ('friction__coulomb', 200.0),
                        ('friction__stiction', 200.0), ('friction__viscous', 200.0)):
        with pytest.raises(ParameterError, match=name.replace('__', '.') + " of joint 'joint1' is"
                           f' {value:g}: more than'):
            change_settings(control, **{name: [value] * 7})
    change_settings(control, armature=NONE.tolist())
    control.loop.begin()
    arm.run(6.0, lambda: control.update_loop(wait=True))
    with pytest.raises(ParameterError, match="armature of joint 'joint5' .* by its measured"):
        change_settings(control, armature=likely.tolist())
    change_settings(control, armature=(0.5 * np.diag(DYNAMICS.mass_matrix(Q))).tolist())
    control.activation.deactivate()
    change_settings(control, armature=[1000.0] * 7)


class Turned(Late):
    """An arm that its driver carries; motors of some joints turn the other way, or not at all."""

    def __init__(self, signs, period=1):
        super().__init__(noise=0.0)
        self.signs, self._period = np.array(signs), period
        settings = settings_of(driver_compensates_gravity=True)
        self.controller = ArmController(DYNAMICS, settings)
        self.controller.activate(0.0, Q, 0.0 * Q)
        self.controller.loop.begin()

    def run(self, seconds, until=lambda: False):
        end, plant = self.now + seconds, self.plant
        while self.now < end and not until():
            torque = self.controller.update(self.now, plant.q, plant.qd).copy()
            for _ in range(self._period):
                plant.step(DYNAMICS.gravity(plant.q) + self.signs * torque)
                self.furthest = max(self.furthest, float(np.abs(plant.q - Q).max()))
            self.now += self._period * 1e-3


def test_joints_that_move_against_their_torque_are_named_before_they_move():
    arm = Turned([-1.0, 1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
    control = arm.controller
    arm.run(9.0, lambda: control.update_loop(wait=True))
    assert control.loop.result.turned.tolist() == (arm.signs < 0.0).tolist()
    assert control.status.loop_summary.startswith(
        "joints that move against their torque: 'joint1', 'joint4', 'joint7'. Correct the sign")
    with pytest.raises(StateError, match="against their torque: 'joint1'"):
        control.follow(arm.now, MODEL.joint_names, [TrajectoryPoint(Q + 0.1, NONE, NONE, (), 1.0)])
    arm.run(3.0)
    assert arm.furthest < 1e-3 and not control.fault


def test_such_a_joint_has_no_feedback_while_it_is_measured_again():
    arm = Turned([-1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    control, soft = arm.controller, arm.controller.host.program.probe.softness
    arm.run(9.0, lambda: control.update_loop(wait=True))
    assert soft[0] == 1.0
    control.loop.begin()
    arm.run(9.0, lambda: control.update_loop(wait=True) or soft[0] < 1.0)
    assert soft[0] == 1.0 and control.loop.result.turned[0]


def test_an_arm_that_does_not_answer_stays_soft():
    arm = Turned([0.0] * 7)
    control = arm.controller = ArmController(DYNAMICS, Settings())
    control.activate(0.0, Q, NONE)
    control.loop.begin()
    while arm.now < 9.0 and not control.update_loop(wait=True):
        control.update(arm.now, Q, NONE)
        arm.now += 1e-3
    assert control.loop.result is not None and not control.loop.result.answers
    assert control.host.program.probe.softness.any()


def test_at_rare_states_such_joints_are_left_without_torque():
    arm = Turned([-1.0, 1.0, 1.0, -1.0, 1.0, 1.0, -1.0], period=10)
    control = arm.controller
    arm.run(9.0, lambda: control.update_loop(wait=True) or bool(control.fault))
    assert 'driven by the feedback: its torque' in control.fault and arm.furthest < 0.05
    arm.run(2.0)
    assert arm.furthest < 0.4 and not arm.controller.status.sent.any()
    with pytest.raises(StateError, match='a fault is latched'):
        control.follow(arm.now, MODEL.joint_names, [TrajectoryPoint(Q + 0.1, NONE, NONE, (), 1.0)])


def test_a_joint_that_does_not_move_while_others_do_is_named():
    arm = Turned([1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    control = arm.controller
    arm.run(15.0, lambda: control.update_loop(wait=True))
    texts = control.status.measured_loops
    assert list(texts) == ['joint5'] and 'did not move with up to' in texts['joint5']
    assert control.design.loop.answers and not control.status.loop_problem


def test_a_motion_interrupts_the_measurement_and_a_hold_continues_it():
    arm = Late()
    arm.controller.loop.begin()
    arm.run(1.8, lambda: arm.controller.update_loop(wait=True))
    assert arm.controller.loop.running
    zero = 0.0 * Q
    arm.controller.follow(arm.now, MODEL.joint_names, [
        TrajectoryPoint(Q + 0.1, zero, zero, (), 1.0)])
    arm.run(0.9, lambda: arm.controller.update_loop(wait=True))
    reference = arm.controller.reference.q
    assert arm.controller.mode is Mode.TRACK and np.abs(arm.plant.q - reference).max() < 5e-3
    arm.run(6.0, lambda: arm.controller.update_loop(wait=True))
    assert arm.controller.loop.result is not None and not arm.controller.fault


def held_with(settings, plant, steps, rate):
    """Return an arm that is measured in its hold, and its largest speed, a part of the limit."""
    control = ArmController(DYNAMICS, settings)
    plant.reset(Q)
    control.activate(0.0, Q, 0.0 * Q)
    control.loop.begin()
    now, fastest = 0.0, 0.0
    while now < 2.0:
        control.update_loop(wait=True)
        torque = control.update(now, plant.q + plant.gap, plant.qd + plant.gap_rate).copy()
        for _ in range(steps):
            plant.step(torque)
            rotors = np.abs(plant.qd + plant.gap_rate)
            fastest = max(fastest, float((rotors / MODEL.velocity_limit).max()))
        now += 1.0 / rate
    return control, fastest


def test_an_arm_that_nobody_has_measured_is_held_softly():
    """Of whole feedback, rotors this light on springs oscillate beyond any speed limit."""
    rotors, stiffness = 0.2 * likely_rotors(MODEL), 2000.0

    def elastic():
        return Plant(MODEL, 1e-3, armature=rotors, stiffness=np.full(7, stiffness))

    control, soft = held_with(Settings(), elastic(), 2, 500)
    assert soft < 0.15 and not control.fault
    _, stiff = held_with(Settings(armature=tuple([1e-6] * 7)), elastic(), 2, 500)
    assert stiff > 3.0 * soft


def test_a_motion_before_the_measurement_has_the_whole_feedback():
    arm = Late()
    control, soft = arm.controller, arm.controller.host.program.probe.softness
    control.loop.begin()
    arm.run(1.0, lambda: control.update_loop(wait=True))
    heavy = control.design.gains.inertia > likely_rotors(MODEL)
    assert heavy.any() and not heavy.all()
    np.testing.assert_array_equal(soft, loop_measurement.CAUTION * heavy)
    control.loop.give_way()
    arm.run(0.1, lambda: control.update_loop(wait=True))
    assert soft.any(), 'a motion that is not accepted changes nothing'
    control.follow(arm.now, MODEL.joint_names, [TrajectoryPoint(Q + 0.01, NONE, NONE, (), 0.3)])
    arm.run(1.0, lambda: control.update_loop(wait=True))
    assert not soft.any() and control.loop.running, 'what moved once is not made soft again'
    control.loop.stop()
    control.loop.begin()
    arm.run(8.0, lambda: control.update_loop(wait=True))
    assert control.loop.result is not None and not soft.any()
    given = Late()
    change_settings(given.controller, armature=likely_rotors(MODEL).tolist())
    given.controller.loop.begin()
    given.run(0.5, lambda: given.controller.update_loop(wait=True))
    assert not given.controller.host.program.probe.softness.any(), 'rotors that are given'


def test_a_motion_begins_after_the_doublet_that_is_under_way():
    arm = Late(noise=0.0)
    loop, probe = arm.controller.loop, arm.controller.host.memory.probe
    loop.begin()
    assert loop.give_way() == 0.0
    arm.run(3.0, lambda: arm.controller.update_loop(wait=True) or 0.01 < probe.elapsed < 0.02)
    wait = loop.give_way()
    assert 0.0 < wait < 0.15
    arm.run(wait, lambda: arm.controller.update_loop(wait=True))
    assert probe.result == 1.0
    before = float(probe.request)
    arm.run(0.3, lambda: arm.controller.update_loop(wait=True))
    assert probe.request == before, 'no doublet while a motion is about to begin'
    arm.run(1.0, lambda: arm.controller.update_loop(wait=True))
    assert probe.request > before


def test_a_joint_that_slips_one_way_says_nothing_about_its_loop():
    times = np.arange(0.0, 0.1, 1e-3)
    for speeds, seen in ((np.sin(60.0 * times), True), (np.abs(np.sin(60.0 * times)), False)):
        joint, done = loop_measurement._Joint(0, 5.0, 0.1, 2.0, 1e-3), Future()
        done.set_result((None, False))
        joint._doublets, joint.fit = [Doublet(1.0, (0.004,), times, 0.05 * speeds)], done
        joint.take_answer()
        assert joint.seen == seen


def test_a_joint_that_drifts_is_measured_on():
    """A wrist whose rotor is not known yet hardly rests; its drift is no answer, and no way."""
    times = np.arange(0.0, 0.1, 1e-3)
    joint, done = loop_measurement._Joint(0, 5.0, 0.1, 2.0, 1e-3), Future()
    done.set_result((None, False))
    for _ in range(2):
        joint._doublets, joint.fit = [Doublet(1.0, (0.004,), times, np.full(100, 0.03))], done
        joint.take_answer()
    assert not joint.over


def test_friction_that_is_most_of_the_torque_explains_any_inertia():
    """One of a tenth was taken for a wrist that slid, and a slow oscillation followed."""
    times, done = np.arange(0.0, 0.1, 1e-3), Future()
    done.set_result((Response(0.001, 0.0006, 0.0021, 0.0, 0.0, 0.09), False))
    joint = loop_measurement._Joint(0, 5.0, 0.1, 2.0, 1e-3)
    speeds = np.minimum(1.5 * times, 0.017)
    for torque, known in ((0.0023, False), (0.01, True)):
        joint._doublets, joint.fit = [Doublet(torque, (0.004,), times, speeds)], done
        joint.take_answer()
        assert (joint.response is not None) == known and joint.over == known


def test_a_late_arm_is_not_driven_ahead_of_its_reference():
    """Its states show where the reference was 20 ms ago: 25 mrad, and 5 % more speed."""
    arm = Late(delay=20, noise=0.0)
    control, zero, rows = arm.controller, 0.0 * Q, []
    control.loop.begin()
    arm.run(6.5, lambda: control.update_loop(wait=True))
    control.follow(arm.now, MODEL.joint_names, [TrajectoryPoint(Q + 0.5, zero, zero, (), 1.0)])
    arm.run(1.5, lambda: rows.append((arm.plant.q - control.reference.q, arm.plant.qd.copy(),
                                      control.reference.qd.copy())))
    error, speed, wanted = (np.abs(each).max(axis=0) for each in map(np.array, zip(*rows)))
    assert (error < 2e-3).all() and (speed < 1.01 * wanted).all() and wanted.min() > 0.9
    assert control.message == 'the goal is reached'


def test_a_joint_that_creeps_in_its_friction_is_given_larger_doublets():
    """Two alike ended it: 3.7 kg m^2 and no friction, of a joint of 0.3 kg m^2 with 1.1 N m."""
    done, times = Future(), np.arange(0.0, 0.1, 1e-3)
    done.set_result((Response(0.004, 3.7, 0.013, 0.0, 0.0, 0.01), False))
    for peak, over in ((2e-4, False), (5e-3, True)):
        joint = loop_measurement._Joint(0, 5.0, 0.1, 2.0, 1e-3)
        for _ in range(2):
            joint._doublets = [Doublet(0.1, (0.004,), times, peak * np.sin(60.0 * times))]
            joint.fit = done
            joint.take_answer()
        assert joint.over == over and joint.response is not None


def test_a_joint_that_its_friction_holds_has_no_resonance():
    # recorded: joint7 of the simulator at 250 Hz, held by friction of 0.002 N m
    speeds = 1e-6 * np.array([758, -1394, -228, 1489, -1276, 1301, 216, -1490, 518, 93, 12, 1,
                              *[0] * 9])
    times = 4e-3 * np.arange(1, speeds.size + 1)
    edges = tuple(4e-3 * np.array([1, 3, 4, 5, 7, 8]))
    joint = loop_measurement._Joint(6, 0.7, 2e-4, 3.0, 4e-3)
    with ThreadPoolExecutor(1) as pool:
        for part in (0.5, 1.0):
            joint.add(Doublet(part * 1.17e-3, edges, times, part * speeds), pool)
            assert joint.fit.result()[0].resonance > 70.0
            joint.take_answer()
    assert joint.result is None and joint.seen and not joint.over


def test_a_record_that_cannot_be_analysed_is_no_response(monkeypatch):
    def fails(_):
        raise np.linalg.LinAlgError('Singular matrix')

    monkeypatch.setattr(loop_measurement, 'answer', fails)
    arm = Late(noise=0.0)
    arm.controller.loop.begin()
    arm.run(20.0, lambda: arm.controller.update_loop(wait=True))
    loop = arm.controller.loop.result
    assert loop.responses == (None,) * 7 and not loop.missing.any() and not arm.controller.fault


def test_a_measurement_that_was_stopped_has_no_result():
    arm = Late()
    arm.controller.loop.begin()
    arm.run(1.8, lambda: arm.controller.update_loop(wait=True))
    arm.controller.loop.stop()
    assert not arm.controller.loop.running and not arm.controller.update_loop(wait=True)
    assert arm.controller.loop.result is None and arm.controller.status.loop_summary == ''


@pytest.mark.parametrize('begin', [1.0, 8.0])
def test_torques_that_are_executed_late_throw_no_arm(begin):
    """An effort controller that obeys later: no goal is reached meanwhile, and nothing jumps."""
    loop = Loop(MODEL, q=Q)
    loop.executes = False
    control, limit = loop.control, np.array(MODEL.velocity_limit)
    control.loop.begin()

    def go_on(until):
        while loop.now < until:
            loop.cycle()
            control.update_loop(wait=True)
            assert np.all(np.abs(loop.plant.qd) < 0.6 * limit), loop.now

    go_on(begin)
    goal = [TrajectoryPoint(Q + 0.4, np.zeros(7), np.zeros(7), (), 1.5)]
    if begin > 4.0:
        with pytest.raises(StateError, match='no joint moves with its torque.*measure_loop'):
            control.follow(loop.now, MODEL.joint_names, goal)
    else:
        control.follow(loop.now, MODEL.joint_names, goal)
        go_on(begin + 2.0)
        assert 'misses its reference' in control.message
    loop.executes = True
    go_on(begin + 8.0)
    assert not control.fault and control.design.loop.answers
    control.follow(loop.now, MODEL.joint_names, goal)
    go_on(loop.now + 2.0)
    assert control.message == 'the goal is reached'


def test_a_change_of_settings_leaves_the_delay_that_is_borne_during_the_measurement():
    loop = Loop(MODEL, q=Q)
    found = loop.control.host.program.feedback.found
    assert not found
    loop.control.loop.begin()
    loop.control.update_loop()
    assert found
    change_settings(loop.control, natural_frequency=15.0)
    assert found
    loop.control.loop.stop()
    assert not found
