"""Scenarios of limits of position, torque and torque rate."""

import numpy as np

from golden.scenario import rounded, Scenario
from golden.scenarios_laws import BEGIN, QUICK
from golden.scenarios_motion import moving


def torque_rate(robot):
    """Low torque rate limit in a motion, a push and mode changes; limit raised."""
    return Scenario(
        0.7,
        (BEGIN, moving(robot), (0.4, 'float', {}), (0.5, 'hold', {}),
         (0.55, 'bounds', {'torque_rate': rounded(3.0 * robot.limit)})),
        {'settings': {**QUICK, 'torque_rate': rounded(0.8 * robot.limit)}}, {},
        ((0.2, 0.35, 'push', {'link': robot.tip, 'wrench': [40.0, 40.0, -40.0, 1, 1, 1]}),
         (0.24, 0.32, 'pause', {})))


def effort_limit_lowered(robot):
    """Effort limits lowered below the present torque, raised again."""
    gravity_torque = np.abs(robot.gravity_torque())
    limit = np.maximum(1.15 * gravity_torque, 0.1 * robot.limit)
    return Scenario(
        0.6,
        (BEGIN, (0.3, 'bounds', {'effort_limit': rounded(limit)}),
         (0.4, 'bounds', {'effort_limit': rounded(0.9 * robot.limit), 'effort_margin': 0.8}),
         (0.5, 'bounds', {})), {'settings': QUICK}, {},
        ((0.15, 0.55, 'push', {'link': robot.tip, 'wrench': [60.0, 60.0, -60.0, 2, 2, 2]}),))


def saturation(robot):
    """Feedback reduced at the effort limit in joint, Cartesian, user and adaptive law."""
    limit = np.maximum(1.3 * np.abs(robot.gravity_torque()), 0.08 * robot.limit)
    return Scenario(
        0.9,
        (BEGIN, *((0.3 + 0.15 * k, 'mode', {'mode': mode}) for k, mode in enumerate((
            'cartesian_impedance', 'own_law', 'adaptive')))),
        {'settings': {**QUICK, 'effort_limit': rounded(limit)},
         'own_law': 'robodyn_ros.control.examples.scalar_law:stiffening'}, {},
        ((0.15, 0.8, 'push', {'link': robot.tip, 'wrench': [80.0, 80.0, -80.0, 3, 3, 3]}),))


def _at_limit(robot):
    """Return position and velocity near the limits of two joints."""
    q = robot.start.copy()
    q[0], q[-2] = robot.model.upper[0] - 0.03, robot.model.lower[-2] + 0.12
    return rounded(q), rounded(np.where(np.arange(robot.nv) == 0, 0.8, np.where(
        np.arange(robot.nv) == robot.nv - 2, -1.0, 0.0)))


def position_limit_floating(robot):
    """Brake of a floating arm in front of position limits."""
    start, velocity = _at_limit(robot)
    return Scenario(
        0.5, (BEGIN,), {'settings': {**QUICK, 'start_floating': True}},
        {'start': start, 'velocity': velocity})


def position_limit_held(robot):
    """Brake of a soft held arm pushed into position limits; stop with little room."""
    start, velocity = _at_limit(robot)
    push = {'link': robot.tip, 'wrench': [-80.0, 150.0, 0.0, 0.0, 0.0, 0.0]}
    return Scenario(
        0.6, (BEGIN,),
        {'settings': {**QUICK, 'tracking': 'joint_impedance'},
         'gains': {'stiffness': 5.0, 'joint_damping': [1.0] * robot.nv}},
        {'start': start, 'velocity': velocity}, ((0.1, 0.5, 'push', push),))


def torque_not_finite(robot):
    """Infinite torque: gravity and damping, then the last torque, as fallback; latched fault."""
    return Scenario(
        0.4,
        (BEGIN, moving(robot), (0.2, 'gains', dict.fromkeys(
            ('viscous', 'coulomb'), [1.7e308] * robot.nv)),
         (0.22, 'gains', {}), (0.23, 'reset_fault', {}), (0.3, 'gains', {
             'gravity_scale': np.where(np.arange(robot.nv) == 1, 1e308, 1.0).tolist()}),
         (0.32, 'gains', {}), (0.35, 'reset_fault', {})),
        {'settings': QUICK}, {}, ((0.21, 0.22, 'state', {'joint': 2, 'qd': 300.0}),))
