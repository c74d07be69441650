"""Scenarios: every law follows, holds and is pushed; laws from outside come and go."""

from dataclasses import replace

import numpy as np

from golden.scenario import go, rounded, Scenario

QUICK = {'activation_time': 0.1, 'stop_time': 0.2, 'transition_time': 0.1}
BEGIN = (0.0, 'activate', {})
_PUSH = (0.55, 0.62, 'push')


def _law(robot, law, **setup):
    push = [8.0, -12.0, 5.0, 0.5, 0.3, -0.2]
    return Scenario(
        f'law_{law}', 'It holds, follows a trajectory with a load that it does not know, and is '
        'pushed.', 0.7, (BEGIN, (0.12, 'follow', go(robot.away(0.5, 0.35), 0.35))),
        {'settings': {**QUICK, 'tracking': law}, **setup},
        {'payload': [robot.wrist, 0.5, [0.0, 0.02, 0.05]]},
        ((*_PUSH, {'link': robot.tip, 'wrench': push}),))


def law_computed_torque(robot):
    return _law(robot, 'computed_torque')


def law_feedforward_pd(robot):
    return _law(robot, 'feedforward_pd', gains={'gravity_scale': 0.95})


def law_joint_impedance(robot):
    return _law(robot, 'joint_impedance')


def law_shaped_impedance(robot):
    return _law(robot, 'shaped_impedance', gains={'observer_bandwidth': 20.0})


def law_adaptive(robot):
    return _law(robot, 'adaptive')


def law_cartesian_impedance(robot):
    return _law(robot, 'cartesian_impedance')


def law_operational_space(robot):
    return _law(robot, 'operational_space', task_gains={'axes': 'target', 'natural_frequency': [
        15.0, 15.0, 15.0, 10.0, 10.0, 10.0]})


def law_gravity_compensation(robot):
    push = [30.0, -20.0, 10.0, 0.5, 0.5, 0.5]
    return Scenario(
        'law_gravity_compensation', 'The arm floats from its activation on and follows a push; a '
        'hold and a trajectory take it over.', 0.9,
        (BEGIN, (0.3, 'hold', {}), (0.45, 'float', {}), (0.5, 'float', {}),
         (0.6, 'follow', go(robot.away(0.2, 0.2), 0.8))),
        {'settings': {**QUICK, 'start_floating': True}, 'gains': {'float_friction': 0.5}}, {},
        ((0.05, 0.25, 'push', {'link': robot.tip, 'wrench': push}),))


def gains_of_friction(robot):
    return Scenario(
        'gains_of_friction', 'Friction with stiction, rotors, and a part of the gravity are taken '
        'from the gains.', 0.6, (BEGIN, (0.12, 'follow', go(robot.away(0.4, 0.3), 0.3))),
        {'settings': QUICK, 'gains': {
            'viscous': rounded(0.002 * robot.limit), 'coulomb': rounded(0.004 * robot.limit),
            'stiction': rounded(0.006 * robot.limit), 'stribeck_velocity': 0.05,
            'gravity_scale': 0.9,
            'friction_scale': 0.8}})


def driver_carries_the_weight(robot):
    return Scenario(
        'driver_carries_the_weight', 'No gravity is commanded: activation, motion, float, '
        'silence.', 0.6,
        (BEGIN, (0.12, 'follow', go(robot.away(0.3, 0.2), 0.2)), (0.4, 'float', {})),
        {'settings': QUICK, 'gains': {'driver_compensates_gravity': True}}, {},
        ((0.5, 0.6, 'silence', {}),))


# --- linear feedback ----------------------------------------------------------------------------

def linear_command(robot, towards=0.0, scale=1.0, **changes):
    """Return the arguments of linear feedback that holds the arm beside where it stands."""
    M = robot.inertia()
    gain = scale * np.hstack([100.0 * M, 20.0 * M])
    return {'feedforward': rounded(robot.weight()), 'position': rounded(robot.start + towards),
            'velocity': [0.0] * robot.nv, 'gain': rounded(gain), **changes}


def law_linear_feedback(robot):
    commands = [(0.15 + 0.04 * k, 'linear', linear_command(robot, 0.01 * k)) for k in range(6)]
    commands += [(0.4, 'linear', linear_command(robot, 0.06, 1.3))]
    return Scenario(
        'law_linear_feedback', 'Commands are followed until they stop coming; the built-in law '
        'takes over, and gives the arm back.', 0.9,
        (BEGIN, *commands, (0.8, 'linear', linear_command(robot)), (0.7, 'hold', {}),
         (0.75, 'linear', linear_command(robot)), (0.78, 'mode', {'mode': 'linear_feedback'})),
        {'settings': {**QUICK, 'guest': 'linear_feedback', 'linear': {'timeout': 0.09}}})


def linear_feedback_refused(robot):
    nan = linear_command(robot, feedforward=[float('nan')] * robot.nv)
    limit = rounded(1.2 * robot.limit)
    bad = (nan, linear_command(robot, feedforward=limit), linear_command(robot, 4.0),
           linear_command(robot, 0.5), linear_command(robot, scale=40.0, towards=0.25),
           linear_command(robot, scale=-1.0), linear_command(robot))
    return Scenario(
        'linear_feedback_refused', 'Commands that make no sense are refused with the reason, and '
        'those in another mode; what was accepted goes on.', 0.5,
        (BEGIN, (0.05, 'linear', linear_command(robot)),
         (0.12, 'mode', {'mode': 'linear_feedback'}),
         *((0.15 + 0.01 * k, 'linear', each) for k, each in enumerate(bad)),
         (0.25, 'follow', go(robot.start.tolist(), 0.5)), (0.3, 'mode', {
             'mode': 'feedforward_pd'}), (0.35, 'linear', linear_command(robot))),
        {'settings': QUICK})


# --- a law of the user --------------------------------------------------------------------------

def law_own(robot):
    return Scenario(
        'law_own', 'A law of the user holds, follows, and changes places with built-in ones while '
        'the arm moves.', 0.8,
        (BEGIN, (0.12, 'follow', go(robot.away(0.4, 0.5), 0.5)),
         (0.3, 'mode', {'mode': 'computed_torque'}), (0.45, 'mode', {'mode': 'own_law'}),
         (0.7, 'float', {}), (0.75, 'mode', {'mode': 'own_law'})),
        {'settings': {**QUICK, 'guest': 'own_law'},
         'own_law': 'robodyn_ros.control.examples.own_law:Integrating'})


def _own_fails(robot, kind, **setup):
    return Scenario(
        f'own_law_{kind.lower()}', 'A law of the user fails in the midst of a motion: the '
        'built-in law brings the arm to rest, and a fault is latched.', 0.5,
        (BEGIN, (0.12, 'follow', go(robot.away(0.4, 0.5), 0.5)),
         (0.35, 'mode', {'mode': 'own_law'}), (0.4, 'reset_fault', {}),
         (0.42, 'mode', {'mode': 'computed_torque'})),
        {'settings': {**QUICK, 'guest': 'own_law'}, 'own_law': f'golden.own_laws:{kind}',
         **setup})


def own_law_raises(robot):
    return _own_fails(robot, 'Raises')


def own_law_notanumber(robot):
    return _own_fails(robot, 'NotANumber')


def own_law_wrong(robot):
    about = 'Answers of a law of the user that cannot be used, one kind after the other.'
    requests = [(0.4 + 0.12 * k, *each) for k in range(3) for each in (
        ('reset_fault', {}), ('mode', {'mode': 'own_law'}))]
    return replace(_own_fails(robot, 'Wrong'), about=about, seconds=0.9, requests=(
        BEGIN, *requests))


def own_law_slow(robot):
    return _own_fails(robot, 'Slow', own_law_deadline=0.05)


ALL = (law_computed_torque, law_feedforward_pd, law_joint_impedance, law_shaped_impedance,
       law_adaptive, law_cartesian_impedance, law_operational_space, law_gravity_compensation,
       gains_of_friction, driver_carries_the_weight, law_linear_feedback,
       linear_feedback_refused, law_own, own_law_raises, own_law_notanumber, own_law_wrong,
       own_law_slow)
