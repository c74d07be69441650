"""Scenarios of every law: hold, motion and push; start and end of external laws."""

import numpy as np

from golden.scenario import go, rounded, Scenario

QUICK = {'activation_time': 0.1, 'stop_time': 0.2, 'transition_time': 0.1}
BEGIN = (0.0, 'activate', {})


def _law(robot, law, **setup):
    """Hold, trajectory with an unmodelled payload, and a push under a law."""
    push = {'link': robot.tip, 'wrench': [8.0, -12.0, 5.0, 0.5, 0.3, -0.2]}
    return Scenario(
        0.7, (BEGIN, (0.12, 'follow', go(robot.away(0.5, 0.35), 0.35))),
        {'settings': {**QUICK, 'tracking': law}, **setup},
        {'payload': [robot.wrist, 0.5, [0.0, 0.02, 0.05]]}, ((0.55, 0.62, 'push', push),))


def law_computed_torque(robot):
    """Hold, trajectory with an unmodelled payload, and a push under this law."""
    return _law(robot, 'computed_torque')


def law_feedforward_pd(robot):
    """Hold, trajectory with an unmodelled payload, and a push under this law."""
    return _law(robot, 'feedforward_pd', gains={'gravity_scale': 0.95})


def law_joint_impedance(robot):
    """Hold, trajectory with an unmodelled payload, and a push under this law."""
    return _law(robot, 'joint_impedance')


def law_shaped_impedance(robot):
    """Hold, trajectory with an unmodelled payload, and a push under this law."""
    return _law(robot, 'shaped_impedance', gains={'observer_bandwidth': 20.0})


def law_adaptive(robot):
    """Hold, trajectory with an unmodelled payload, and a push under this law."""
    return _law(robot, 'adaptive')


def law_cartesian_impedance(robot):
    """Hold, trajectory with an unmodelled payload, and a push under this law."""
    return _law(robot, 'cartesian_impedance')


def law_operational_space(robot):
    """Hold, trajectory with an unmodelled payload, and a push under this law."""
    return _law(robot, 'operational_space', task_gains={'axes': 'target', 'natural_frequency': [
        15.0, 15.0, 15.0, 10.0, 10.0, 10.0]})


def law_gravity_compensation(robot):
    """Floating from activation on while pushed; hold, float again, trajectory."""
    push = [30.0, -20.0, 10.0, 0.5, 0.5, 0.5]
    return Scenario(
        0.9,
        (BEGIN, (0.3, 'hold', {}), (0.45, 'float', {}), (0.5, 'float', {}),
         (0.6, 'follow', go(robot.away(0.2, 0.2), 0.8))),
        {'settings': {**QUICK, 'start_floating': True}, 'gains': {'float_friction': 0.5}}, {},
        ((0.05, 0.25, 'push', {'link': robot.tip, 'wrench': push}),))


def friction_gains(robot):
    """Friction compensation with stiction, and reduced gravity_scale."""
    return Scenario(
        0.6, (BEGIN, (0.12, 'follow', go(robot.away(0.4, 0.3), 0.3))),
        {'settings': QUICK, 'gains': {
            'viscous': rounded(0.002 * robot.limit), 'coulomb': rounded(0.004 * robot.limit),
            'stiction': rounded(0.006 * robot.limit), 'stribeck_velocity': 0.05,
            'gravity_scale': 0.9, 'friction_scale': 0.8}})


def driver_compensates_gravity(robot):
    """Activation, motion, floating and silence without commanded gravity."""
    return Scenario(
        0.6,
        (BEGIN, (0.12, 'follow', go(robot.away(0.3, 0.2), 0.2)), (0.4, 'float', {})),
        {'settings': QUICK, 'gains': {'driver_compensates_gravity': True}}, {},
        ((0.5, 0.6, 'silence', {}),))


# --- linear feedback ----------------------------------------------------------------------------

def linear_command(robot, towards=0.0, scale=1.0, **changes):
    """Return the arguments of linear feedback that holds the arm beside its start."""
    M = robot.inertia()
    gain = scale * np.hstack([100.0 * M, 20.0 * M])
    return {'feedforward': rounded(robot.gravity_torque()),
            'position': rounded(robot.start + towards),
            'velocity': [0.0] * robot.nv, 'gain': rounded(gain), **changes}


def law_linear_feedback(robot):
    """Commands until their timeout, stop by the built-in law, hold, second start."""
    commands = [(0.15 + 0.04 * k, 'linear', linear_command(robot, 0.01 * k)) for k in range(6)]
    commands += [(0.4, 'linear', linear_command(robot, 0.06, 1.3))]
    return Scenario(
        0.9,
        (BEGIN, *commands, (0.8, 'linear', linear_command(robot)), (0.7, 'hold', {}),
         (0.75, 'linear', linear_command(robot)), (0.78, 'mode', {'mode': 'linear_feedback'})),
        {'settings': {**QUICK, 'external_law': 'linear_feedback', 'linear': {'timeout': 0.09}}})


def linear_feedback_refused(robot):
    """Commands refused with a reason while an accepted one continues; refused trajectory."""
    nan = linear_command(robot, feedforward=[float('nan')] * robot.nv)
    limit = rounded(1.2 * robot.limit)
    bad = (nan, linear_command(robot, feedforward=limit), linear_command(robot, 4.0),
           linear_command(robot, 0.5), linear_command(robot, scale=40.0, towards=0.25),
           linear_command(robot, scale=-1.0), linear_command(robot))
    return Scenario(
        0.5,
        (BEGIN, (0.05, 'linear', linear_command(robot)),
         (0.12, 'mode', {'mode': 'linear_feedback'}),
         *((0.15 + 0.01 * k, 'linear', each) for k, each in enumerate(bad)),
         (0.25, 'follow', go(robot.start.tolist(), 0.5)), (0.3, 'mode', {
             'mode': 'feedforward_pd'}), (0.35, 'linear', linear_command(robot))),
        {'settings': QUICK})


# --- user laws ----------------------------------------------------------------------------------

def law_own(robot):
    """User law in hold and motion, replaced by a built-in law and floating and restarted."""
    return Scenario(
        0.8,
        (BEGIN, (0.12, 'follow', go(robot.away(0.4, 0.5), 0.5)),
         (0.3, 'mode', {'mode': 'computed_torque'}), (0.45, 'mode', {'mode': 'own_law'}),
         (0.7, 'float', {}), (0.75, 'mode', {'mode': 'own_law'})),
        {'settings': {**QUICK, 'external_law': 'own_law'},
         'own_law': 'robodyn_ros.control.examples.scalar_law:stiffening'})


def own_law_nan(robot):
    """Failing user law during a motion: stop by the built-in law, latched fault, restart."""
    return Scenario(
        0.5, (BEGIN, (0.12, 'follow', go(robot.away(0.4, 0.5), 0.5)),
              (0.35, 'mode', {'mode': 'own_law'}), (0.4, 'reset_fault', {}),
              (0.42, 'mode', {'mode': 'own_law'}), (0.46, 'mode', {'mode': 'computed_torque'})),
        {'settings': {**QUICK, 'external_law': 'own_law'},
         'own_law': 'golden.own_laws:not_a_number'})
