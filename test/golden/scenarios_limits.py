"""Scenarios: limits of position, torque and its rate, and gains that depend on the pose."""

import numpy as np

from golden.scenario import go, rounded, Scenario
from golden.scenarios_laws import BEGIN, QUICK
from golden.scenarios_motion import moving


def torque_rate(robot):
    return Scenario(
        'torque_rate', 'Torque that may change slowly only: in a motion, a push and a change of '
        'mode.', 0.7,
        (BEGIN, moving(robot), (0.4, 'float', {}), (0.5, 'hold', {}),
         (0.55, 'bounds', {'torque_rate': rounded(3.0 * robot.limit)})),
        {'settings': {**QUICK, 'torque_rate': rounded(0.8 * robot.limit)}}, {},
        ((0.2, 0.3, 'push', {'link': robot.tip, 'wrench': [40.0, 40.0, -40.0, 1, 1, 1]}),))


def effort_limit_lowered(robot):
    weight = np.abs(robot.weight())
    limit = np.maximum(1.15 * weight, 0.1 * robot.limit)
    return Scenario(
        'effort_limit_lowered', 'Effort limits below the torque that is being sent come down at '
        'the rate allowed, and go up again.', 0.6,
        (BEGIN, (0.3, 'bounds', {'effort_limit': rounded(limit)}),
         (0.4, 'bounds', {'effort_limit': rounded(0.9 * robot.limit), 'effort_margin': 0.8}),
         (0.5, 'bounds', {})), {'settings': QUICK}, {},
        ((0.15, 0.55, 'push', {'link': robot.tip, 'wrench': [60.0, 60.0, -60.0, 2, 2, 2]}),))


def motors_too_weak(robot):
    limit = np.maximum(1.3 * np.abs(robot.weight()), 0.08 * robot.limit)
    return Scenario(
        'motors_too_weak', 'Feedback is reduced as a whole where one motor has no more to give: '
        'in every kind of law.', 0.9,
        (BEGIN, *((0.3 + 0.15 * k, 'mode', {'mode': mode}) for k, mode in enumerate((
            'cartesian_impedance', 'own_law', 'adaptive')))),
        {'settings': {**QUICK, 'effort_limit': rounded(limit)},
         'own_law': 'robodyn_ros.control.examples.own_law:Integrating'}, {},
        ((0.15, 0.8, 'push', {'link': robot.tip, 'wrench': [80.0, 80.0, -80.0, 3, 3, 3]}),))


def _at_limit(robot):
    """Return a start near the limits of two joints."""
    q = robot.start.copy()
    q[0], q[-2] = robot.model.upper[0] - 0.12, robot.model.lower[-2] + 0.12
    return rounded(q), rounded(np.where(np.arange(robot.nv) == 0, 0.8, np.where(
        np.arange(robot.nv) == robot.nv - 2, -1.0, 0.0)))


def limit_reached_floating(robot):
    start, velocity = _at_limit(robot)
    return Scenario(
        'limit_reached_floating', 'A floating arm that swings at the ends of its joints is braked '
        'in front of them.', 0.5, (BEGIN,), {'settings': {**QUICK, 'start_floating': True}},
        {'start': start, 'velocity': velocity})


def limit_reached_held(robot):
    start, velocity = _at_limit(robot)
    push = {'link': robot.tip, 'wrench': [-80.0, 150.0, 0.0, 0.0, 0.0, 0.0]}
    return Scenario(
        'limit_reached_held', 'A soft arm that is pushed to the ends of its joints is braked '
        'there; a stop has too little room.', 0.6, (BEGIN,),
        {'settings': {**QUICK, 'tracking': 'joint_impedance'},
         'gains': {'stiffness': 5.0, 'joint_damping': [1.0] * robot.nv}},
        {'start': start, 'velocity': velocity}, ((0.1, 0.5, 'push', push),))


def torque_that_overflows(robot):
    return Scenario(
        'torque_that_overflows', 'Gains beyond all numbers: gravity and damping are sent instead, '
        'then the last torque again, and a fault is latched.', 0.4,
        (BEGIN, moving(robot), (0.2, 'gains', {'kp': 0.0, 'kd': [1e307] * robot.nv}),
         (0.22, 'gains', {}), (0.23, 'reset_fault', {}), (0.3, 'gains', {
             'gravity_scale': np.where(np.arange(robot.nv) == 1, 1e308, 1.0).tolist()}),
         (0.32, 'gains', {}), (0.35, 'reset_fault', {})),
        {'settings': QUICK}, {}, ((0.21, 0.22, 'state', {'joint': 2, 'qd': 300.0}),))


def gain_schedule(robot):
    goal = robot.away(0.5, 0.4)
    return Scenario(
        'gain_schedule', 'Gains that go with the pose, in two laws, one joint turning without '
        'end; gains that would be unstable somewhere are refused.', 0.8,
        (BEGIN, (0.12, 'follow', go(goal, 0.4)), (0.3, 'mode', {'mode': 'feedforward_pd'}),
         (0.5, 'mode', {'mode': 'adaptive'}), (0.55, 'gains', {'ki': 5000.0}),
         (0.6, 'gains', {'natural_frequency': 15.0})),
        {'settings': {**QUICK, 'gain_schedule': {
            'configurations': [*rounded(robot.start), *goal], 'factors': [0.5, 1.5],
            'width': 0.2}}, 'continuous': [robot.names[-1]]})


ALL = (torque_rate, effort_limit_lowered, motors_too_weak, limit_reached_floating,
       limit_reached_held, torque_that_overflows, gain_schedule)
