"""Scenarios at the node: what joint states are like on the wire, and how the arm is left."""

import numpy as np

from golden.scenario import go, ROBOTS, rounded, Scenario
from golden.scenarios_laws import QUICK

_TAKE = (0.02, 'activate', {})


def _move(robot, begin=0.15, share=0.4, seconds=0.6):
    return (begin, 'follow', go(robot.away(share, seconds), seconds))


def _home(robot, begin, seconds=1.0):
    return (begin, 'follow', go(robot.start.tolist(), seconds))


def _node(robot, name, about, seconds, requests, spells=(), node=None, arm=None, **setup):
    setup = {'settings': QUICK, 'gains': {'armature': robot.rotors}, **setup}
    return Scenario(f'node_{name}', about, seconds, tuple(requests),
                    {**setup, 'node': node or {}}, arm or {}, tuple(spells))


# --- messages -----------------------------------------------------------------------------------

def names_in_any_order(robot):
    return _node(robot, 'names_in_any_order', 'Joints are reported in another order with one that '
                 'is not of this arm, then as usual; torques go out in a third order.', 0.5,
                 (_TAKE, _move(robot)), ((0.0, 0.3, 'permuted', {}),),
                 {'command_joints': [*robot.names[1:], robot.names[0]]})


def parts_of_the_arm(robot):
    return _node(robot, 'parts_of_the_arm', 'The joints come in two messages, one of which stays '
                 'away for a while.', 0.7, ((0.01, 'activate', {}), _TAKE, _move(robot)),
                 ((0.0, 0.012, 'parted', {'both': False}), (0.012, 0.25, 'parted', {}),
                  (0.25, 0.35, 'parted', {'both': False}), (0.4, 0.5, 'parted', {})))


def messages_of_no_use(robot):
    bad = (('foreign', {}), ('renamed', {'names': {'2': robot.names[1]}}),
           ('without', {'quantity': 1}), ('without', {'quantity': 0}),
           ('value', {'joint': 2, 'q': 'nan'}), ('value', {'joint': 1, 'qd': 'inf'}),
           ('value', {'joint': 0, 'q': 1.5e6}), ('value', {'joint': 3, 'qd': 3000.0}))
    spells = [(0.2 + 0.04 * k, 0.22 + 0.04 * k, *each) for k, each in enumerate(bad)]
    return _node(robot, 'messages_of_no_use', 'Messages that cannot be used, each for a short '
                 'while, then one of them for long.', 0.8, (_TAKE, _move(robot)),
                 (*spells, (0.55, 0.65, 'value', {'joint': 2, 'q': 'nan'}),
                  (0.7, 0.8, 'without', {'quantity': 2})))


def stamps(robot):
    spells = ((0.0, 0.15, {'none': True}), (0.2, 0.23, {'frozen': True}),
              (0.27, 0.35, {'frozen': True}), (0.4, 0.42, {'ahead': -0.05}),
              (0.45, 0.55, {'ahead': 3.0}), (0.6, 0.67, {'ahead': -3.0}))
    return _node(robot, 'stamps', 'Stamps that are missing, stand still, go back, and are far '
                 'from the clock.', 0.8, (_TAKE, _move(robot), (0.5, 'reset_fault', {})),
                 [(begin, end, 'stamped', what) for begin, end, what in spells])


def late_states(robot):
    return _node(robot, 'late_states', 'States that arrive late, by little, by so much that they '
                 'count as silence, twice, and seldom.', 0.9, (_TAKE, _move(robot)),
                 ((0.2, 0.25, 'late', {'by': 0.004}), (0.3, 0.4, 'late', {'by': 0.06}),
                  (0.45, 0.5, 'twice', {}), (0.5, 0.6, 'every', {'ticks': 12}),
                  (0.65, 0.75, 'every', {'ticks': 40})))


# --- silence ------------------------------------------------------------------------------------

def silences(robot):
    return _node(robot, 'silences', 'A silence that does not count, one in which the arm is held, '
                 'one that is a fault; the fault is reset, and the arm moves.', 1.5,
                 (_TAKE, _move(robot), _home(robot, 0.5, 0.9), (1.0, 'reset_fault', {}),
                  (1.05, 'reset_fault', {}), _home(robot, 1.1)),
                 ((0.2, 0.24, 'silence', {}), (0.3, 0.42, 'silence', {}),
                  (0.6, 1.02, 'silence', {})))


def silence_of_a_floating_arm(robot):
    return _node(robot, 'silence_of_a_floating_arm', 'A floating arm falls silent, is held, and '
                 'floats on request.', 0.6, (_TAKE, (0.15, 'float', {}), (0.45, 'float', {})),
                 ((0.2, 0.35, 'silence', {}),))


def process_held_up(robot):
    return _node(robot, 'process_held_up', 'The process is held up for a moment, for longer, and '
                 'so long that the motion is given up; then while the arm floats.', 1.6,
                 (_TAKE, _move(robot, 0.15, 0.2, 0.9), (1.1, 'float', {})),
                 [(begin, end, 'held_up', {}) for begin, end in (
                     (0.25, 0.28), (0.35, 0.55), (0.65, 0.96), (1.15, 1.45))])


def nothing_before_activation(robot):
    outside = [*rounded(robot.start)[:-1], 3.3]
    return _node(robot, 'nothing_before_activation', 'Activation without a state, with parts of '
                 'one, with a stale one, outside the limits, with an effort that does not fit the '
                 'weight; then with all.', 0.4,
                 ((0.0, 'activate', {}), (0.03, 'activate', {}), (0.12, 'activate', {}),
                  (0.16, 'activate', {}), (0.2, 'activate', {}), (0.3, 'activate', {})),
                 ((0.0, 0.01, 'foreign', {}), (0.01, 0.04, 'parted', {'both': False}),
                  (0.05, 0.14, 'silence', {}), (0.14, 0.17, 'value', {
                      'joint': robot.nv - 1, 'q': outside[-1]}),
                  (0.17, 0.22, 'value', {'joint': 1, 'effort': 150.0})))


# --- positions that cannot be -------------------------------------------------------------------

def position_that_jumps(robot):
    return _node(robot, 'position_that_jumps', 'A position jumps and comes back, jumps for longer '
                 'than a silence may last, and for good: then it is believed.', 1.5,
                 (_TAKE, _move(robot), (1.3, 'reset_fault', {}), (1.35, 'hold', {})),
                 ((0.2, 0.23, 'jumped', {'joint': 1, 'by': 0.5}),
                  (0.3, 0.4, 'jumped', {'joint': 2, 'by': -0.4}),
                  (0.7, 1.5, 'jumped', {'joint': 0, 'by': 0.3})))


def joints_that_change_places(robot):
    return _node(robot, 'joints_that_change_places', 'Two joints change places for longer than '
                 'anything is believed after, and back.', 1.0, (_TAKE, (0.9, 'reset_fault', {})),
                 ((0.2, 0.7, 'swapped', {'joints': [0, 2]}),))


def angle_that_starts_over(robot):
    last, start = robot.nv - 1, robot.start.copy()
    start[last] = 3.05
    velocity = [0.0] * last + [1.5]
    goal = [*rounded(start)[:-1], 3.6]
    return _node(robot, 'angle_that_starts_over', 'The sensor of a joint that turns without end '
                 'starts over at half a turn.', 0.7, (_TAKE, (0.15, 'follow', go(goal, 0.4))),
                 ((0.0, 0.7, 'wrapped', {'joint': last}),),
                 arm={'start': rounded(start), 'velocity': velocity},
                 continuous=[robot.names[last]])


# --- other clocks -------------------------------------------------------------------------------

def fixed_rate(robot):
    return _node(robot, 'fixed_rate', 'Torques at a fixed rate between states that come slowly, '
                 'through a silence and a pause.', 0.8,
                 (_TAKE, _move(robot)),
                 ((0.0, 0.8, 'every', {'ticks': 8}), (0.4, 0.5, 'silence', {}),
                  (0.65, 0.69, 'held_up', {})),
                 {'fixed_rate': 370.0})


def lockstep(robot):
    return _node(robot, 'lockstep', 'A simulation waits for every answer: states that come twice, '
                 'or are of no use, are answered as well.', 0.6, (_TAKE, _move(robot)),
                 ((0.2, 0.23, 'twice', {}), (0.25, 0.28, 'value', {'joint': 1, 'q': 'nan'}),
                  (0.3, 0.33, 'foreign', {}), (0.4, 0.45, 'stamped', {'ahead': -0.1}),
                  (0.5, 0.55, 'silence', {})), {'lockstep': True})


def simulated_time(robot):
    return _node(robot, 'simulated_time', 'Stamps run slower than the clock, and so do motions; '
                 'then they leap ahead, and back.', 0.9, (_TAKE, _move(robot)),
                 ((0.0, 0.5, 'stamped', {'speed': 0.5}),
                  (0.5, 0.6, 'stamped', {'ahead': 2.0}), (0.6, 0.9, 'stamped', {'ahead': 0.1})),
                 {'simulated': True})


# --- leaving ------------------------------------------------------------------------------------

def _left(robot, name, about, requests, spells=(), effort='hold', seconds=0.5, at=0.3, **more):
    return _node(robot, f'leaves_{name}', about, seconds,
                 (_TAKE, *requests, (at, 'leave', {'effort': effort})), spells, **more)


def _heavy_going(robot, part=0.06):
    """Return an arm whose friction holds it, although it weighs more than its model."""
    return {'friction': rounded(part * robot.limit)}


def leaves_moving(robot):
    return _left(robot, 'moving', 'Left in the midst of a motion: it stops, and its weight is the '
                 'last torque. It is taken over again, and moves.',
                 (_move(robot), (1.0, 'activate', {}), _home(robot, 1.15)), seconds=1.3,
                 arm=_heavy_going(robot))


def leaves_to_nothing(robot):
    return _left(robot, 'to_nothing', 'Left with a ramp to zero.', (_move(robot, 0.15, 0.3, 0.3),),
                 effort='release', at=0.35, arm=_heavy_going(robot))


def leaves_floating(robot):
    return _left(robot, 'floating', 'Left while it floats and is pushed; it does not stay where '
                 'it is left, and is brought to rest once more.', ((0.1, 'float', {}),),
                 ((0.2, 0.4, 'push', {'link': robot.tip, 'wrench': [20.0, 20.0, 0, 0, 0, 0]}),))


def leaves_in_silence(robot):
    return _left(robot, 'in_silence', 'Left while states stay away.', (_move(robot),),
                 ((0.22, 5.0, 'silence', {}),))


def leaves_a_restless_arm(robot):
    return _left(robot, 'a_restless_arm', 'Left while something shakes it.', (), [
        (0.25, 5.0, 'every', {'ticks': 9}), *((0.25 + 0.1 * k, 0.3 + 0.1 * k, 'push', {
            'link': robot.tip, 'wrench': [40.0, -40.0, 0.0, 1.0, 1.0, 1.0]})
        for k in range(20))])


def leaves_slowly(robot):
    return _left(robot, 'slowly', 'Left while the integral carries an unknown load, with torque '
                 'that may change slowly only.', (), ((0.6, 5.0, 'every', {'ticks': 9}),), seconds=0.7, at=0.6,
                 gains={'armature': robot.rotors, 'ki': 4000.0},
                 settings={**QUICK, 'torque_rate': rounded(0.6 * robot.limit)},
                 arm={'payload': [robot.wrist, 1.5, [0.0, 0.0, 0.05]],
                      **_heavy_going(robot, 0.02)})


def leaves_with_a_defect(robot):
    return _left(robot, 'with_a_defect', 'Left while the law raises: the weight is sent.',
                 ((0.3, 'break', {}),), arm=_heavy_going(robot))


def leaves_inactive(robot):
    return _node(robot, 'leaves_inactive', 'Left before it was taken over, and a second time.',
                 1.1, ((0.01, 'leave', {}), _TAKE, (0.2, 'leave', {}), (1.0, 'leave', {})),
                 arm=_heavy_going(robot))


# --- the guard ----------------------------------------------------------------------------------

def _says(begin, end, word, echo=0.0, every=0.02):
    return [(float(t), 'guard', {'word': word, 'echo': echo})
            for t in np.round(np.arange(begin, end, every), 4)]


def guard_takes_over(robot):
    torque = rounded(robot.weight() + 0.03 * robot.limit)
    return _node(robot, 'guard_takes_over', 'Held up, the controller asks its guard, which has '
                 'taken over; it commands again when it gets the arm back, and where the guard '
                 'says that nothing has happened.', 1.6,
                 (*_says(0.005, 0.3, 'armed'), _TAKE, _move(robot, 0.15, 0.2, 0.9),
                  (0.31, 'guard', {'word': 'commanding', 'echo': -0.05}),
                  *_says(0.41, 0.6, 'commanding'), (0.5, 'guard_commands', {'torque': torque}),
                  (0.55, 'reset_fault', {}), (0.58, 'guard_commands', {'torque': torque}),
                  *_says(0.6, 0.7, 'yielding'), *_says(0.7, 1.0, 'armed'),
                  (0.75, 'reset_fault', {}), _home(robot, 0.8),
                  (1.01, 'guard', {'word': 'armed', 'echo': -0.05}), *_says(1.12, 1.3, 'armed'),
                  (1.2, 'slow_law', {'seconds': 0.07})),
                 [(begin, end, 'held_up', {}) for begin, end in (
                     (0.3, 0.39), (1.0, 1.08), (1.3, 1.36))])


def guard_in_charge_at_the_end(robot):
    return _left(robot, 'to_the_guard', 'Left while its guard commands, which then has the arm; '
                 'it cannot be taken over then.',
                 (*_says(0.005, 0.2, 'armed'), *_says(0.21, 0.5, 'commanding'),
                  (0.4, 'activate', {})), ((0.2, 0.27, 'held_up', {}),))


def held_up_while_leaving(robot):
    return _left(robot, 'held_up', 'Held up while the last torques are sent, the controller asks '
                 'its guard and waits for its answer.',
                 (*_says(0.005, 0.3, 'armed'),), ((0.58, 0.66, 'held_up', {}),),
                 arm=_heavy_going(robot))


def guard_required(robot):
    return _node(robot, 'guard_required', 'Nothing moves without a guard: it is missing, refuses, '
                 'is there, falls silent, is back, and goes.', 1.4,
                 (_TAKE, *_says(0.05, 0.1, 'watching', -5.0), (0.08, 'activate', {}),
                  *_says(0.1, 0.15, 'refusing'), (0.13, 'activate', {}),
                  *_says(0.15, 0.5, 'armed'), (0.2, 'activate', {}), _move(robot, 0.35),
                  *_says(0.85, 1.1, 'armed'), (0.9, 'reset_fault', {}), _home(robot, 0.95),
                  *_says(1.1, 1.2, 'refusing'), (1.2, 'guard', {'word': 'gone'})),
                 node={'guard_required': True})


def guard_dies(robot):
    return _node(robot, 'guard_dies', 'The guard takes over and falls silent: the controller '
                 'commands again.', 1.0,
                 (*_says(0.005, 0.3, 'armed'), _TAKE, *_says(0.38, 0.5, 'commanding')),
                 ((0.3, 0.37, 'held_up', {}),), {'guard_expected': True})


ALL = (names_in_any_order, parts_of_the_arm, messages_of_no_use, stamps, late_states, silences,
       silence_of_a_floating_arm, process_held_up, nothing_before_activation,
       position_that_jumps, joints_that_change_places, angle_that_starts_over, fixed_rate,
       lockstep, simulated_time, leaves_moving, leaves_to_nothing, leaves_floating,
       leaves_in_silence, leaves_a_restless_arm, leaves_slowly, leaves_with_a_defect,
       leaves_inactive, guard_takes_over, guard_in_charge_at_the_end,
       held_up_while_leaving, guard_required, guard_dies)
# what does not depend on the arm is recorded with one of them
BOTH = (names_in_any_order, silences, process_held_up, fixed_rate, lockstep, leaves_moving,
        leaves_to_nothing, guard_takes_over)


def node_scenarios(robot):
    """Return the scenarios of a robot, by name."""
    made = [make(robot) for make in (ALL if robot.name == ROBOTS[0] else BOTH)]
    return {each.name: each for each in made}
