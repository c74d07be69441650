"""Scenarios of silence, pauses, irregular and unusable states, fixed rate."""

from golden.scenario import go, rounded, Scenario
from golden.scenarios_laws import BEGIN, linear_command, QUICK
from golden.scenarios_motion import moving, SETUP
from golden.scenarios_pose import pose

_BACK = (0.45, 'resume', {})
_SILENT = ((0.3, 0.35, 'pause', {}), (0.35, 0.45, 'silence', {}))


def _silent(robot, *requests, spells=_SILENT, setup=None, seconds=0.65, **arm):
    return Scenario(seconds, (BEGIN, *requests), setup or SETUP, arm, spells)


def silence_in_hold(robot):
    """Silence and return of the states while the arm is held with an integral."""
    return _silent(robot, _BACK, setup={'settings': QUICK, 'gains': {'ki': 3000.0}},
                   payload=[robot.wrist, 0.4, [0.0, 0.0, 0.05]])


def silence_while_tracking(robot):
    """Stop by prediction in silence during a trajectory, return, new trajectory."""
    return _silent(robot, moving(robot), _BACK, (0.6, 'follow', go(robot.start.tolist(), 0.4)))


def silence_floating(robot):
    """Stop in silence of a floating arm, return, floating again."""
    return _silent(robot, (0.12, 'float', {}), _BACK, (0.55, 'float', {}),
                   velocity=rounded(0.1 * robot.speed))


def silence_reaching(robot):
    """Silence during a pose motion with cartesian_impedance."""
    return _silent(robot, (0.12, 'reach', pose(robot, (0.1, 0.0, 0.05))), _BACK,
                   setup={'settings': {**QUICK, 'tracking': 'cartesian_impedance'}})


def silence_in_linear_feedback(robot):
    """Linear feedback suspended by silence and restarted afterwards."""
    commands = [(0.15 + 0.05 * k, 'linear', linear_command(robot)) for k in range(9)]
    return _silent(robot, *commands, _BACK,
                   setup={'settings': {**QUICK, 'external_law': 'linear_feedback'}})


def silence_in_own_law(robot):
    """User law suspended by silence and restarted afterwards."""
    return _silent(robot, moving(robot), _BACK,
                   setup={'settings': {**QUICK, 'external_law': 'own_law'},
                          'own_law': 'robodyn_ros.control.examples.scalar_law:stiffening'})


def silence_in_shaped_impedance(robot):
    """Silence with shaped inertia, during a wrench timeout and payload blending."""
    return _silent(robot,
                   (0.29, 'wrench', {'link': robot.tip, 'wrench': [4.0, 2.0, -6.0, 0, 0, 0]}),
                   (0.28, 'payload', {'link': robot.wrist, 'mass': 0.4, 'com': [0, 0, 0.05]}),
                   _BACK, setup={'settings': {**QUICK, 'tracking': 'shaped_impedance'}})


def silence_with_fault(robot):
    """Fault latched during a long silence; refused motion, reset, motion."""
    return _silent(robot, moving(robot),
                   (0.55, 'fail', {'fault': 'joint states: no good data for 0.25 s: silent'}),
                   (0.6, 'resume', {}), (0.65, 'follow', go(robot.start.tolist(), 0.4)),
                   (0.7, 'reset_fault', {}), (0.72, 'follow', go(robot.start.tolist(), 0.4)),
                   spells=((0.3, 0.35, 'pause', {}), (0.35, 0.6, 'silence', {})), seconds=0.85)


def silence_far_from_reference(robot):
    """Silence of a soft arm far from its reference: prediction discarded."""
    push = {'link': robot.tip, 'wrench': [40.0, 40.0, -40.0, 2.0, 2.0, 2.0]}
    soft = {'stiffness': rounded(0.01 * robot.limit)}
    return _silent(robot, _BACK,
                   setup={'settings': {**QUICK, 'tracking': 'joint_impedance'}, 'gains': soft},
                   spells=((0.1, 0.5, 'push', push), *_SILENT))


def silence_twice(robot):
    """Two silences with a few states in between."""
    return _silent(robot, moving(robot), (0.3, 'resume', {}), (0.42, 'resume', {}),
                   spells=((0.25, 0.3, 'silence', {}), (0.32, 0.42, 'silence', {})))


# --- pauses of the process --------------------------------------------------------------------

def pause_while_tracking(robot):
    """Pause of the process beyond longest_pause during a trajectory."""
    return _silent(robot, moving(robot), (0.6, 'resume', {}),
                   spells=((0.3, 0.6, 'pause', {}),), seconds=0.8)


def pause_floating(robot):
    """Pause of the process while the arm floats."""
    return _silent(robot, (0.12, 'float', {}), (0.6, 'resume', {}),
                   spells=((0.3, 0.6, 'pause', {}),),
                   velocity=rounded(0.05 * robot.speed), seconds=0.7)


def pause_without_resume(robot):
    """Pauses without resume during a trajectory, the last beyond longest_pause."""
    return _silent(robot, moving(robot, 0.2, 0.9), seconds=1.15, spells=(
        (0.25, 0.28, 'pause', {}), (0.4, 0.5, 'pause', {}), (0.65, 0.95, 'pause', {})))


def states_irregular(robot):
    """Slow and irregular states with fast feedback, scaled by the sample time; silence."""
    return _silent(robot, moving(robot, 0.3, 0.8), (1.0, 'resume', {}), seconds=1.1, spells=(
        (0.25, 0.5, 'rare', {'every': 12}), (0.55, 0.65, 'rare', {'every': 7}),
        (0.7, 0.9, 'rare', {'every': 21}), (0.9, 1.0, 'silence', {})),
        setup={'settings': QUICK, 'gains': {'natural_frequency': 60.0}})


def clock_jumps(robot):
    """Jumps of the time, back and ahead."""
    return _silent(robot, moving(robot), spells=(
        (0.25, 0.3, 'clock', {'ahead': -0.02}), (0.4, 0.45, 'clock', {'ahead': 0.3}),
        (0.5, 0.55, 'clock', {'ahead': -0.4})))


# --- unusable states --------------------------------------------------------------------------

def _faulty(robot, **what):
    begin = 0.25
    return _silent(robot, moving(robot), (0.4, 'resume', {}),
                   (0.45, 'reset_fault', {}), (0.5, 'follow', go(robot.start.tolist(), 0.4)),
                   spells=((begin, begin + 0.05, 'state', {'joint': 2, **what}),))


def states_nan(robot):
    """Positions that are NaN: fault and prediction."""
    return _faulty(robot, q='nan')


def states_infinite(robot):
    """Infinite velocities."""
    return _faulty(robot, qd='-inf')


def states_absurd(robot):
    """Velocities above the plausible maximum."""
    return _faulty(robot, qd=2e6)


def states_large(robot):
    """Large velocities below the plausible maximum: torque within its limits."""
    return _faulty(robot, qd=300.0)


# --- fixed rate, and a torque to start from ---------------------------------------------------

def fixed_rate(robot):
    """Torques between slow states under a push; silence; pause that voids the prediction."""
    return _silent(robot, moving(robot), (0.5, 'resume', {}), seconds=0.85,
                   spells=((0.15, 0.44, 'slow', {}), (0.44, 0.5, 'silence', {}),
                           (0.56, 0.7781, 'pause', {}),
                           (0.5, 0.85, 'slow', {}), (0.2, 0.35, 'push', {
                               'link': robot.tip, 'wrench': [10.0, 5.0, -8.0, 0, 0, 0]})))


def fixed_rate_floating(robot):
    """Torques between slow states of a floating arm."""
    return _silent(robot, (0.12, 'float', {}), spells=((0.15, 0.5, 'slow', {}),), seconds=0.5,
                   velocity=rounded(0.1 * robot.speed))


def torque_taken_over(robot):
    """Start from the last torque of another commander after a pause."""
    torque = rounded(robot.gravity_torque() + 0.05 * robot.limit)
    return _silent(robot, moving(robot), (0.599, 'start_from', {
                       'torque': torque}), (0.6, 'resume', {}),
                   spells=((0.3, 0.6, 'pause', {}),), seconds=0.75)
