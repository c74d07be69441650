"""Texts of events: a template for each code, with all that an event shows."""

import ast
import math
from pathlib import Path
from types import SimpleNamespace

from closed_loop import arm, BENT, MODEL
import numpy as np
import pytest
from random_trees import Mixture, random_tree
from robodyn_ros.control import Mode
from robodyn_ros.control.arm.messages import ABORTS, Messages, PROBLEMS, TEMPLATES
from robodyn_ros.control.rollout import ENDINGS
from robodyn_ros.control.steps import modes
from robodyn_ros.model import RobotModel
from robodyn_ros.safety import events
from robodyn_ros.trajectory import TrajectoryPoint

SLIDING = RobotModel.from_urdf(random_tree(61, 4, Mixture(prismatic=1.0)))
MISSES = ((1, 0.31, 0.2, 1.25),
          "joint 'joint2': {} misses its reference by 0.31, tolerance 0.2, 1.250 s after the ")
SILENT = 'joint states: no good data for 0.052 s: '
JUMP = ("joint 'joint3' has jumped by 0.524 in 0.003 s; check encoder, joint names, and other "
        'publishers of joint states')
# joint, value, bound, time; text
EXPECTED = {
    'SILENT': ((0, 9999.0, 0.0, 3.0), 'the joint states are silent'),
    'AT_GOAL': ((0, 0.0, 0.0, 0.0), 'the goal is reached'),
    'OFF_PATH': (MISSES[0], MISSES[1].format('position') + 'start'),
    'OFF_PATH_SPEED': (MISSES[0], MISSES[1].format('velocity') + 'start'),
    'OFF_GOAL': (MISSES[0], MISSES[1].format('position') + 'last point, goal_time 0.5 s'),
    'OFF_GOAL_SPEED': (MISSES[0], MISSES[1].format('velocity') + 'last point, goal_time 0.5 s'),
    'INTERRUPTED': ((0, 0.0, 0.0, 0.0), 'the motion is given up after a gap of states or torques'),
    'UNUSABLE': ((2, float('nan'), 2e6, 0.0), "joint 'joint3' reports position nan, velocity "
                 '2000000.0; both must be finite numbers below 1e+06'),
    'LAW_NOT_FINITE': ((6, float('inf'), 0.0, 0.0),
                       "desired torque: inf for joint 'joint7'; sent gravity + damping"),
    'TORQUE_NOT_FINITE': ((6, float('nan'), 0.0, 0.0), "desired torque: nan for joint 'joint7'; "
                          'gravity + damping is not finite either; sent the last torque again'),
    'COLLIDED': ((2, -11.234, 10.0, 0.0), "collision: external torque of joint 'joint3' is "
                 '-11.2 N m, its collision.threshold is 10 N m'),
    'AT_POSE': ((0, 0.0, 0.0, 0.0), 'the target pose is reached'),
    'OUT_OF_REACH': ((0, 0.0123, 0.5, 0.0), 'the target pose of tool0 is out of reach: the '
                     'reference stops 12.3 mm and 28.6 degrees from it'),
    'NO_LINEAR_FEEDBACK': ((0, 0.0, 0.0, 0.0), 'no good message on ~/linear_feedback for 0.25 s'),
    'CARRIED_TWICE': ((1, 0.0031, 0.0, 0.024),
                      "joint 'joint2' left its place by 0.0031 rad in 0.02 s as if it were "
                      'carried twice: the driver adds the gravity torque as well. Deactivate the '
                      'controller, set driver_compensates_gravity: true, and activate it again'),
    'NOT_CARRIED': ((1, -0.0031, 0.0, 0.024),
                    "joint 'joint2' fell by -0.0031 rad in 0.02 s as if nobody carried it: the "
                    'torques are not applied, have another sign or scale, or '
                    'driver_compensates_gravity is true although the driver does not'),
    'OSCILLATES': ((1, 20.0 * math.pi, 0.0, 0.0),
                   "joint 'joint2' oscillates at 10 Hz with 2 % of its natural frequency: the "
                   'delay from its torque to its velocity is far larger than stamps show, its '
                   'joint is elastic, or its velocity is wrong'),
    'WANDERS': ((3, 0.4567, 0.0, 0.0),
                "joint 'joint4' is 0.46 rad from where it is held: its feedback, lowered because "
                'it oscillated, does not hold it. Gravity torque and damping remain'),
    'PULLED': ((1, 0.123, 0.0, 0.08),
               "joint 'joint2' left its place by 0.12 rad in 0.08 s, and gravity does not explain "
               'it: a stiffness of the drives pulls it elsewhere, or somebody moves it. Set the '
               'gains of the drives to 0'),
    'DRIVEN': ((3, 0.0145, 0.0, 0.0),
               "joint 'joint4' leaves its place, 0.015 rad so far, driven by the feedback: its "
               'torque, or that of a joint beside it, has another sign. The arm gets no torque '
               'any more; correct effort_scale, or the direction of the motors in the driver'),
    'OWN_LAW': ((0, 0.0, 0.0, 0.0), 'own law: its torque is not a finite number below 1e+09 N m'),
    'UNATTENDED': ((0, 0.0, 0.0, 0.0), 'stopped: the process of the controller does not react'),
    'NEVER': ((0, 0.0, 0.0, 0.052), SILENT + 'nothing received yet'),
    'UNSTAMPED': ((0, 0.0, 0.0, 0.052), SILENT + 'silent'),
    'SKEWED': ((0, 1.5, 0.0, 0.052), SILENT + 'stamps are 1.500 s behind the clock; check time '
               'synchronisation and use_sim_time'),
    'FROZEN': ((0, 1.7e9 + 0.25, 0.0, 0.052), SILENT + 'the stamp is frozen at '
               '1700000000.250000 s'),
    'BACK': ((0, 0.0021, 0.0, 0.052), SILENT + 'the stamp went back by 0.002100 s'),
    'LATE': ((0, 0.3, 0.0, 0.052), SILENT + 'by their stamps messages arrive 0.300 s late'),
    'JUMPED': ((2, 0.5236, 0.003, 0.052), f'{SILENT}silent ({JUMP})'),
    'NOT_FINITE': ((2, float('nan'), 0.5, 0.052),
                   f"{SILENT}silent (joint 'joint3' reports position nan, velocity 0.5)"),
    'REPEATED': ((2, -0.51, 0.0, 0.052),
                 f"{SILENT}the same state is repeated, in which joint 'joint3' moves at -0.51 "
                 'rad/s'),
    'ALTERNATING': ((2, 0.0511, 0.0, 0.0),
                    "joint 'joint3' alternates between two positions, 0.0511 apart; check for "
                    'other publishers of joint states'),
    'OVERSPEED': ((2, -2.61, 1.8, 0.0), "joint 'joint3' moves at -2.61 rad/s, 145 % of its "
                  'velocity limit 1.8 rad/s'),
    'CONTRADICTED': ((2, -1.0, 0.0, 0.0), "joint 'joint3' reports a velocity that is -1.00 times "
                     'the change of its position; its sign is opposite'),
    'STANDING': ((2, 2.0, 0.0, 0.0), "joint 'joint3' reports velocity 2 rad/s, and its position "
                 'stands still; check its encoder')}


def codes(module, first):
    """Return the constants that a module assigns together, by name."""
    tree = ast.parse(Path(module.__file__).read_text(encoding='utf-8'))
    names = [[each.id for each in node.targets[0].elts] for node in tree.body
             if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)]
    return {name: getattr(module, name) for name in next(
        each for each in names if each[0] == first)}


CODES = {**codes(modes, 'SILENT'), **codes(events, 'NEVER'), **codes(events, 'REPEATED')}


def event(code, joint=0, value=0.0, bound=0.0, time=0.0):
    return SimpleNamespace(code=code, joint=joint, value=value, bound=bound, time=time)


@pytest.fixture
def messages():
    made = Messages(MODEL, 'tool0')
    made.timeout, made.goal_time = 0.25, 0.5
    return made


def test_every_code_has_a_template_and_a_number_of_its_own():
    assert set(TEMPLATES) == set(CODES.values())
    assert len(set(CODES.values())) == len(CODES) and 0.0 not in CODES.values()
    assert max(CODES.values()) < modes.REQUESTED
    assert ABORTS | set(ENDINGS) | set(PROBLEMS) <= set(TEMPLATES)


@pytest.mark.parametrize('name', CODES)
def test_an_event_is_rendered_with_all_that_it_shows(messages, name):
    shown, text = EXPECTED[name]
    assert messages.text(event(CODES[name], *shown)) == text


@pytest.mark.parametrize('ratio, words', [
    (57.3, '57.3 times the change of its position; it seems to be in degrees per second'),
    (-57.3, '-57.3 times the change of its position; its sign is opposite, and it seems to be in '
     'degrees per second'), (9.6, 'it seems to be in revolutions per minute'),
    (1010.0, 'it seems to be in thousandths of the unit'), (3.0, 'it seems to be in another unit'),
    (-0.4, 'its sign is opposite')])
def test_the_ratio_of_a_velocity_shows_its_likely_defect(messages, ratio, words):
    text = messages.text(event(events.CONTRADICTED, value=ratio))
    assert text.endswith(words), text


def test_units_are_those_of_the_joint():
    messages = Messages(SLIDING, 'tool')
    assert 'is 3 N, its collision.threshold is 2 N' in messages.text(
        event(modes.COLLIDED, 1, 3.0, 2.0))


def test_stamps_may_be_ahead_of_the_clock(messages):
    assert 'stamps are 1.500 s ahead of the clock' in messages.text(
        event(events.SKEWED, value=-1.5))


@pytest.mark.parametrize('name', ['JUMPED', 'NOT_FINITE'])
def test_why_a_state_is_not_used(messages, name):
    shown, text = EXPECTED[name]
    assert f'({messages.problem(event(CODES[name], *shown))})' in text
    assert messages.problem(event(0.0)) == messages.problem(event(events.LATE)) == ''


def test_nothing_has_no_text(messages):
    assert messages.text(event(0.0)) == ''


def test_the_text_of_a_request_is_kept(messages):
    text = 'a goal with {braces} from outside'
    code = messages.code(text)
    assert code > modes.REQUESTED and messages.code(text) == code
    assert messages.text(event(code)) == text
    assert messages.code('another') not in (code, *CODES.values())


def test_silence_and_its_cause(messages):
    cause = messages.code('joints not reported: joint4')
    assert messages.text(event(modes.SILENT, value=cause)) == 'joints not reported: joint4'
    assert messages.text(event(events.UNSTAMPED, bound=cause, time=0.052)) == (
        SILENT + 'silent (joints not reported: joint4)')


def test_texts_that_are_still_referenced_stay_and_others_make_room(messages):
    """Protects the memory of a node to which texts are sent for months."""
    kept = messages.code('the first')
    for k in range(3000):
        messages.code(f'text {k}', (kept,))
    assert messages.text(event(kept)) == 'the first' and messages.code('the first') == kept
    found = [k for k in range(3000) if messages.text(event(kept + 1.0 + k))]
    assert len(found) <= 256 and found[-1] == 2999, 'the newest'
    assert messages.text(event(kept + 3000.0)) == 'text 2999'


def test_the_cause_of_a_silence_stays_in_its_message():
    """Protects the result of a motion from texts of later silences."""
    control, now = arm().control, 100.0
    control.activate(0.0, BENT, np.zeros(7), now)

    def states(count):
        nonlocal now
        for _ in range(count):
            now += 2e-3
            state = control.host.state
            state.q[:], state.qd[:], state.effort[:] = BENT, 0.0, np.nan
            control.receive(now, now, now)

    def silence(count, problem):
        nonlocal now
        for k in range(count):
            now += 5e-3
            control.cycle.wait(now, problem=problem.format(k))

    states(200)
    control.follow(now, MODEL.joint_names, [TrajectoryPoint(
        BENT + 0.2, np.zeros(7), np.zeros(7), (), 2.0)])
    states(50)
    assert control.mode is Mode.TRACK
    silence(100, 'joints not reported: joint4')
    message, fault = control.message, control.fault
    assert message.endswith('silent (joints not reported: joint4)') and fault.endswith('joint4)')
    silence(300, 'message of {} bytes')
    assert (control.message, control.fault) == (message, fault)
