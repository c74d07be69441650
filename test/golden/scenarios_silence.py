"""Scenarios: states that stay away, come late, or make no sense."""

from golden.scenario import go, rounded, Scenario
from golden.scenarios_laws import BEGIN, linear_command, QUICK
from golden.scenarios_motion import moving, pose, SETUP

_BACK = (0.45, 'resume', {})
_SILENT = ((0.3, 0.35, 'pause', {}), (0.35, 0.45, 'silence', {}))


def _silent(robot, name, about, *requests, spells=_SILENT, setup=None, seconds=0.65, **arm):
    return Scenario(name, about, seconds, (BEGIN, *requests), setup or SETUP, arm, spells)


def silence_in_hold(robot):
    return _silent(robot, 'silence_in_hold', 'A held arm is held on by the model.', _BACK,
                   payload=[robot.wrist, 0.4, [0.0, 0.0, 0.05]])


def silence_while_tracking(robot):
    return _silent(robot, 'silence_while_tracking', 'The model brings a moving arm to rest; when '
                   'states come again it is held where it is found, and moves on request.',
                   moving(robot), _BACK, (0.6, 'follow', go(robot.start.tolist(), 0.4)))


def silence_floating(robot):
    return _silent(robot, 'silence_floating', 'A floating arm is stopped in silence, and floats '
                   'on request.', (0.12, 'float', {}), _BACK, (0.55, 'float', {}),
                   velocity=rounded(0.1 * robot.speed))


def silence_reaching(robot):
    return _silent(robot, 'silence_reaching', 'The motion to a pose ends in silence.',
                   (0.12, 'reach', pose(robot, (0.1, 0.0, 0.05))), _BACK,
                   setup={'settings': {**QUICK, 'tracking': 'cartesian_impedance'}})


def silence_in_linear_feedback(robot):
    commands = [(0.15 + 0.05 * k, 'linear', linear_command(robot)) for k in range(9)]
    return _silent(robot, 'silence_in_linear_feedback', 'Linear feedback loses the arm in '
                   'silence, and has it back afterwards.', *commands, _BACK,
                   setup={'settings': {**QUICK, 'guest': 'linear_feedback'}})


def silence_in_own_law(robot):
    return _silent(robot, 'silence_in_own_law', 'A law of the user loses the arm in silence, and '
                   'has it back afterwards.', moving(robot), _BACK,
                   setup={'settings': {**QUICK, 'guest': 'own_law'},
                          'own_law': 'robodyn_ros.control.examples.own_law:Integrating'})


def silence_of_an_impedance(robot):
    return _silent(robot, 'silence_of_an_impedance', 'Silence with shaped inertia, a known wrench '
                   'that times out, and a load that is being taken over.',
                   (0.29, 'wrench', {'link': robot.tip, 'wrench': [4.0, 2.0, -6.0, 0, 0, 0]}),
                   (0.28, 'payload', {'link': robot.wrist, 'mass': 0.4, 'com': [0, 0, 0.05]}),
                   _BACK, setup={'settings': {**QUICK, 'tracking': 'shaped_impedance'}})


def silence_that_is_a_fault(robot):
    return _silent(robot, 'silence_that_is_a_fault', 'In a long silence a fault is latched, which '
                   'outlasts it until it is reset.', moving(robot),
                   (0.55, 'fail', {'fault': 'joint states: no good data for 0.25 s: silent'}),
                   (0.6, 'resume', {}), (0.65, 'follow', go(robot.start.tolist(), 0.4)),
                   (0.7, 'reset_fault', {}), (0.72, 'follow', go(robot.start.tolist(), 0.4)),
                   spells=((0.3, 0.35, 'pause', {}), (0.35, 0.6, 'silence', {})), seconds=0.85)


def silence_of_an_arm_elsewhere(robot):
    push = {'link': robot.tip, 'wrench': [40.0, 40.0, -40.0, 2.0, 2.0, 2.0]}
    soft = {'stiffness': rounded(0.01 * robot.limit)}
    return _silent(robot, 'silence_of_an_arm_elsewhere', 'A soft arm that is pushed far off its '
                   'reference falls silent: no prediction is believed.', _BACK,
                   setup={'settings': {**QUICK, 'tracking': 'joint_impedance'}, 'gains': soft},
                   spells=((0.1, 0.5, 'push', push), *_SILENT))


def silences_in_a_row(robot):
    return _silent(robot, 'silences_in_a_row', 'Silence, a few states, silence again.',
                   moving(robot), (0.3, 'resume', {}), (0.42, 'resume', {}),
                   spells=((0.25, 0.3, 'silence', {}), (0.32, 0.42, 'silence', {})))


# --- pauses of the process --------------------------------------------------------------------

def pause_while_tracking(robot):
    return _silent(robot, 'pause_while_tracking', 'The process is held up for long, and gives the '
                   'motion up.', moving(robot), (0.6, 'resume', {}),
                   spells=((0.3, 0.6, 'pause', {}),), seconds=0.8)


def pause_floating(robot):
    return _silent(robot, 'pause_floating', 'After a pause a floating arm goes on floating.',
                   (0.12, 'float', {}), (0.6, 'resume', {}), spells=((0.3, 0.6, 'pause', {}),),
                   velocity=rounded(0.05 * robot.speed), seconds=0.7)


def pause_that_is_made_up_for(robot):
    return _silent(robot, 'pause_that_is_made_up_for', 'Short pauses: the motion goes on, with '
                   'less feedback for a while; a long one counts as the longest.',
                   moving(robot, 0.2, 0.9), spells=((0.25, 0.28, 'pause', {}),
                                                    (0.4, 0.5, 'pause', {}),
                                                    (0.65, 0.95, 'pause', {})), seconds=1.15)


def states_now_and_then(robot):
    return _silent(robot, 'states_now_and_then', 'States that come slowly and irregularly: '
                   'feedback is as strong as that allows.', moving(robot, 0.3, 0.8),
                   spells=((0.25, 0.5, 'rare', {'every': 12}), (0.55, 0.7, 'rare', {'every': 21}),
                           (0.75, 0.95, 'rare', {'every': 5})), seconds=1.1)


def clock_that_leaps(robot):
    return _silent(robot, 'clock_that_leaps', 'Times that go back, stand still, and leap ahead.',
                   moving(robot), spells=((0.25, 0.3, 'clock', {'ahead': -0.02}),
                                          (0.4, 0.45, 'clock', {'ahead': 0.3}),
                                          (0.5, 0.55, 'clock', {'ahead': -0.4})))


# --- states that make no sense ----------------------------------------------------------------

def _spoilt(robot, name, about, **what):
    begin = 0.25
    return _silent(robot, name, about, moving(robot), (0.4, 'resume', {}),
                   (0.45, 'reset_fault', {}), (0.5, 'follow', go(robot.start.tolist(), 0.4)),
                   spells=((begin, begin + 0.05, 'state', {'joint': 2, **what}),))


def states_not_a_number(robot):
    return _spoilt(robot, 'states_not_a_number', 'Positions that are not numbers: a fault, and '
                   'silence.', q='nan')


def states_infinite(robot):
    return _spoilt(robot, 'states_infinite', 'Velocities that are infinite.', qd='-inf')


def states_absurd(robot):
    return _spoilt(robot, 'states_absurd', 'Velocities that no joint has.', qd=2e6)


def states_large(robot):
    return _spoilt(robot, 'states_large', 'Velocities of a slipping encoder: large numbers, but '
                   'not absurd; the torque stays within its limits.', qd=300.0)


# --- other ways to be called ------------------------------------------------------------------

def fixed_rate(robot):
    return _silent(robot, 'fixed_rate', 'Torques between states that come slowly, with a push '
                   'that the prediction has to know of; a silence, and a pause after which none is '
                   'believed.',
                   moving(robot), (0.5, 'resume', {}), seconds=0.85,
                   spells=((0.15, 0.44, 'slow', {}), (0.56, 0.7781, 'pause', {}), (0.44, 0.5, 'silence', {}),
                           (0.5, 0.85, 'slow', {}), (0.2, 0.35, 'push', {
                               'link': robot.tip, 'wrench': [10.0, 5.0, -8.0, 0, 0, 0]})))


def fixed_rate_floating(robot):
    return _silent(robot, 'fixed_rate_floating', 'A floating arm at a fixed rate.',
                   (0.12, 'float', {}), spells=((0.15, 0.5, 'slow', {}),), seconds=0.5,
                   velocity=rounded(0.1 * robot.speed))


def guard_hands_over(robot):
    torque = rounded(robot.weight() + 0.05 * robot.limit)
    return _silent(robot, 'guard_hands_over', 'After a pause in which a guard commanded, the '
                   'torque goes on from its last one.', moving(robot), (0.599, 'start_from', {
                       'torque': torque}), (0.6, 'resume', {}),
                   spells=((0.3, 0.6, 'pause', {}),), seconds=0.75)


ALL = (silence_in_hold, silence_while_tracking, silence_floating, silence_reaching,
       silence_in_linear_feedback, silence_in_own_law, silence_of_an_impedance,
       silence_that_is_a_fault, silence_of_an_arm_elsewhere, silences_in_a_row,
       pause_while_tracking, pause_floating, pause_that_is_made_up_for, states_now_and_then,
       clock_that_leaps, states_not_a_number, states_infinite, states_absurd, states_large,
       fixed_rate, fixed_rate_floating, guard_hands_over)
