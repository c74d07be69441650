"""Scenarios at the node: defects of joint state messages, silence, shutdown, guard."""

import numpy as np

from golden.scenario import go, rounded, Scenario
from golden.scenarios_laws import QUICK

_ACTIVATE = (0.02, 'activate', {})


def _move(robot, begin=0.15, share=0.4, seconds=0.6):
    return (begin, 'follow', go(robot.away(share, seconds), seconds))


def _home(robot, begin, seconds=1.0):
    return (begin, 'follow', go(robot.start.tolist(), seconds))


def _node(robot, seconds, requests, spells=(), node=None, arm=None, **setup):
    setup = {'settings': QUICK, **setup}
    return Scenario(seconds, tuple(requests),
                    {**setup, 'node': node or {}}, arm or {}, tuple(spells))


# --- messages -----------------------------------------------------------------------------------

def joint_order(robot):
    """Permuted and additional joints in the states; another order in the commands."""
    return _node(robot, 0.5,
                 (_ACTIVATE, _move(robot)), ((0.0, 0.5, 'permuted', {}),),
                 {'command_joints': [*robot.names[1:], robot.names[0]]})


def partial_messages(robot):
    """States in two messages, one of them missing for a while."""
    return _node(robot, 0.7, ((0.01, 'activate', {}), _ACTIVATE, _move(robot)),
                 ((0.0, 0.012, 'split', {'both': False}), (0.012, 0.25, 'split', {}),
                  (0.25, 0.35, 'split', {'both': False}), (0.4, 0.5, 'split', {})))


def unusable_messages(robot):
    """Messages of each unusable kind, shortly; NaN beyond stale.hold; no effort."""
    bad = (('foreign', {}), ('renamed', {'names': {'2': robot.names[1]}}),
           ('without', {'quantity': 1}), ('without', {'quantity': 0}),
           ('value', {'joint': 2, 'q': 'nan'}), ('value', {'joint': 1, 'qd': 'inf'}),
           ('value', {'joint': 0, 'q': 1.5e6}), ('value', {'joint': 3, 'qd': 3000.0}))
    spells = [(0.2 + 0.04 * k, 0.22 + 0.04 * k, *each) for k, each in enumerate(bad)]
    return _node(robot, 0.8, (_ACTIVATE, _move(robot)),
                 (*spells, (0.0, 0.1, 'without', {'quantity': 2}),
                  (0.55, 0.65, 'value', {'joint': 2, 'q': 'nan'}),
                  (0.7, 0.8, 'without', {'quantity': 2})))


def stamps(robot):
    """Stamps that are zero, frozen, decreasing, and beyond max_skew."""
    spells = ((0.0, 0.15, {'none': True}), (0.2, 0.23, {'frozen': True}),
              (0.27, 0.35, {'frozen': True}), (0.4, 0.42, {'ahead': -0.05}),
              (0.45, 0.55, {'ahead': 3.0}), (0.6, 0.67, {'ahead': -3.0}))
    return _node(robot, 0.8, (_ACTIVATE, _move(robot), (0.5, 'reset_fault', {})),
                 [(begin, end, 'stamped', what) for begin, end, what in spells])


def late_states(robot):
    """States with jitter, late beyond stale.hold, duplicated, and slow."""
    return _node(robot, 0.9, (_ACTIVATE, _move(robot)),
                 ((0.2, 0.25, 'late', {'by': 0.004}), (0.3, 0.4, 'late', {'by': 0.06}),
                  (0.45, 0.5, 'duplicated', {}), (0.5, 0.6, 'every', {'ticks': 12}),
                  (0.65, 0.75, 'every', {'ticks': 40})))


# --- silence ------------------------------------------------------------------------------------

def silences(robot):
    """Silences below stale.hold, below stale.stop, and beyond with fault; reset and motion."""
    return _node(robot, 1.5,
                 (_ACTIVATE, _move(robot), _home(robot, 0.5, 0.9), (1.0, 'reset_fault', {}),
                  (1.05, 'reset_fault', {}), _home(robot, 1.1)),
                 ((0.2, 0.24, 'silence', {}), (0.3, 0.42, 'silence', {}),
                  (0.6, 1.02, 'silence', {})))


def silence_floating(robot):
    """Silence of a floating arm, return, floating again."""
    return _node(robot, 0.6, (_ACTIVATE, (0.15, 'float', {}), (0.45, 'float', {})),
                 ((0.2, 0.35, 'silence', {}),))


def process_paused(robot):
    """Pauses of the process below and beyond stale.stop, in a motion and floating."""
    return _node(robot, 1.6,
                 (_ACTIVATE, _move(robot, 0.15, 0.2, 0.9), (1.1, 'float', {})),
                 [(begin, end, 'paused', {}) for begin, end in (
                     (0.25, 0.28), (0.35, 0.55), (0.65, 0.96), (1.15, 1.45))])


def activation_refused(robot):
    """Activation without, with partial, stale, out-of-limit, contradictory, good states."""
    outside = [*rounded(robot.start)[:-1], 3.3]
    return _node(robot, 0.4,
                 ((0.0, 'activate', {}), (0.03, 'activate', {}), (0.12, 'activate', {}),
                  (0.16, 'activate', {}), (0.2, 'activate', {}), (0.3, 'activate', {})),
                 ((0.0, 0.01, 'foreign', {}), (0.01, 0.04, 'split', {'both': False}),
                  (0.05, 0.14, 'silence', {}), (0.14, 0.17, 'value', {
                      'joint': robot.nv - 1, 'q': outside[-1]}),
                  (0.17, 0.22, 'value', {'joint': 1, 'effort': 150.0})))


# --- implausible positions ----------------------------------------------------------------------

def position_jump(robot):
    """Position jumps shortly, beyond stale.hold, and for good."""
    return _node(robot, 1.5,
                 (_ACTIVATE, _move(robot), (1.3, 'reset_fault', {}), (1.35, 'hold', {})),
                 ((0.2, 0.23, 'jumped', {'joint': 1, 'by': 0.5}),
                  (0.3, 0.4, 'jumped', {'joint': 2, 'by': -0.4}),
                  (0.7, 1.5, 'jumped', {'joint': 0, 'by': 0.3})))


def joints_swapped(robot):
    """Names of two joints swapped for longer than a silence may last, and back."""
    return _node(robot, 1.0, (_ACTIVATE, (0.9, 'reset_fault', {})),
                 ((0.2, 0.7, 'swapped', {'joints': [0, 2]}),))


def continuous_joint(robot):
    """Angle of a continuous joint wrapped by its sensor."""
    last, start = robot.nv - 1, robot.start.copy()
    start[last] = 3.05
    velocity = [0.0] * last + [1.5]
    goal = [*rounded(start)[:-1], 3.6]
    return _node(robot, 0.7, (_ACTIVATE, (0.15, 'follow', go(goal, 0.4))),
                 ((0.0, 0.7, 'wrapped', {'joint': last}),),
                 arm={'start': rounded(start), 'velocity': velocity,
                      'lower': [-10.0] * robot.nv, 'upper': [10.0] * robot.nv},
                 continuous=[robot.names[last]])


# --- clocks -------------------------------------------------------------------------------------

def fixed_rate(robot):
    """Torques at a fixed rate with slow states, a silence and a pause."""
    return _node(robot, 0.8,
                 (_ACTIVATE, _move(robot)),
                 ((0.0, 0.8, 'every', {'ticks': 8}), (0.25, 0.3, 'late', {'by': 0.004}),
                  (0.4, 0.5, 'silence', {}),
                  (0.65, 0.69, 'paused', {})),
                 {'fixed_rate': 370.0})


def lockstep(robot):
    """Lockstep with repeated, unusable, older and missing states."""
    return _node(robot, 0.6, (_ACTIVATE, _move(robot)),
                 ((0.2, 0.23, 'duplicated', {}), (0.25, 0.28, 'value', {'joint': 1, 'q': 'nan'}),
                  (0.3, 0.33, 'foreign', {}), (0.4, 0.45, 'stamped', {'ahead': -0.1}),
                  (0.5, 0.55, 'silence', {})), {'lockstep': True})


def simulated_time(robot):
    """Time of a simulation, slower than the clock, with jumps ahead and back."""
    return _node(robot, 0.9, (_ACTIVATE, _move(robot)),
                 ((0.0, 0.5, 'stamped', {'speed': 0.5}),
                  (0.5, 0.6, 'stamped', {'ahead': 2.0}), (0.6, 0.9, 'stamped', {'ahead': 0.1})),
                 {'simulated': True})


# --- shutdown -----------------------------------------------------------------------------------

def _exit(robot, requests, spells=(), effort='hold', seconds=0.5, at=0.3, **more):
    return _node(robot, seconds,
                 (_ACTIVATE, *requests, (at, 'shutdown', {'effort': effort})), spells, **more)


def _with_friction(robot, part=0.06):
    """Return an arm that friction holds although it weighs more than its model."""
    return {'friction': rounded(part * robot.limit)}


def shutdown_moving(robot):
    """Shutdown during a motion with hold; second activation and motion."""
    return _exit(robot, (_move(robot), (1.0, 'activate', {}), _home(robot, 1.15)), seconds=1.3,
                 arm=_with_friction(robot))


def shutdown_release(robot):
    """Shutdown with release."""
    return _exit(robot, (_move(robot, 0.15, 0.3, 0.3),),
                 effort='release', at=0.35, arm=_with_friction(robot))


def shutdown_floating(robot):
    """Shutdown of a pushed floating arm, which needs a second attempt."""
    return _exit(robot, ((0.1, 'float', {}),),
                 ((0.2, 0.4, 'push', {'link': robot.tip, 'wrench': [20.0, 20.0, 0, 0, 0, 0]}),))


def shutdown_in_silence(robot):
    """Shutdown in silence; second activation after it."""
    return _exit(robot, (_move(robot), (1.0, 'activate', {})), ((0.22, 0.9, 'silence', {}),),
                 seconds=1.2, arm=_with_friction(robot))


def shutdown_shaken(robot):
    """Shutdown of an arm that is shaken."""
    push = {'link': robot.tip, 'wrench': [40.0, -40.0, 0.0, 1.0, 1.0, 1.0]}
    return _exit(robot, (), [(0.25, 5.0, 'every', {'ticks': 9}), *(
        (0.25 + 0.1 * k, 0.3 + 0.1 * k, 'push', push) for k in range(20))])


def shutdown_slow_torque(robot):
    """Shutdown with integral torque and a low torque rate limit."""
    return _exit(robot, (), ((0.6, 5.0, 'every', {'ticks': 9}),), seconds=0.7, at=0.6,
                 gains={'ki': 4000.0},
                 settings={**QUICK, 'torque_rate': rounded(0.6 * robot.limit)},
                 arm={'payload': [robot.wrist, 1.5, [0.0, 0.0, 0.05]],
                      **_with_friction(robot, 0.02)})


def shutdown_defect(robot):
    """Shutdown while the law raises."""
    return _exit(robot, ((0.3, 'break', {}),), arm=_with_friction(robot))


def shutdown_twice(robot):
    """Shutdown before activation, after it, and again."""
    return _node(robot, 1.1, ((0.01, 'shutdown', {}), _ACTIVATE, (0.2, 'shutdown', {}),
                              (1.0, 'shutdown', {})), arm=_with_friction(robot))


# --- the guard ----------------------------------------------------------------------------------

def _reports(begin, end, state, echo=0.0, every=0.02):
    return [(float(t), 'guard', {'state': state, 'echo': echo})
            for t in np.round(np.arange(begin, end, every), 4)]


# it is armed by the controller that is activated
_ARMED = tuple(_reports(0.005, 0.02, 'watching', every=0.01))


def guard_takes_over(robot):
    """Pause with takeover by the guard and hand-over; pause without takeover; late law."""
    torque = rounded(robot.gravity_torque() + 0.03 * robot.limit)
    return _node(robot, 1.6,
                 (*_ARMED, *_reports(0.025, 0.3, 'armed'), _ACTIVATE, _move(robot, 0.15, 0.2, 0.9),
                  (0.31, 'guard', {'state': 'commanding', 'echo': -0.05}),
                  *_reports(0.41, 0.6, 'commanding'), (0.5, 'guard_commands', {'torque': torque}),
                  (0.55, 'reset_fault', {}), (0.58, 'guard_commands', {'torque': torque}),
                  *_reports(0.6, 0.7, 'yielding'), *_reports(0.7, 1.0, 'armed'),
                  (0.75, 'reset_fault', {}), _home(robot, 0.8),
                  (1.01, 'guard', {'state': 'armed', 'echo': -0.05}),
                  *_reports(1.12, 1.3, 'armed'),
                  (1.2, 'slow_law', {'seconds': 0.07})),
                 [(begin, end, 'paused', {}) for begin, end in (
                     (0.3, 0.39), (0.85, 0.88), (1.0, 1.08), (1.3, 1.36))])


def shutdown_guard(robot):
    """Shutdown while the guard commands; refused activation."""
    return _exit(robot, (*_ARMED, *_reports(0.025, 0.2, 'armed'),
                         *_reports(0.21, 0.5, 'commanding'), (0.4, 'activate', {})),
                 ((0.2, 0.27, 'paused', {}),))


def shutdown_paused(robot):
    """Pause of the process during the last torques of a shutdown."""
    return _exit(robot, (*_ARMED, *_reports(0.025, 0.3, 'armed')), ((0.58, 0.66, 'paused', {}),),
                 arm=_with_friction(robot))


def guard_required(robot):
    """Guard that is required: missing, refusing, armed, silent, back, refusing, gone."""
    return _node(robot, 1.4,
                 (_ACTIVATE, *_reports(0.05, 0.1, 'watching', -5.0), (0.08, 'activate', {}),
                  *_reports(0.1, 0.15, 'refusing'), (0.13, 'activate', {}),
                  *_reports(0.15, 0.2, 'watching'), (0.2, 'activate', {}),
                  *_reports(0.205, 0.5, 'armed'), _move(robot, 0.35),
                  *_reports(0.85, 1.1, 'armed'), (0.9, 'reset_fault', {}), _home(robot, 0.95),
                  *_reports(1.1, 1.2, 'refusing'), (1.2, 'guard', {'state': 'gone'})),
                 node={'guard_use': 'required'})


def guard_silent(robot):
    """Guard that takes over and falls silent."""
    return _node(robot, 1.0,
                 (*_reports(0.005, 0.08, 'armed'), (0.145, 'guard', {
                     'state': 'watching', 'echo': -0.1}), (0.152, 'activate', {}),
                  *_reports(0.16, 0.2, 'watching'), (0.2, 'activate', {}),
                  *_reports(0.205, 0.3, 'armed'),
                  *_reports(0.38, 0.5, 'commanding')),
                 ((0.08, 0.14, 'paused', {}), (0.3, 0.37, 'paused', {})),
                 {'guard_use': 'expected'})
