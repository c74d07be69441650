"""Faulty velocities: motion of the arm, reports, and no false alarms with nominal sensors."""

from closed_loop import BENT
from design import settings_of
from lying_arm import dynamics_of, LyingArm, path_of, SPRINT
import numpy as np
import pytest
from robodyn_ros.control import Mode
from robodyn_ros.control.steps import laws
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.safety.acceptance import BETWEEN, FROM_STATE

ROBOTS = [pytest.param(robot, sprint, id=name, marks=pytest.mark.skipif(
    path_of(robot) is None, reason='no example-robot-data')) for name, robot, sprint in (
        ('robodyn7', 'robodyn7', SPRINT), ('panda', 'panda', SPRINT),
        ('panda without rotors', 'panda', np.inf))]
GOAL = 'the goal is reached'
DEGREES = 'reports a velocity that is 57.3 times the change of its position; it seems to be in deg'
OPPOSITE = 'reports a velocity that is -1.00 times the change of its position; its sign is opp'
HOPS = 'alternates between two positions, 0.05'
REPEATED = 'no good data for 0.250 s: the same state is repeated, in which joint '
# of each fault: its entry, and its report; motion begins at 0.65 s
FAULTS = {
    'velocity zero': ('0 velocity_zero inf', GOAL),
    'velocity of one joint zero': ('0 velocity_zero {joint} inf', GOAL),
    'velocity zero at speed': ('1.35 velocity_zero inf', GOAL),
    'sign': ('0 velocity_scale inf -1', OPPOSITE),
    'sign of one joint': ('0 velocity_scale {joint} inf -1', OPPOSITE),
    'sign at speed': ('1.35 velocity_scale inf -1', OPPOSITE),
    'sign of one joint at speed': ('1.35 velocity_scale {joint} inf -1', OPPOSITE),
    'degrees': ('0 velocity_scale inf 57.29578', DEGREES),
    'degrees of one joint': ('0 velocity_scale {joint} inf 57.29578', DEGREES),
    'degrees at speed': ('1.35 velocity_scale inf 57.29578', DEGREES),
    'states repeated at speed': ('1.35 repeat 0.4', REPEATED),
    'outliers': ('0.7 velocity_outliers {joint} inf 1e5', GOAL),
    'small outliers': ('0.7 velocity_outliers {joint} inf 30', GOAL),
    'second arm': ('1.35 second_arm inf 0.05', HOPS)}


def lying(robot, entry, **options):
    """Return an arm with a fault, after a motion, and the reports."""
    joint = 'panda_joint4' if robot == 'panda' else 'joint4'
    arm = LyingArm(robot, [entry.format(joint=joint)], **options).run(0.65)
    refused = arm.go(1.6)
    arm.run(3.0)
    return arm, refused or arm.control.fault or arm.control.message


@pytest.mark.parametrize('robot, sprint', ROBOTS)
@pytest.mark.parametrize('name', FAULTS)
def test_a_lie_moves_no_arm_out_of_bounds_and_is_named(robot, sprint, name):
    entry, words = FAULTS[name]
    arm, text = lying(robot, entry, sprint=sprint)
    assert words in text
    assert arm.speed < 1.5 and arm.beyond < 0.02 and arm.torque_step < 1.0 + 1e-9
    # at rest, damped, where it should be
    assert arm.swing() < 2e-3 and arm.control.mode is Mode.HOLD
    assert np.abs(arm.plant.q - arm.control.reference.q).max() < 5e-3
    assert bool(arm.control.fault) == (words != GOAL)


@pytest.mark.parametrize('entry, unreported', [
    ('0 velocity_zero inf', range(7)), ('0 velocity_zero joint3 inf', [2]),
    ('0 nan_velocity inf', range(7)), ('0 nan_velocity joint3 joint5 inf', [2, 4])])
def test_velocity_that_is_not_reported_is_estimated(entry, unreported):
    arm, text = lying('robodyn7', entry)
    names = [f'joint{j + 1}' for j in unreported]
    assert text == GOAL and arm.swing() < 2e-3 and arm.speed < 0.7
    status = arm.control.status
    assert status.unreported_velocities == status.estimated_velocities == names
    assert status.velocity_outliers == 0
    # kd is 40/s, its velocity 10 ms late: 2 (delay) + period instead of the period
    assert arm.control.status.feedback_scale == pytest.approx(0.8 / (40.0 * 0.022), rel=0.05)


@pytest.mark.parametrize('robot, sprint', ROBOTS[::2])
@pytest.mark.parametrize(
    'law', sorted(laws.ROWS.keys() - {'gravity_compensation', 'computed_torque'}))
@pytest.mark.parametrize('name', ['velocity zero', 'sign'])
def test_a_lie_moves_no_arm_out_of_bounds_under_any_law(law, name, robot, sprint):
    entry, words = FAULTS[name]
    arm, text = lying(robot, entry, sprint=sprint, cycle={'mode': law})
    assert words in text
    assert arm.speed < 1.5 and arm.beyond < 0.02 and arm.torque_step < 1.0 + 1e-9
    # gains that act on torques are reduced, most of all those of light wrists: these creep
    assert arm.swing() < (0.2 if robot == 'panda' else 0.02)


@pytest.mark.parametrize('factor', [0.3, 0.5, 1.5, 1.8])
@pytest.mark.parametrize('joint', ['', 'joint4 '])
def test_a_velocity_of_about_the_right_size_is_estimated_and_its_ratio_found(factor, joint):
    arm, text = lying('robodyn7', f'0 velocity_scale {joint}inf {factor}')
    assert text == GOAL and arm.swing() < 2e-3 and arm.speed < 0.8
    found = arm.control.status.contradicted_velocities
    assert list(found) == ['joint4'] if joint else len(found) >= 5
    np.testing.assert_allclose(list(found.values()), factor, rtol=0.02)
    assert not arm.control.status.unreported_velocities


def test_a_velocity_that_is_reported_as_zero_is_no_collision():
    limit = dynamics_of('robodyn7').model.effort_limit
    arm, text = lying('robodyn7', '0 velocity_zero inf', cycle={
        'collision__threshold': 0.1 * limit})
    assert text == GOAL and arm.control.status.estimated_velocities


def test_an_impact_changes_several_velocities_at_once_and_is_detected_soon():
    limit = dynamics_of('robodyn7').model.effort_limit
    arm = LyingArm('robodyn7', gains={
        'collision__threshold': 0.1 * limit})
    assert not arm.go(1.5)
    arm.run(0.75)
    dynamics, plant = arm.control.dynamics, arm.plant
    J = dynamics.jacobian(plant.q, arm.model.tip)[:3]
    back = -J @ plant.qd / np.linalg.norm(J @ plant.qd)
    M = dynamics.mass_matrix(plant.q) + np.diag(arm.model.effort_limit / SPRINT)
    plant.qd[:] += np.linalg.solve(M, 2.0 * J.T @ back)  # 2 N s, then 80 N
    plant.push(arm.model.tip, [*(80.0 * back), 0.0, 0.0, 0.0])
    arm.run(0.015)
    assert 'collision' in arm.control.fault


@pytest.mark.parametrize('entry', ['1.35 nan_velocity joint2 inf', '1.35 nan_velocity 0.01'])
def test_velocity_that_is_no_number_any_more_is_estimated(entry):
    arm, text = lying('robodyn7', entry)
    assert text == GOAL and arm.swing() < 2e-3 and arm.speed < 0.7
    assert arm.control.status.unreported_velocities == (['joint2'] if 'joint2' in entry else [])
    arm, text = lying('robodyn7', entry, velocity_source='measured')
    assert (text == GOAL) == ('joint2' not in entry)


def test_velocity_that_is_reported_again_is_used_again():
    arm, text = lying('robodyn7', '0 velocity_zero 1.4')
    assert text == GOAL and not arm.control.status.estimated_velocities
    assert arm.control.status.feedback_scale == 1.0


@pytest.mark.parametrize('source', ['measured', 'estimated'])
def test_the_source_of_velocities_can_be_chosen(source):
    arm, text = lying('robodyn7', '0.6 freeze joint1 0', velocity_source=source)
    assert text == GOAL and arm.swing() < 2e-3
    estimated = list(arm.model.joint_names) if source == 'estimated' else []
    assert arm.control.status.estimated_velocities == estimated
    np.testing.assert_array_equal(arm.seen.delay, 0.01 if estimated else 0.0)
    # what is not used cannot lie, and what is used is not replaced
    arm, text = lying('robodyn7', '0 velocity_scale inf -1', velocity_source=source)
    assert (OPPOSITE in text) == (source == 'measured')
    assert (arm.speed < 0.7) == (source == 'estimated')


def test_without_velocities_measured_ones_are_missed():
    arm = LyingArm(faults=['0.1 nan_velocity inf'], velocity_source='measured').run(0.5)
    assert 'velocity nan' in arm.control.fault and arm.control.status.needs_velocity


def test_a_wrong_sign_is_a_fault_again_after_the_reset():
    arm, _ = lying('robodyn7', '0 velocity_scale inf -1')
    arm.control.reset_fault()
    assert arm.go(1.0) == ''
    arm.run(2.0)
    assert OPPOSITE in arm.control.fault and arm.speed < 1.0 and arm.swing() < 2e-3


@pytest.mark.parametrize('rate', [100.0, 500.0, 1000.0])
@pytest.mark.parametrize('factor', [0.0, -0.1, -1.0, -3.0])
@pytest.mark.parametrize('joint', ['', 'joint7 '])
def test_a_lie_that_begins_at_rest_makes_no_arm_sway_for_ever(rate, factor, joint):
    """Protects from a limit cycle, so small that a lag of the velocity could explain it."""
    arm = LyingArm(rate=rate, faults=[f'2.1 velocity_scale {joint}inf {factor}'],
                   jitter=0.5).run(0.65)
    assert arm.go(1.6) == ''
    arm.run(5.0)
    assert arm.swing() < 0.02 and arm.control.status.estimated_velocities == (
        ['joint7'] if joint else list(arm.model.joint_names))
    assert set(arm.control.status.unreported_velocities) <= (
        {*arm.model.joint_names} if factor > -0.25 else set())
    for ratio in arm.control.status.contradicted_velocities.values():
        assert ratio == pytest.approx(factor, abs=0.3)
    # in the next motion it is found out for certain
    assert arm.go(1.6) == ''
    arm.run(2.5)
    assert arm.speed < 1.0
    assert bool(arm.control.fault) == (factor < -0.25) and (factor != -1.0
                                                            or OPPOSITE in arm.control.fault)


def test_a_velocity_of_a_joint_that_stands_still_is_a_fault():
    """Protects from a velocity that stays as it was, or an encoder that stands still."""
    arm = LyingArm(faults=['0.7 velocity_outliers joint4 0.3 0'], gains={'natural_frequency': 5.0})
    arm.run(0.6)
    lie, receive = np.zeros(7), arm._reports

    def reports():
        return [type(each)(each.names, each.position, each.velocity + lie, each.effort,
                           each.stamp)
                for each in receive()]

    arm._reports, lie[3] = reports, 3.0
    arm.run(0.3)
    assert arm.control.fault == ("joint 'joint4' reports velocity 3 rad/s, and its position "
                                 'stands still; check its encoder')
    assert np.abs(arm.column(2)).max() < 0.2


@pytest.mark.parametrize('source', ['auto', 'estimated'])
@pytest.mark.parametrize('rate', [500.0, 100.0, 50.0])
@pytest.mark.parametrize('joint', [3, 6])
def test_an_arm_guided_against_a_limit_does_not_shake(joint, rate, source):
    """Protects from a brake that is too hard for slow torques, or late velocities."""
    model = dynamics_of('robodyn7').model
    pose = BENT.copy()
    pose[joint] = model.upper[joint] - 0.15
    arm = LyingArm(rate=rate, pose=pose, floating=True, velocity_source=source,
                   plant={'lower': model.lower - 0.5, 'upper': model.upper + 0.5}).run(0.65)
    step, hand = arm.plant.step, np.zeros(7)
    arm.plant.step = lambda torque: step(torque + hand)
    hand[joint] = 0.06 * model.effort_limit[joint]
    arm.run(2.5)
    assert arm.speed < 1.0 and arm.swing() < 0.4, 'at rest, or nearly'
    assert model.upper[joint] < arm.plant.q[joint] < model.upper[joint] + 0.2
    hand[:] = 0.0
    arm.run(1.0)
    assert arm.plant.q[joint] < model.upper[joint] + 0.01 and arm.speed < 1.0
    assert not arm.control.fault


# --- repeated states ----------------------------------------------------------------------------

def test_repeated_states_are_answered_by_the_prediction_until_they_are_silence():
    arm = LyingArm(faults=['1.35 repeat 0.04']).run(0.65)
    arm.go(1.6)
    arm.run(2.5)
    kinds = {kind: np.count_nonzero(arm.column(4) == kind) for kind in (FROM_STATE, BETWEEN)}
    assert kinds[BETWEEN] == pytest.approx(0.037 / 0.002, abs=3)
    assert arm.control.message == GOAL and arm.speed < 0.62


@pytest.mark.parametrize('robot, sprint', ROBOTS)
@pytest.mark.parametrize('share', [0.1, 0.25, 0.6])
@pytest.mark.parametrize('lasts', [0.5, 1.0])
def test_an_arm_is_stopped_as_well_while_states_repeat_as_while_there_are_none(
        robot, sprint, share, lasts):
    speeds = []
    for kind in ('repeat', 'silence'):
        arm = LyingArm(robot, [f'1.6 {kind} {lasts}'], sprint=sprint).run(0.65)
        assert arm.go(3.0, share) == ''
        arm.run(3.0)
        assert 'no good data' in arm.control.fault
        speeds.append(arm.speed)
    assert speeds[0] < 1.05 * speeds[1] + 0.02


def test_states_at_twice_the_rate_of_the_encoders_do_no_harm():
    once, twice = (LyingArm(rate=rate, twice=rate > 500.0).run(0.65) for rate in (500.0, 1000.0))
    for arm in (once, twice):
        assert arm.go(1.2, 0.9) == ''
        arm.run(2.0)
        assert arm.control.message == GOAL
    assert np.abs(once.plant.q - twice.plant.q).max() < 1e-5
    assert twice.control.status.velocity_outliers == 0 and twice.torque_step < 0.3


@pytest.mark.parametrize('starved', [0.0, 0.04])
def test_a_flood_of_copies_under_new_stamps_does_no_harm(starved):
    once, flooded = (LyingArm(rate=200.0, copies=copies, starved=starved).run(0.65)
                     for copies in (1, 20))
    for arm in (once, flooded):
        assert arm.go(1.2, 0.9) == ''
        arm.run(2.0)
        assert arm.control.message == GOAL and not arm.control.fault
        assert arm.speed < 0.95 and arm.swing() < 5e-3
        assert arm.torque_step < 1.0 + starved * 200.0  # of what is allowed in a period
    assert np.abs(once.plant.q - flooded.plant.q).max() < 1e-3
    assert flooded.control.status.velocity_outliers == 0


def test_a_dead_bus_at_rest_is_silence_once_the_torque_should_have_shown():
    arm = LyingArm(faults=['0.7 repeat inf']).run(0.75)
    arm.go(1.0, 0.9)
    arm.run(0.8)
    assert arm.control.fault.endswith(
        'the same state is repeated, and its effort does not follow the torque: the driver has '
        'stopped, or the brakes hold the arm (emergency stop)')
    assert arm.torque_step < 1.0


def test_an_arm_that_its_friction_holds_from_activation_on_has_no_dead_bus():
    """Protects an arm whose effort under brakes is the gravity torque, as is the first torque."""
    arm = LyingArm(plant={'friction': None, 'damping': None}, sprint=np.inf, rate=250.0,
                   pose=np.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])).run(2.0)
    assert not arm.control.fault and (arm.column(4) != BETWEEN).all()
    assert float(arm.seen.same) > 1.0, 'the same state all the time'


@pytest.mark.parametrize('effort', [1.0, 0.0, np.nan])
def test_an_arm_that_is_blocked_has_no_dead_bus(effort):
    """Protects an arm at a wall, whose coarse encoders repeat, from being taken for silent."""
    wall = {'upper': BENT + 0.05, 'lower': BENT - 0.05}
    arm = LyingArm(plant=wall, effort=effort, sensors={
        'resolution': 2.0 * np.pi / 4096, 'differentiate': True}).run(0.65)
    arm.go(1.2)
    arm.run(2.5)
    assert not arm.control.fault and not arm.seen.doubted.any()
    assert np.abs(arm.plant.q - BENT).max() < 0.06, 'blocked'
    assert np.abs(arm.torque).max() > 40.0, 'in vain'


def test_an_arm_that_sticks_after_a_motion_has_no_dead_bus_while_its_effort_follows():
    arm = LyingArm(plant={'friction': None, 'damping': None}, sensors={
        'resolution': 2.0 * np.pi / 4096, 'differentiate': True}).run(0.65)
    arm.go(0.6)
    arm.run(1.0)
    arm.plant.change(friction=500.0)
    arm.run(0.2)
    stuck = arm.plant.q.copy()
    arm.go(1.2, 0.3)
    arm.run(1.0)
    assert np.abs(arm.plant.q - stuck).max() < 1e-6 and float(arm.seen.same) > 1.0
    assert not arm.control.fault and 'position misses its reference' in arm.control.message


# --- speed --------------------------------------------------------------------------------------

def test_a_joint_that_is_too_fast_is_braked_and_that_is_a_fault():
    arm = LyingArm(floating=True).run(0.65)
    link = arm.model.body_names[-1]
    arm.plant.push(link, np.array([0.0, 120.0, 0.0, 0.0, 0.0, 0.0]))
    while not arm.control.fault and arm.time < 5.0:
        arm.run(0.002)
    arm.plant.push(link, None)
    joint = arm.control.fault.split("'")[1]
    assert arm.control.fault.startswith(f"joint '{joint}' moves at ")
    assert '% of its velocity limit' in arm.control.fault and arm.control.mode is Mode.PASSIVE
    assert 1.2 < arm.speed < 1.5
    arm.run(3.0)
    assert arm.control.mode is Mode.PASSIVE and arm.swing() < 0.02
    assert 'fault is latched' in arm.go(1.0)
    arm.control.reset_fault()
    arm.run(0.3)
    assert arm.control.mode is Mode.HOLD
    assert arm.go(1.0) == ''


def test_control_ends_from_a_passive_stop():
    arm = LyingArm(floating=True).run(0.65)
    link = arm.model.body_names[-1]
    arm.plant.push(link, np.array([0.0, 120.0, 0.0, 0.0, 0.0, 0.0]))
    while not arm.control.fault and arm.time < 5.0:
        arm.run(0.002)
    arm.plant.push(link, None)
    arm.run(0.1)
    assert arm.control.mode is Mode.PASSIVE
    arm.control.requests.shut_down('the end')
    while not arm.control.status.shutdown_over and arm.time < 15.0:
        arm.run(0.002)
    assert arm.control.status.shutdown_over and np.abs(arm.plant.qd).max() < 0.02


def test_the_speed_of_an_arm_that_is_not_under_control_is_no_fault():
    arm = LyingArm(overspeed=1.05).run(0.1)
    arm.control.activation.deactivate()
    arm.plant.qd[:] = 2.0 * arm.model.velocity_limit
    arm.run(0.1)
    assert not arm.control.fault and not arm.seen.fault.code


def test_outliers_are_replaced_and_counted():
    nominal, _ = lying('robodyn7', '0 reorder 0')
    arm, text = lying('robodyn7', '0.7 velocity_outliers joint4 inf -40')
    assert text == GOAL and arm.control.status.velocity_outliers == pytest.approx(
        2.95 * 500 / 50, abs=2)
    assert arm.torque_step < nominal.torque_step + 0.05
    assert np.abs(arm.column(1) - nominal.column(1)).max() < 1e-3


# --- no false alarms ----------------------------------------------------------------------------

COARSE = {'resolution': 2.0 * np.pi / 4096, 'differentiate': True, 'velocity_cutoff': 16.0}
NOMINAL = {
    'perfect': {}, 'of 12 bits': {'sensors': {'resolution': 2.0 * np.pi / 4096}},
    'differentiated': {'sensors': {'resolution': 1e-4, 'differentiate': True}},
    'coarse and filtered': {'sensors': COARSE},
    'coarse and slow': {'sensors': {**COARSE, 'velocity_cutoff': 8.0}},
    'filtered for 20 ms': {'lag': 0.02},
    'noisy': {'sensors': {'resolution': 1e-5, 'position_noise': 2e-4, 'velocity_noise': 0.05}},
    'with lost states': {'sensors': {'dropout': 0.05, 'resolution': 1e-4}},
    'reported twice': {'sensors': COARSE, 'twice': True}}


@pytest.mark.parametrize('name', NOMINAL)
@pytest.mark.parametrize('rate', [50.0, 100.0, 250.0, 500.0, 1000.0])
def test_nominal_sensors_are_not_blamed(name, rate):
    slow = rate == 50.0
    arm = LyingArm(rate=rate, jitter=0.1 if slow and name == 'reported twice' else 1.0,
                   **NOMINAL[name], gains={'natural_frequency': 10.0 if slow else 20.0}).run(0.65)
    assert arm.go(1.2, 0.95) == ''
    arm.run(1.8)
    assert arm.control.message == GOAL and not arm.control.fault
    status = arm.control.status
    assert not status.unreported_velocities and not status.velocity_outliers
    assert not status.estimated_velocities
    assert np.abs(arm.plant.q - arm.control.reference.q).max() < 0.01


@pytest.mark.parametrize('name', NOMINAL)
@pytest.mark.parametrize('event', ['drop', 'wall', 'wrap'])
def test_nominal_sensors_are_not_blamed_for_disturbances_of_the_arm(name, event):
    turning = ('joint1', 'joint7') if event == 'wrap' else ()
    pose = np.where(np.isin(np.arange(7), (0, 6)), [3.0, 0, 0, 0, 0, 0, -3.0], BENT)
    wall = {'upper': BENT + 0.25, 'lower': BENT - 0.25} if event == 'wall' else {}
    arm = LyingArm(**NOMINAL[name], jitter=0.5, plant=wall, continuous=turning,
                   pose=pose if turning else BENT)
    link = arm.model.body_names[-1]
    arm.run(0.65)
    if event == 'drop':
        arm.plant.push(link, np.array([0.0, 0.0, -50.0, 0.0, 0.0, 0.0]))
        arm.run(0.5)
    goal = arm.plant.q + np.array([0.7, 0, 0, 0, 0, 0, -0.8])
    assert (arm.follow(goal, 1.0) if turning else arm.go(1.2, 0.8)) == ''
    arm.run(0.6)
    arm.plant.push(link, None)
    arm.run(1.2)
    status = arm.control.status
    assert not arm.control.fault
    assert not status.unreported_velocities and not status.estimated_velocities


# --- settings -----------------------------------------------------------------------------------

@pytest.mark.parametrize('name, value', [
    ('velocity_source', 'guessed'), ('velocity_filter', 0.0), ('plausibility__motion', -1.0),
    ('plausibility__velocity_lag', 0.0), ('plausibility__repeated', 0.0), ('overspeed', 1.0),
    ('overspeed_time', 0.0)])
def test_settings_out_of_range_are_refused(name, value):
    with pytest.raises(ParameterError, match=name.replace('__', '.')):
        settings_of(**{name: value})


def test_checks_can_be_switched_off():
    off = {name: np.inf for name in ('plausibility__motion', 'plausibility__repeated',
                                     'overspeed')}
    arm, text = lying('robodyn7', '1.35 velocity_outliers joint4 0.4 30', **off)
    assert text == GOAL and arm.control.status.velocity_outliers == 0
    arm, _ = lying('robodyn7', '0.7 repeat 0.3', **off)
    assert not np.any(arm.column(4) == BETWEEN)


# --- before the arm is taken over ---------------------------------------------------------------

def moved_by_hand(arm, seconds=0.5, speed=0.6):
    """Move the joints of an arm that is not under control."""
    for _ in range(round(seconds * 500)):
        arm.plant.q += 0.002 * speed
        arm.plant.qd[:] = speed
        arm._steps += 4
        arm._receive(permitted=False)


@pytest.mark.parametrize('factor, words', [
    (-1.0, OPPOSITE), (57.29578, DEGREES), (1.0, ''), (0.0, '')])
def test_a_contradiction_that_is_seen_before_activation_refuses_it(factor, words):
    arm = LyingArm(faults=[f'0 velocity_scale joint4 inf {factor}'])
    arm.control.activation.deactivate()
    moved_by_hand(arm)
    seen = arm.control.status.states
    rest = np.array(seen.q), np.zeros(7)
    if not words:
        arm.control.activation.check_state(*rest)
        assert arm.control.status.unreported_velocities == ([] if factor else ['joint4'])
        return
    with pytest.raises(StateError) as error:
        arm.control.activation.check_state(*rest)
    assert words in str(error.value) and error.value.evidence['joint'] == 'joint4'
    # a driver that is started anew is judged anew
    arm._steps += 1000
    arm._receive(permitted=False)
    arm.control.activation.check_state(*rest)
