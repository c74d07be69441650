"""What bounds the control cycle: torques that are sent, and requests that are refused."""

import itertools
import math

from closed_loop import ARM, arm, BENT, HEAVY, Loop, MODEL, STRETCHED
from design import change_settings, settings_of
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from robodyn_ros.control import ArmController, Mode
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, RobodynError, StateError, TrajectoryError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant
from robodyn_ros.trajectory import TrajectoryPoint


def requests(loop):
    """Return all requests to a controller, by name."""
    control = loop.control

    def swap_gains(frequency, ratio):
        change_settings(control, natural_frequency=frequency, damping_ratio=ratio)

    return {
        'track': lambda: loop.follow(loop.swing(1.0, 0.4), 1.0),
        'hold': lambda: control.requests.hold(),
        'float': lambda: control.requests.compensate_gravity(),
        'stop': lambda: control.requests.stop('stop'),
        'fail': lambda: (control.requests.fail('x'), control.reset_fault()),
        'silence': lambda: loop.coast(0.03),
        'resume': lambda: (loop.coast(0.03),
                           control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)),
        'stiff': lambda: swap_gains(60.0, 1.0), 'soft': lambda: swap_gains(2.0, 0.1)}


@pytest.mark.parametrize('law', ['computed_torque', 'feedforward_pd'])
@pytest.mark.parametrize('rate', [None, 300.0])
def test_no_change_of_mode_or_gains_steps_the_torque_or_passes_the_limit(law, rate):
    settings = settings_of(
        mode=law, torque_rate_limit=rate, effort_margin=0.9, activation_time=0.05)
    per_second = 100.0 * MODEL.effort_limit if rate is None else rate
    loop = arm(settings=settings, plant=HEAVY, friction=True)
    for first, second in itertools.product(requests(loop), repeat=2):
        loop.start(BENT)
        loop.run(0.1)
        requests(loop)[first]()
        loop.run(0.06)
        requests(loop)[second]()
        loop.run(0.06)
        torques = loop.torques
        assert np.isfinite(torques).all()
        assert np.all(np.abs(torques) <= 0.9 * MODEL.effort_limit * (1 + 1e-12))
        changes = np.abs(np.diff(torques, axis=0))
        assert np.all(changes <= per_second * loop.period * (1 + 1e-9) + 1e-12), (first, second)
        assert np.all((loop.q > MODEL.lower) & (loop.q < MODEL.upper)), (first, second)


def test_excessive_gains_saturate_and_that_is_reported():
    loop = arm(gains={'natural_frequency': 200.0}, plant=HEAVY)
    loop.run(0.7)
    assert not loop.control.status.saturated_joints()
    loop.plant.q[1] += 0.1
    reported = set()
    for _ in range(100):
        loop.cycle()
        reported.update(loop.control.status.saturated_joints())
    assert 'joint2' in reported and 'joint7' not in reported
    assert np.all(np.abs(loop.torques) <= MODEL.effort_limit)


@pytest.mark.parametrize('frequency', [20.0, 40.0])
@pytest.mark.parametrize('distance', [0.1, 0.45])
def test_a_large_error_is_corrected_without_oscillation(frequency, distance):
    # motors that saturate one by one would turn this into a motion of more than 100 rad/s
    loop = arm(gains={'natural_frequency': frequency})
    loop.run(0.7)
    loop.plant.q += distance * np.array([1, -1, 1, 1, -1, 1, -1])
    loop.log.clear()
    loop.run(1.5)
    speeds = np.abs(loop.column(2)).max(axis=1)
    assert speeds.max() < 0.75 * frequency * distance
    assert speeds[-100:].max() < 1e-3
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-3)


def test_where_the_driver_compensates_gravity_no_gravity_torque_is_commanded():
    loop = arm(gains={'driver_compensates_gravity': True}, plant=MODEL.with_gravity((0, 0, 0)))
    loop.run(1.0)
    assert np.abs(loop.torques).max() < 1e-9
    assert not loop.control.gravity_torque().any()
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-9)


@pytest.mark.parametrize('change, words', [
    ({0: 3.2}, "joint 'joint1' stands at 3.2000, 0.3 rad beyond its upper limit 2.9, .*move it"),
    ({3: -2.5}, "joint 'joint4' stands at -2.5000, 0.3 rad beyond its lower limit -2.2, more"),
    ({6: math.nan}, "joint 'joint7' reports position nan, velocity 0.0; both must be finite"),
    ({1: math.inf}, "joint 'joint2' reports position inf")])
def test_it_takes_over_no_arm_that_is_out_of_bounds(change, words):
    dyn = Dynamics(MODEL)
    control = ArmController(dyn)
    q = BENT.copy()
    for joint, value in change.items():
        q[joint] = value
    with pytest.raises(StateError, match=words):
        control.activate(0.0, q, np.zeros(7))
    assert control.mode is Mode.INACTIVE
    qd = np.zeros(7)
    qd[2] = math.nan
    with pytest.raises(StateError, match="joint 'joint3' .*velocity nan"):
        control.activate(0.0, BENT, qd)
    control.activate(0.0, MODEL.upper + 5e-4, np.zeros(7))


@pytest.mark.parametrize('settings, words', [
    ({'effort_limit': [10.0] * 6}, 'effort_limit has 6 values.*7 joints'),
    ({'effort_limit': [10.0] * 6 + [0.0]}, "'joint7' has effort limit 0.*set the parameter"),
    ({'effort_limit': [-1.0]}, "effort_limit' is -1.0: the least allowed is 0 N m"),
    ({'effort_limit': [150.0, 150.0, 90.0, 70.0, 40.1, 25.0, 12.0]},
     "effort_limit of joint 'joint5' is 40.1, above the 40 in the model.*lower it, or correct"),
    ({'effort_limit': [math.inf]}, "effort_limit' is inf: it must be finite"),
    ({'effort_limit': [math.nan]}, "effort_limit' is nan: it must be finite"),
    ({'effort_margin': 0.0}, "margin' is 0.0: the least"),
    ({'effort_margin': 1.5}, "margin' is 1.5: the most allowed is 1"),
    ({'torque_rate_limit': 0.0}, "torque_rate_limit' is 0.0: the least allowed is 0.001"),
    ({'torque_rate_limit': [100.0, 200.0]}, 'torque_rate_limit has 2 values.*7 joints'),
    ({'torque_rate_limit': [100.0] * 6 + [math.nan]}, "limit', number 7 of 7, is nan: it must"),
    ({'mode': 'pid'}, "mode' is 'pid': choose one of computed_torque")])
def test_settings_are_checked(settings, words):
    dyn = Dynamics(MODEL)
    with pytest.raises(ParameterError, match=f'(?s){words}'):
        ArmController(dyn, settings_of(**settings))


def test_settings_that_are_refused_change_nothing():
    loop = arm()
    control, before = loop.control, loop.control.settings
    for bad in ({'effort_margin': 1.5}, {'torque_rate_limit': 0.0}):
        with pytest.raises(ParameterError):
            change_settings(control, reflection__gain=1.0, **bad)
        assert control.settings is before and not control.inputs.reflection.enabled


def test_a_model_without_effort_limit_needs_one():
    text = ARM.read_text().replace('effort="40"', 'effort="0"')
    dyn = Dynamics(RobotModel.from_urdf(text))
    with pytest.raises(ParameterError, match="joint 'joint5' has effort limit 0.*<limit effort>"):
        ArmController(dyn)
    limits = [150, 150, 90, 70, 40, 25, 12]
    ArmController(dyn, settings_of(effort_limit=limits))


BAD_TRAJECTORIES = [
    (MODEL.joint_names, BENT + 4.0, 2.0, 'point 0.*joint1.*above the upper limit 2.9'),
    (MODEL.joint_names, BENT, 0.0, 'ends at time 0'),
    (MODEL.joint_names, BENT * math.nan, 2.0, 'joint1.*nan'),
    (MODEL.joint_names, BENT[:5], 2.0, '5 positions for 7 joints'),
    (MODEL.joint_names[:5], BENT[:5], 2.0, 'joint6.*missing'),
    (('elbow', *MODEL.joint_names[1:]), BENT, 2.0, "no joint 'elbow'"),
    ((MODEL.joint_names[1], *MODEL.joint_names[1:]), BENT, 2.0, "'joint2' is named twice"),
    (MODEL.joint_names, np.full(7, 1.5), 0.2, 'would move at .* above its velocity limit'),
    (MODEL.joint_names, STRETCHED - 0.5, math.nan, 'time_from_start is nan')]


def test_a_bad_trajectory_is_refused_and_the_motion_goes_on():
    loop = arm()
    loop.moving()
    for joints, goal, time, words in BAD_TRAJECTORIES:
        zero = np.zeros(len(goal))
        with pytest.raises(TrajectoryError, match=words):
            loop.control.follow(loop.now, joints, [TrajectoryPoint(goal, zero, zero, (), time)])
        assert loop.control.mode is Mode.TRACK
        loop.run(0.01)
    with pytest.raises(TrajectoryError, match='no points'):
        loop.control.follow(loop.now, MODEL.joint_names, [])
    with pytest.raises(TrajectoryError, match=r'ended (7.99\d|8.000) s ago'):
        loop.control.follow(loop.now, MODEL.joint_names,
                            [TrajectoryPoint(BENT, (), (), (), 2.0)], -10.0)
    loop.run(1.2)
    assert loop.control.message == 'the goal is reached'
    assert np.abs(loop.error).max() < 5e-4


def test_a_motion_that_no_motor_can_do_is_refused_with_the_numbers():
    weak = settings_of(effort_margin=0.3)
    loop = Loop(MODEL, weak, q=np.zeros(7))
    loop.run(0.7)
    with pytest.raises(TrajectoryError, match=r"'joint2' would need -?\d+.* motor has 45"):
        loop.follow(STRETCHED, 3.0)
    loop.run(0.1)
    assert loop.control.mode is Mode.HOLD


anything = st.floats() | st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 0.5])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.lists(anything, min_size=7, max_size=7),
                          st.lists(anything, min_size=7, max_size=7) | st.just([]), anything),
                max_size=4), anything)
def test_whatever_comes_as_a_trajectory_is_followed_or_refused(points, delay):
    control = FUZZED.control
    given = [TrajectoryPoint(q, qd, (), (), t) for q, qd, t in points]
    try:
        with np.errstate(all='ignore'):
            duration = control.follow(FUZZED.now, MODEL.joint_names, given, delay)
    except RobodynError:
        return
    assert 0.0 < duration < math.inf
    torque = control.update(FUZZED.now, BENT, np.zeros(7))
    assert np.isfinite(torque).all() and np.isfinite(control.reference.q).all()
    control.requests.stop('next')


FUZZED = arm()
FUZZED.run(0.1)


def test_the_plant_of_these_tests_is_the_model():
    # the tolerances above rest on this
    plant, dyn = Plant(MODEL, 1e-3, friction=0.0, damping=0.0), Dynamics(MODEL)
    plant.reset(BENT)
    plant.step(dyn.inverse_dynamics(BENT, np.zeros(7), np.ones(7)))
    np.testing.assert_allclose(plant.qdd, np.ones(7), rtol=1e-5)
