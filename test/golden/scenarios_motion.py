"""Scenarios of activation, motions and their ends, changes of mode and gains."""

import numpy as np

from golden.scenario import go, point, rounded, Scenario
from golden.scenarios_laws import BEGIN, QUICK

SETUP = {'settings': QUICK}
JOINT_LAWS = ('feedforward_pd', 'joint_impedance', 'shaped_impedance', 'adaptive',
              'gravity_compensation', 'joint_impedance', 'computed_torque')
LINK_LAWS = ('cartesian_impedance', 'operational_space', 'gravity_compensation',
             'operational_space', 'shaped_impedance', 'cartesian_impedance')


def moving(robot, share=0.4, seconds=0.6):
    """Return the request of a motion."""
    return (0.12, 'follow', go(robot.away(share, seconds), seconds))


# --- activation -----------------------------------------------------------------------------

def activation(robot):
    """Activation by default of a moving arm with an unmodelled payload; float, hold."""
    turns = np.resize([0.4, -0.4], robot.nv)
    return Scenario(
        0.8,
        ((-1.0, 'hold', {}), (-1.0, 'follow', go(robot.start.tolist(), 1.0)), BEGIN,
         (0.3, 'float', {}), (0.5, 'hold', {})), {},
        {'velocity': rounded(turns * robot.speed),
         'payload': [robot.wrist, 0.4, [0.0, 0.0, 0.05]]})


def activation_without_ramp(robot):
    """Activation, mode change and motion with ramp and transition times of zero."""
    return Scenario(
        0.3,
        (BEGIN, (0.05, 'mode', {'mode': 'feedforward_pd'}),
         (0.1, 'follow', go(robot.away(0.3, 0.15), 0.15))),
        {'settings': {'activation_time': 0.0, 'transition_time': 0.0, 'stop_time': 0.2}},
        {'payload': [robot.wrist, 0.4, [0.0, 0.0, 0.05]]})


def before_activation(robot):
    """States, silence and requests while inactive; activation in the mode chosen last."""
    return Scenario(
        0.4,
        ((0.02, 'mode', {'mode': 'gravity_compensation'}),
         (0.03, 'mode', {'mode': 'joint_impedance'}), (0.04, 'mode', {'mode': 'own_law'}),
         (0.05, 'payload', {'link': robot.wrist, 'mass': 0.3, 'com': [0.0, 0.0, 0.05],
                            'inertia': 0.002}),
         (0.06, 'stop', {}), (0.07, 'fail', {'fault': 'a cause'}),
         (0.08, 'bounds', {'transition_time': 0.05}), (0.18, 'resume', {}),
         (0.2, 'activate', {})), SETUP,
        {}, ((0.1, 0.15, 'silence', {}),))


def activation_again(robot):
    """Deactivation during motion, wrench and payload blending; second activation."""
    return Scenario(
        0.8,
        (BEGIN, moving(robot), (0.2, 'wrench', {'link': robot.tip, 'wrench': [5, 0, 5, 0, 0, 0]}),
         (0.25, 'payload', {'link': robot.wrist, 'mass': 0.4, 'com': [0.0, 0.0, 0.05]}),
         (0.3, 'deactivate', {}), (0.32, 'follow', go(robot.start.tolist(), 1.0)),
         (0.34, 'float', {}), (0.4, 'activate', {}),
         (0.55, 'follow', go(robot.away(0.2, 0.15), 0.6))),
        {'settings': QUICK, 'gains': {'ki': 500.0}})


def activation_while_active(robot):
    """Deactivation and activation at once, with integral, wrench and slow states before."""
    return Scenario(
        0.7, (BEGIN, moving(robot), (0.42, 'wrench', {
            'link': robot.tip, 'wrench': [5, 0, 5, 0, 0, 0]}),
              (0.45, 'deactivate', {}), (0.45, 'activate', {})),
        {'settings': QUICK, 'gains': {'ki': 3000.0}},
        {'payload': [robot.wrist, 0.6, [0.0, 0.0, 0.05]]},
        ((0.3, 0.45, 'rare', {'every': 21}),))


def activation_while_pressing(robot):
    """Deactivation and activation at once with a target wrench, then with a reflected torque."""
    return Scenario(
        0.6, (BEGIN, (0.15, 'press', {'link': robot.tip, 'wrench': [5.0, 0, 12.0, 0, 0, 0]}),
              (0.2, 'deactivate', {}), (0.2, 'activate', {}),
              (0.35, 'mode', {'mode': 'gravity_compensation'}),
              (0.37, 'reflect', {'torque': rounded(0.1 * robot.limit)}),
              (0.42, 'deactivate', {}), (0.42, 'activate', {})),
        {'settings': {**QUICK, 'tracking': 'cartesian_impedance', 'reflection': {'gain': 0.5}}})


def activation_check(robot):
    """Activation check: accepted and refused states and efforts."""
    held, zero = robot.gravity_torque(), [0.0] * robot.nv
    still = {'q': rounded(robot.start), 'qd': zero}
    jacobian = robot._dynamics.jacobian(robot.start, robot.tip)[:3]
    load = 2.0 * 9.81 * jacobian[2]
    half = [float('nan') if j % 2 else float(each) for j, each in enumerate(held)]
    flipped = np.where(np.arange(robot.nv) == np.argmax(np.abs(held)), -held, held)
    one = np.where(np.arange(robot.nv) == np.argsort(np.abs(held))[-2], -held, held)
    efforts = (held, 0.0 * held, -held, flipped, one, 2.0 * held, 0.3 * held,
               held + load, robot.gravity_torque_under((5.0, -3.0, -7.9)), held + 20.0,
               np.full(robot.nv, np.nan), half)
    weak = rounded(0.01 * robot.limit)
    outside = [*rounded(robot.start)[:-1], 5.0]
    states = ({'q': outside, 'qd': zero}, {'q': [*zero[:-1], float('inf')], 'qd': zero}, still)
    return Scenario(
        0.1,
        (*((0.01, 'check_state', each) for each in states),
         *((0.02, 'check_effort', {**still, 'effort': rounded(each)}) for each in efforts),
         (0.03, 'check_effort', {**still, 'effort': zero, 'driver_compensates_gravity': True}),
         (0.04, 'check_effort', {**still, 'qd': [0.2] * robot.nv, 'effort': zero}),
         (0.05, 'bounds', {'effort_limit': weak, 'handshake': False}),
         (0.06, 'check_state', still),
         (0.07, 'check_effort', {**still, 'effort': zero}), (0.08, 'bounds', {}),
         (0.08, 'activate', {})),
        {'settings': {**QUICK, 'handshake_tolerance': rounded(0.01 * robot.limit)}})


# --- motions and their ends -------------------------------------------------------------------

def _interrupted(robot, *requests):
    return Scenario(0.7, (BEGIN, moving(robot), *requests), SETUP)


def hold_while_moving(robot):
    """Hold during a motion, stop during that stop, new motion."""
    return _interrupted(robot, (0.35, 'hold', {}), (0.4, 'stop', {}),
                        (0.6, 'follow', go(robot.start.tolist(), 0.5)))


def cancel_while_moving(robot):
    """Motion cancelled, and a new one before the arm has stopped."""
    return _interrupted(robot, (0.35, 'cancel', {}),
                        (0.42, 'follow', go(robot.start.tolist(), 0.4)))


def float_while_moving(robot):
    """Floating out of a motion, stop, floating again, trajectory from floating."""
    return _interrupted(robot, (0.35, 'float', {}),
                        (0.45, 'stop', {}), (0.5, 'float', {}),
                        (0.55, 'follow', go(robot.start.tolist(), 0.4)))


def trajectory_replaced(robot):
    """Two trajectories that replace the one under way."""
    return _interrupted(robot, (0.3, 'follow', go(robot.away(-0.3, 0.4), 0.5)),
                        (0.5, 'follow', go(robot.start.tolist(), 0.18)))


def trajectory_planned_ahead(robot):
    """Trajectories planned with a lead: in time, too late, off the departure; from all modes."""
    back = go(robot.start.tolist(), 0.3)['points']
    return Scenario(
        0.9,
        (BEGIN, (0.12, 'plan', {'points': go(robot.away(0.3, 0.2), 0.25)['points'],
                                'lead': 0.05}), (0.15, 'begin', {}),
         (0.25, 'plan', {'points': back, 'lead': 0.06}), (0.28, 'begin', {}),
         (0.4, 'plan', {'points': back, 'lead': 0.02}), (0.46, 'begin', {}),
         (0.47, 'plan', {'points': back, 'lead': 0.05}), (0.48, 'hold', {}),
         (0.485, 'begin', {}), (0.49, 'plan', {'points': back, 'lead': 0.03}), (0.5, 'begin', {}),
         (0.57, 'plan', {'points': back, 'lead': 0.2}), (0.58, 'begin', {}), (0.6, 'stop', {}),
         (0.75, 'plan', {'points': back, 'lead': 0.1}), (0.76, 'float', {}),
         (0.78, 'begin', {}), (0.8, 'plan', {'points': back, 'lead': 0.05}),
         (0.81, 'begin', {}), (0.85, 'plan', {'points': back, 'lead': 0.0})), SETUP)


def trajectory_pending(robot):
    """Trajectory that ends before the next one, planned ahead, begins."""
    return Scenario(
        0.6, (BEGIN, (0.12, 'follow', go(robot.away(0.3, 0.2), 0.25)),
              (0.33, 'plan', {**go(robot.start.tolist(), 0.3), 'lead': 0.1}), (0.34, 'begin', {})),
        SETUP)


def trajectory_kinds(robot):
    """All kinds of points; partial joints; start delays; a stream in place of another."""
    goals = [robot.away(share, 0.15) for share in (0.2, 0.4, 0.3)]
    bare = [point(goal, 0.07 * (k + 1), still=False) for k, goal in enumerate(goals)]
    fast = [{**each, 'velocities': rounded(0.05 * robot.speed) if k < 2 else [0.0] * robot.nv}
            for k, each in enumerate(bare)]
    pushed = [{**point(goals[0], 0.15), 'efforts': rounded(0.05 * robot.limit)},
              {**point(goals[1], 0.3), 'efforts': [0.0] * robot.nv}]
    some, nearby = robot.names[1:3], rounded(np.array(goals[1])[[2, 1]] + 0.02)
    stream = [point(rounded(np.array(goals[1]) + 0.0002 * k * k), 0.02 * k, still=False)
              for k in range(1, 12)]
    return Scenario(
        1.3,
        (BEGIN, (0.12, 'follow', {'points': bare}), (0.35, 'follow', {'points': fast}),
         (0.58, 'follow', {'points': pushed}),
         (0.9, 'follow', {'points': [point(nearby, 0.12)], 'names': some[::-1],
                          'start_delay': 0.05}),
         (1.1, 'follow', {'points': stream}),
         (1.16, 'follow', {'points': stream[1:], 'start_delay': -0.05})),
        {'settings': {**QUICK, 'allow_partial_joints': True}})


def trajectory_refused(robot):
    """Refused trajectories while another one continues, and while a fault is latched."""
    goal = robot.away(0.2, 0.3)
    far = [*goal[:-1], 6.0]
    heavy = {**point(goal, 0.5), 'efforts': rounded(3.0 * robot.limit)}
    bad = ({'points': []}, {'points': [point(far, 0.5)]}, go(robot.away(0.5, 3.0), 0.2),
           {'points': [point(goal[:-1], 0.5)]}, {'points': [heavy]},
           {'points': [point(goal, 0.5)], 'names': [*robot.names[:-1], 'elbow']},
           {'points': [point(goal[1:], 0.5)], 'names': robot.names[1:]},
           {'points': [point(goal, 0.5), point(goal, 0.4)]},
           {'points': [point([float('nan'), *goal[1:]], 0.5)]}, {'points': [
               {**point(goal, 0.5), 'velocities': []}]})
    return Scenario(
        0.5,
        (BEGIN, moving(robot), *((0.2 + 0.01 * k, 'follow', each) for k, each in enumerate(bad)),
         (0.4, 'fail', {'fault': 'a cause'}), (0.45, 'follow', go(goal, 0.5))), SETUP)


def _judged(robot, tolerances, seconds, spells=(), gains=None):
    return Scenario(
        seconds, (BEGIN, (0.12, 'follow', go(robot.away(0.4, 0.3), 0.3))),
        {'settings': {**QUICK, 'tolerances': tolerances}, 'gains': gains or {}},
        {'payload': [robot.wrist, 0.5, [0.0, 0.02, 0.05]]}, spells)


def path_tolerance(robot):
    """Path tolerance violated by a push."""
    push = {'link': robot.tip, 'wrench': [60.0, -60.0, -60.0, 3.0, 3.0, 3.0]}
    return _judged(robot, {'trajectory': 0.08}, 0.7, ((0.2, 0.5, 'push', push),))


def goal_tolerance(robot):
    """Goal tolerance violated until goal_time has passed."""
    return _judged(robot, {'goal': 0.002, 'goal_time': 0.1}, 0.7)


def goal_in_time(robot):
    """Goal tolerance met within goal_time by the integral."""
    return _judged(robot, {'trajectory': 0.5, 'goal': 0.02, 'goal_time': 0.5,
                           'stopped_velocity': 0.02}, 0.9, gains={'ki': 4000.0})


# --- changes during motions -------------------------------------------------------------------

def _modes(robot, modes):
    requests = [(0.2 + 0.1 * k, 'mode', {'mode': mode}) for k, mode in enumerate(modes)]
    again = (0.15 + 0.1 * modes.index('gravity_compensation') + 0.2, 'follow',
             go(robot.start.tolist(), 0.6))
    return Scenario(
        0.35 + 0.1 * len(modes),
        (BEGIN, moving(robot, seconds=0.8), *requests, again), SETUP,
        {'payload': [robot.wrist, 0.3, [0.0, 0.0, 0.05]]})


def mode_changes_joint_laws(robot):
    """Joint laws and floating in turn during motions."""
    return _modes(robot, JOINT_LAWS)


def mode_changes_cartesian(robot):
    """Cartesian laws, a joint law and floating in turn during motions."""
    return _modes(robot, LINK_LAWS)


def modes_refused(robot):
    """Unknown modes, and any mode while a fault is latched."""
    return Scenario(
        0.4,
        (BEGIN, (0.1, 'mode', {'mode': 'own_law'}), (0.12, 'mode', {'mode': 'no_law'}),
         (0.15, 'fail', {'fault': 'a cause'}), (0.16, 'fail', {'fault': 'another one'}),
         (0.17, 'mode', {'mode': 'joint_impedance'}), (0.18, 'float', {}), (0.19, 'hold', {}),
         (0.2, 'reset_fault', {}), (0.25, 'mode', {'mode': 'joint_impedance'})), SETUP)


def gains_while_moving(robot):
    """Gains, bounds and tolerances changed during a motion; refused values."""
    return Scenario(
        0.8,
        (BEGIN, moving(robot), (0.25, 'gains', {'natural_frequency': 12.0}),
         (0.35, 'gains', {'damping_ratio': 0.7, 'friction_scale': 0.5}),
         (0.4, 'gains', {'kp': [100.0] * robot.nv, 'kd': [25.0] * robot.nv}),
         (0.45, 'gains', {'ki': 1e9}), (0.46, 'gains', {'apparent_inertia': 0.01}),
         (0.5, 'bounds', {'transition_time': 0.05, 'effort_margin': 0.9,
                          'tolerances': {'trajectory': 0.3}}),
         (0.55, 'bounds', {'effort_limit': rounded(0.01 * robot.limit)}),
         (0.56, 'bounds', {'reflection': {'gain': -1.0}}),
         (0.6, 'task_gains', {'natural_frequency': 9.0})),
        {'settings': QUICK}, {'payload': [robot.wrist, 0.3, [0.0, 0.0, 0.05]]})
