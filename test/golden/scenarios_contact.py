"""Scenarios of contact, disturbances, external wrenches, integrals, loads and stiffness."""

import numpy as np

from golden.scenario import go, rounded, Scenario
from golden.scenarios_laws import BEGIN, QUICK
from golden.scenarios_motion import moving

_HIT = {'wrench': [50.0, -50.0, -30.0, 2.0, 2.0, 2.0]}


def _pushed(robot, begin, end, scale=1.0, link=None):
    wrench = [scale * each for each in _HIT['wrench']]
    return (begin, end, 'push', {'link': link or robot.tip, 'wrench': wrench})


# --- collisions -------------------------------------------------------------------------------

def _collides(robot, reaction, *requests, seconds=0.7, arm=None, settings=None,
              spells=(), **observer):
    return Scenario(
        seconds, (BEGIN, moving(robot), *requests),
        {'settings': {**QUICK, 'observer': {**observer, 'collision': {
            'threshold': rounded(0.12 * robot.limit), 'reaction': reaction}}, **(settings or {})},
         'own_law': 'robodyn_ros.control.examples.scalar_law:stiffening'},
        arm or {}, (_pushed(robot, 0.25, 0.4), *spells))


def collision_stop(robot):
    """Collision reaction stop during a motion; reset refused during the collision."""
    return _collides(robot, 'stop',
                     (0.35, 'reset_fault', {}), (0.5, 'follow', go(robot.start.tolist(), 0.4)),
                     (0.6, 'reset_fault', {}), (0.62, 'follow', go(robot.start.tolist(), 0.8)))


def collision_float(robot):
    """Collision reaction float, and a second push while floating."""
    return _collides(robot, 'float', (0.26, 'mode', {'mode': 'joint_impedance'}),
                     (0.5, 'reset_fault', {}),
                     (0.52, 'hold', {}), spells=(_pushed(robot, 0.45, 0.48),))


def collision_report(robot):
    """Collision reaction report, changed to stop; threshold removed; refused threshold."""
    return _collides(robot, 'report',
                     (0.5, 'bounds', {'observer': {'collision': {
                         'threshold': rounded(0.12 * robot.limit), 'reaction': 'stop'}}}),
                     (0.62, 'bounds', {'observer': {}}), (0.63, 'bounds', {'observer': {
                         'collision': {'threshold': 0.0}}}),
                     spells=(_pushed(robot, 0.45, 0.47), _pushed(robot, 0.55, 0.6)))


def collision_measured_effort(robot):
    """Observer on measured effort, one joint without."""
    return _collides(robot, 'stop', arm={'effort': True},
                     torque_source='measured', spells=((0.2, 0.5, 'state', {
                         'joint': 0, 'effort': 'nan'}),))


def collision_in_own_law(robot):
    """Collision that disables a user law."""
    return _collides(robot, 'stop', settings={'external_law': 'own_law'})


def collision_with_silence(robot):
    """Collision that continues through a silence."""
    return _collides(robot, 'stop', (0.38, 'resume', {}),
                     (0.39, 'reset_fault', {}), (0.45, 'reset_fault', {}),
                     spells=((0.32, 0.38, 'silence', {}),))


# --- disturbances -----------------------------------------------------------------------------

def disturbance_observer(robot):
    """Disturbance compensation up to its limit in two laws; none during a collision."""
    observer = {'disturbance_limit': 0.1, 'collision': {
        'threshold': rounded(0.25 * robot.limit), 'reaction': 'float'}}
    return Scenario(
        0.8,
        (BEGIN, moving(robot),
         (0.25, 'bounds', {'observer': {**observer, 'disturbance_limit': 0.02}}),
         (0.4, 'bounds', {}), (0.5, 'mode', {'mode': 'feedforward_pd'}),
         (0.6, 'mode', {'mode': 'joint_impedance'})),
        {'settings': {**QUICK, 'observer': observer},
         'gains': {'disturbance_observer': True}},
        {'payload': [robot.wrist, 0.6, [0.0, 0.02, 0.05]]},
        (_pushed(robot, 0.2, 0.3, 0.3), _pushed(robot, 0.7, 0.75, 2.0)))


def contact_shaped_inertia(robot):
    """Apparent inertia other than the own one under a push."""
    return Scenario(
        0.6,
        (BEGIN, moving(robot)),
        {'settings': {**QUICK, 'tracking': 'shaped_impedance'},
         'gains': {'apparent_inertia': 0.5, 'observer_bandwidth': 8.0, 'stiffness': 60.0,
                   'impedance_ratio': 2.0}},
        {}, (_pushed(robot, 0.2, 0.4, 0.5),))


def external_wrenches(robot):
    """External wrenches on two links, timeout, floating; refused wrenches."""
    force = [10.0, -15.0, -20.0, 0.5, 0.5, 0.5]
    turn = robot.pose()[:3, :3].T
    external = rounded([*turn @ force[:3], *turn @ force[3:]])
    sent = [(0.15 + 0.03 * k, 'wrench', {'link': robot.tip, 'wrench': external}) for k in range(6)]
    return Scenario(
        1.2,
        (BEGIN, *sent,
         (0.4, 'wrench', {'link': robot.tip, 'wrench': external}), (0.41, 'follow', go(
             robot.away(0.3, 0.4), 0.4)),
         (0.42, 'wrench', {'link': robot.elbow, 'wrench': [0.0, 10.0, 0.0, 0.0, 1.0, 0.0]}),
         (0.45, 'wrench', {'link': 'base_link', 'wrench': external}),
         (0.45, 'wrench', {'link': 'nowhere', 'wrench': external}),
         (0.45, 'wrench', {'link': robot.tip, 'wrench': [1.0, 2.0]}),
         (0.45, 'wrench', {'link': robot.tip, 'wrench': [float('nan')] * 6}),
         (0.45, 'wrench', {'link': robot.tip, 'wrench': [1e4, 1e4, 0, 0, 0, 0]}),
         (0.6, 'wrench', {'link': robot.tip, 'wrench': external}), (0.63, 'float', {}),
         (0.66, 'wrench', {'link': robot.tip, 'wrench': external}), (0.8, 'hold', {})),
        {'settings': {**QUICK, 'observer': {'collision': {
            'threshold': rounded(0.12 * robot.limit)}}}},
        {}, ((0.15, 0.35, 'push', {'link': robot.tip, 'wrench': force}),
             (0.85, 1.2, 'rare', {'every': 9})))


def target_wrench(robot):
    """Target wrench with timeout in Cartesian laws; refused elsewhere."""
    down = {'link': robot.tip, 'wrench': [5.0, 0.0, 12.0, 0.3, 0.0, 0.0]}
    return Scenario(
        0.8,
        (BEGIN, *((0.15 + 0.05 * k, 'press', down) for k in range(4)),
         (0.45, 'mode', {'mode': 'operational_space'}), (0.5, 'press', down),
         (0.55, 'mode', {'mode': 'computed_torque'}), (0.57, 'press', down),
         (0.6, 'mode', {'mode': 'cartesian_impedance'}),
         (0.62, 'press', {'link': robot.tip, 'wrench': [9e3, 0, 0, 0, 0, 0]}),
         (0.65, 'press', down), (0.7, 'fail', {'fault': 'a cause'}), (0.72, 'press', down)),
        {'settings': {**QUICK, 'tracking': 'cartesian_impedance'},
         'task_gains': {'stiffness': [300.0, 300.0, 0.0, 20.0, 20.0, 20.0],
                        'damping': [40.0, 40.0, 40.0, 2.0, 2.0, 2.0], 'axes': 'target'}},
        {}, ((0.15, 0.45, 'push', {'link': robot.tip, 'wrench': [-3.0, 0.0, 8.0, 0, 0, 0]}),))


def reflected_torque(robot):
    """Force reflection of a floating arm up to its limit; cleared in hold; refused values."""
    torque = rounded(0.1 * robot.limit * np.resize([1.0, -1.0], robot.nv))
    more = rounded(robot.limit * np.resize([1.0, -1.0, -1.0], robot.nv))
    shown = [(0.15 + 0.04 * k, 'reflect', {'torque': torque}) for k in range(4)]
    return Scenario(
        0.8,
        (BEGIN, (0.1, 'float', {}), *shown, (0.4, 'reflect', {'torque': more}),
         (0.45, 'reflect', {'torque': [float('nan')] * robot.nv}),
         (0.45, 'reflect', {'torque': [1.0]}), (0.47, 'hold', {}),
         (0.5, 'reflect', {'torque': torque}), (0.52, 'float', {}),
         (0.6, 'bounds', {'reflection': {'gain': [0.2] * robot.nv, 'limit': 0.05}}),
         (0.61, 'reflect', {'torque': torque}), (0.7, 'bounds', {}),
         (0.72, 'bounds', {'reflection': {'gain': 0.0}}), (0.73, 'reflect', {'torque': torque})),
        {'settings': {**QUICK, 'reflection': {'gain': 0.5, 'limit': 0.1}}})


# --- integrals --------------------------------------------------------------------------------

def integral(robot):
    """Integral with an unmodelled payload, ki zero for some joints; laws without one."""
    return Scenario(
        0.9,
        (BEGIN, moving(robot), (0.5, 'mode', {'mode': 'feedforward_pd'}),
         (0.6, 'mode', {'mode': 'joint_impedance'}), (0.7, 'mode', {'mode': 'computed_torque'}),
         (0.8, 'float', {}), (0.85, 'hold', {})),
        {'settings': QUICK, 'gains': {'ki': [1000.0, 2000.0, *[0.0] * (robot.nv - 3), 500.0]}},
        {'payload': [robot.wrist, 0.8, [0.0, 0.02, 0.05]]})


def integral_switched_off(robot):
    """Gain ki set to 0 for one joint, then for all, with an unmodelled payload."""
    return Scenario(
        0.8,
        (BEGIN, (0.4, 'gains', {'ki': [0.0, *[3000.0] * (robot.nv - 1)]}),
         (0.55, 'gains', {'ki': 0.0})), {'settings': QUICK, 'gains': {'ki': 3000.0}},
        {'payload': [robot.wrist, 0.8, [0.0, 0.02, 0.05]]})


def integral_saturated(robot):
    """Integral while motors are saturated by a push."""
    return Scenario(
        0.9, (BEGIN,),
        {'settings': {**QUICK, 'effort_margin': 0.5}, 'gains': {'ki': 3000.0}}, {},
        (_pushed(robot, 0.2, 0.5, 3.0),))


# --- loads ------------------------------------------------------------------------------------

def payload_and_gravity(robot):
    """Payload and gravity blended, replaced, removed, in motion and floating; refused values."""
    load = {'link': robot.wrist, 'mass': 0.6, 'com': [0.0, 0.02, 0.05], 'inertia': 0.002}
    return Scenario(
        1.0,
        (BEGIN, moving(robot), (0.15, 'payload', load),
         (0.25, 'payload', {**load, 'link': robot.elbow, 'mass': 0.3}),
         (0.4, 'gravity', {'gravity': [1.0, 0.0, -9.7]}), (0.5, 'payload', {
             'link': robot.wrist, 'mass': 0.0}),
         (0.55, 'payload', {**load, 'link': 'base_link'}),
         (0.55, 'payload', {**load, 'mass': 600.0}), (0.55, 'payload', {**load, 'mass': -1.0}),
         (0.55, 'gravity', {'gravity': [0.0, 0.0, -981.0]}),
         (0.55, 'gravity', {'gravity': [0.0, float('nan'), 0.0]}),
         (0.7, 'float', {}), (0.72, 'gravity', {'gravity': [0.0, 0.0, -9.81]}),
         (0.8, 'hold', {}), (0.9, 'deactivate', {})),
        {'settings': {**QUICK, 'load_time': 0.2}},
        {'payload': [robot.wrist, 0.6, [0.0, 0.02, 0.05]]})


def adaptation(robot):
    """Payload estimated by the adaptive law, kept in another law, absorbed, forgotten."""
    return Scenario(
        1.6,
        (BEGIN, (0.12, 'follow', go(robot.away(0.6, 0.35), 0.35)),
         (0.5, 'follow', go(robot.start.tolist(), 0.35)), (0.01, 'keep_learned', {}),
         (0.7, 'fail', {'fault': 'a cause'}), (0.75, 'reset_fault', {}),
         (0.8, 'mode', {'mode': 'computed_torque'}), (0.9, 'keep_learned', {}),
         (1.06, 'keep_learned', {}),
         (1.1, 'mode', {'mode': 'adaptive'}), (1.12, 'follow', go(robot.away(0.5, 0.3), 0.3)),
         (1.35, 'payload', {'link': robot.wrist, 'mass': 0.0}), (1.4, 'bounds', {
             'adaptation': {'link': robot.wrist, 'rate': 0.0}}),
         (1.5, 'keep_learned', {})),
        {'settings': {**QUICK, 'tracking': 'adaptive', 'load_time': 0.15, 'adaptation': {
            'link': robot.wrist, 'rate': 20.0, 'dead_zone': 0.005}}},
        {'payload': [robot.wrist, 1.0, [0.0, 0.02, 0.05]]})


def stiffness_change_joints(robot):
    """Joint stiffness raised as far as the energy tank allows, lowered, changed while floating."""
    soft, hard = 40.0, 250.0
    mixed = np.resize([40.0, 400.0], robot.nv).tolist()
    return Scenario(
        1.0,
        (BEGIN, (0.03, 'gains', {'stiffness': 60.0}), (0.2, 'gains', {'stiffness': hard}),
         (0.4, 'gains', {'stiffness': mixed}),
         (0.55, 'gains', {'stiffness': soft}),
         (0.65, 'mode', {'mode': 'shaped_impedance'}), (0.7, 'gains', {'stiffness': hard}),
         (0.85, 'float', {}), (0.87, 'gains', {'stiffness': soft}), (0.9, 'hold', {})),
        {'settings': {**QUICK, 'tracking': 'joint_impedance', 'energy_tank': 0.02},
         'gains': {'stiffness': soft, 'observer_bandwidth': 5.0}},
        {}, (_pushed(robot, 0.1, 0.8, 0.3),))


def stiffness_change_cartesian(robot):
    """Cartesian stiffness raised as far as the tank allows, lowered, changed in other laws."""
    soft = [150.0, 150.0, 150.0, 10.0, 10.0, 10.0]
    hard = [900.0, 600.0, 900.0, 30.0, 30.0, 30.0]
    return Scenario(
        0.9,
        (BEGIN, (0.2, 'task_gains', {'stiffness': hard}),
         (0.5, 'task_gains', {'stiffness': soft}), (0.7, 'mode', {'mode': 'computed_torque'}),
         (0.72, 'task_gains', {'stiffness': hard}),
         (0.75, 'task_gains', {'stiffness': hard, 'link': robot.elbow}),
         (0.8, 'mode', {'mode': 'cartesian_impedance'})),
        {'settings': {**QUICK, 'tracking': 'cartesian_impedance', 'energy_tank': 0.2},
         'task_gains': {'stiffness': soft}},
        {}, (_pushed(robot, 0.1, 0.6, 0.3),))
