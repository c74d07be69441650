"""Parameters of the controller node: one table, from which all else is made."""

from __future__ import annotations

from types import SimpleNamespace

from robodyn_ros.control import (
    ArmController, CycleSettings, Gains, make_gains, Mode, ReflectionSettings)
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.control.programming import EXTERNAL_LAWS
from robodyn_ros.control.settings import Bounds, PositionLimits, StateSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import per_joint
from robodyn_ros.nodes.controller.adaptive_parameters import (
    adaptation_from, ADAPTIVE_PARAMETERS, schedule_from, SCHEDULE_PARAMETERS)
from robodyn_ros.nodes.controller.cartesian_parameters import (
    CARTESIAN_PARAMETERS, reach_from, task_gains_from, TASK_NAMES)
from robodyn_ros.nodes.controller.external_law_parameters import (
    EXTERNAL_LAW_PARAMETERS, linear_from)
from robodyn_ros.nodes.controller.observer_parameters import observer_from, OBSERVER_PARAMETERS
from robodyn_ros.nodes.controller.plausibility_parameters import (
    plausibility_from, PLAUSIBILITY_PARAMETERS)
from robodyn_ros.nodes.description import ROBOT_PARAMETERS
from robodyn_ros.nodes.parameters import Parameter
from robodyn_ros.nodes.realtime import REALTIME_PARAMETERS
from robodyn_ros.nodes.torque_parameters import (
    COMMAND_PARAMETERS, FASTEST, HEAVIEST, LIMIT_PARAMETERS, MOST_DAMPED, STATE_PARAMETERS,
    STIFFEST, STRONGEST)
from robodyn_ros.safety import check_not_raised
from robodyn_ros.trajectory import Tolerances

_BELIEVED = 0.05  # s that a fault is latched before states are used that do not continue the way
MODES = (*TRACKING, *EXTERNAL_LAWS, Mode.FLOAT.value)

PARAMETERS = (
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    Parameter('autostart', 'bool', True, 'Configure at start, and activate as soon as the arm '
              'reports its state.', read_only=True),
    Parameter('mode', 'string', 'computed_torque', 'What activation enters. Trajectories are '
              'followed by the last of these laws that was not gravity_compensation, and refused '
              'in linear_feedback. A change while active is made without a step of torque.',
              choices=MODES),
    *COMMAND_PARAMETERS,
    Parameter('lockstep', 'bool', False, 'Whether time is what the stamps of the states say, for '
              'a simulator in lockstep: the torques are then a function of the states alone. '
              'Publishes named efforts, too. Silence of the states goes unnoticed: never with a '
              'real arm.', read_only=True),
    Parameter('loop', 'string', 'auto', 'Loop from joint state to torque: native (a thread in '
              'machine code, which waits for no Python), python, or auto: native where it can.',
              choices=('auto', 'native', 'python'), read_only=True),
    Parameter('loop_patience', 'double', 0.5, 'Time without a sign of the Python side after which '
              'the native loop stops a motion and holds.', 's', minimum=0.05, maximum=60.0,
              read_only=True),
    Parameter('fixed_rate', 'double', 0.0, 'Torques per second where states come more slowly: '
              'between two states, for the one that the model predicts. 0: a torque per state. In '
              'real time only.', 'Hz', minimum=0.0, maximum=2000.0, read_only=True),
    Parameter('natural_frequency', 'double_array', (20.0,), 'Of the tracking error: '
              'kp = wn^2.', 'rad/s', minimum=0.0, maximum=FASTEST, per_joint=True),
    Parameter('damping_ratio', 'double_array', (1.0,), 'Of the tracking error: kd = 2 zeta wn.',
              minimum=0.0, maximum=10.0, per_joint=True),
    Parameter('kp', 'double_array', (), 'Position gains in place of natural_frequency.',
              '1/s^2', minimum=0.0, maximum=FASTEST**2, per_joint=True),
    Parameter('kd', 'double_array', (), 'Velocity gains in place of damping_ratio.', '1/s',
              minimum=0.0, maximum=20.0 * FASTEST, per_joint=True),
    Parameter('ki', 'double_array', (0.0,), 'Integral gains of computed_torque and '
              'feedforward_pd; below kp kd. They do not wind up.', '1/s^3', minimum=0.0,
              maximum=FASTEST**3, per_joint=True),
    Parameter('impedance.stiffness', 'double_array', (), 'Of the joint impedances; empty: by '
              'impedance.natural_frequency.', 'N m/rad or N/m', minimum=0.0, maximum=STIFFEST,
              per_joint=True),
    Parameter('impedance.natural_frequency', 'double_array', (10.0,), 'Of a joint with its own '
              'inertia on its spring.', 'rad/s', minimum=0.0, maximum=FASTEST, per_joint=True),
    Parameter('impedance.damping_ratio', 'double_array', (1.0,), 'Of the joint impedances, in '
              'any pose.', minimum=0.0, maximum=10.0, per_joint=True),
    Parameter('impedance.damping', 'double_array', (), 'In place of the damping ratio.',
              'N m s/rad or N s/m', minimum=0.0, maximum=MOST_DAMPED, per_joint=True),
    Parameter('impedance.inertia', 'double_array', (), 'That joints show in shaped_impedance; '
              'empty: their usual own.', 'kg m^2 or kg', minimum=1e-6, maximum=HEAVIEST,
              per_joint=True),
    Parameter('impedance.energy_tank', 'double', 1.0, 'Energy that a change of stiffness may feed '
              'into the arm; what is missing is waited for.', 'J', minimum=0.0, maximum=100.0,
              read_only=True),
    *CARTESIAN_PARAMETERS,
    *ADAPTIVE_PARAMETERS,
    *SCHEDULE_PARAMETERS,
    Parameter('armature', 'double_array', (0.0,), 'Inertia of the rotors seen at the joints: '
              'rotor inertia times the square of the gear ratio. Without it light wrists are '
              'soft.', 'kg m^2 or kg', minimum=0.0, maximum=HEAVIEST, per_joint=True),
    Parameter('float_damping', 'double_array', (), 'Damping of the floating arm; empty: a joint '
              'alone loses its speed in about a second.', 'N m s/rad', minimum=0.0,
              maximum=MOST_DAMPED, per_joint=True),
    Parameter('friction_scale', 'double', 1.0, 'Part of the friction that is compensated along '
              'the reference.', minimum=0.0, maximum=1.0),
    Parameter('friction.viscous', 'double_array', (), 'Friction in place of that in the URDF.',
              'N m s/rad or N s/m', minimum=0.0, maximum=MOST_DAMPED, per_joint=True),
    Parameter('friction.coulomb', 'double_array', (), 'Dry friction in place of that in the '
              'URDF.', 'N m or N', minimum=0.0, maximum=STRONGEST, per_joint=True),
    Parameter('friction.stiction', 'double_array', (), 'Dry friction at rest; empty: as in '
              'motion.', 'N m or N', minimum=0.0, maximum=STRONGEST, per_joint=True),
    Parameter('friction.stribeck_velocity', 'double_array', (0.01,), 'At which dry friction is '
              'halfway from rest to motion.', 'rad/s or m/s', minimum=1e-6, per_joint=True),
    Parameter('float_friction', 'double_array', (0.0,), 'Part of the friction that is taken from '
              'the hand that moves a floating arm.', minimum=0.0, maximum=0.95,
              per_joint=True),
    Parameter('gravity_scale', 'double_array', (1.0,), 'Part of the modelled gravity that is '
              'commanded while the arm follows, holds or floats. Safe states carry all of the '
              'weight.', minimum=0.0, maximum=2.0, per_joint=True),
    *LIMIT_PARAMETERS,
    Parameter('handshake', 'bool', True, 'Whether the effort of the resting arm must fit its '
              'weight before it is taken over.'),
    Parameter('handshake_tolerance', 'double_array', (), 'By how much it may differ; empty: a '
              'tenth of the effort limits.', 'N m or N', minimum=0.0, per_joint=True),
    Parameter('transition_time', 'double', 0.2, 'In which the torque goes over when law, gains or '
              'limits change.', 's', minimum=0.0, maximum=5.0),
    Parameter('load_time', 'double', 1.0, 'In which a payload from ~/payload, or gravity from '
              '~/gravity, is taken over.', 's', minimum=0.0, maximum=60.0),
    Parameter('external_wrench.timeout', 'double', 0.1, 'For which a message on '
              '~/external_wrench, ~/target_wrench or ~/reflected_torque counts.', 's',
              minimum=0.001, maximum=60.0),
    *OBSERVER_PARAMETERS,
    *EXTERNAL_LAW_PARAMETERS,
    Parameter('activation_time', 'double', 0.5, 'In which feedback grows to its full part.',
              's', minimum=0.0, maximum=10.0, read_only=True),
    Parameter('stop_time', 'double', 0.3, 'In which a joint comes to rest from its velocity '
              'limit.', 's', minimum=0.05, maximum=5.0, read_only=True),
    Parameter('position_limits.tolerance', 'double', 0.01, 'Distance beyond a position limit '
              'that counts as inside: where the arm is, not where it is to go.', 'rad or m',
              minimum=0.0, maximum=0.1, read_only=True),
    Parameter('position_limits.recovery', 'double', 0.2, 'Largest distance beyond a position '
              'limit from which an arm at rest is taken over, for motion inwards only; 0: it is '
              'refused beyond the tolerance.', 'rad or m', minimum=0.0, maximum=1.0,
              read_only=True),
    Parameter('position_limits.recovery_speed', 'double', 0.1, 'Largest speed at which a '
              'joint beyond its limit is led inwards.',
              'rad/s or m/s', minimum=0.001, maximum=1.0, read_only=True),
    Parameter('stale.hold', 'double', 0.05, 'Silence of the joint states after which the arm is '
              'brought to rest by the model alone.', 's', minimum=0.002, maximum=1.0,
              read_only=True),
    Parameter('stale.stop', 'double', 0.25, 'Silence after which a fault is latched.', 's',
              minimum=0.004, maximum=10.0, read_only=True),
    *STATE_PARAMETERS,
    *PLAUSIBILITY_PARAMETERS,
    Parameter('guard.name', 'string', 'guard', 'Node that takes over the arm if this one falls '
              'silent; it alone may publish torques as well.', read_only=True),
    Parameter('guard.expected', 'bool', False, 'Whether to wait for it before the arm is taken '
              'over: set this where there is a guard, it may be commanding.', read_only=True),
    Parameter('guard.required', 'bool', False, 'Whether, besides, nothing moves without it.',
              read_only=True),
    Parameter('guard.timeout', 'double', 0.5, 'Silence after which it counts as gone.', 's',
              minimum=0.1, maximum=10.0, read_only=True),
    Parameter('shutdown_effort', 'string', 'hold', 'What is sent last at deactivation and '
              'shutdown: the weight of the arm, or a ramp to zero.',
              choices=('hold', 'release')),
    Parameter('release_time', 'double', 2.0, 'Time in which the weight ramps to '
              'zero with shutdown_effort release.', 's', minimum=0.1,
              maximum=60.0),
    Parameter('allow_partial_joints_goal', 'bool', False, 'Whether a trajectory may leave '
              'joints out; they stay.'),
    Parameter('action_monitor_rate', 'double', 20.0, 'Feedback messages of the action '
              'follow_joint_trajectory.', 'Hz', minimum=0.1, maximum=100.0, read_only=True),
    Parameter('state_publish_rate', 'double', 50.0, 'Messages on ~/controller_state while '
              'somebody listens; 0: none.', 'Hz', minimum=0.0, maximum=100.0, read_only=True),
    Parameter('constraints.trajectory', 'double_array', (0.0,), 'Largest error while moving; 0: '
              'unchecked. Of one joint: constraints.<joint>.trajectory.', 'rad or m', minimum=0.0,
              per_joint=True),
    Parameter('constraints.goal', 'double_array', (0.0,), 'Largest error at the goal; 0: '
              'unchecked. Of one joint: constraints.<joint>.goal.', 'rad or m', minimum=0.0,
              per_joint=True),
    Parameter('constraints.goal_time', 'double', 0.0, 'Time after the last point to get within '
              'the goal; 0: unlimited.', 's', minimum=0.0),
    Parameter('constraints.stopped_velocity_tolerance', 'double', 0.01, 'Speed below which a '
              'joint has arrived; 0: unchecked.', 'rad/s or m/s', minimum=0.0),
)
# declared for each joint when the robot is known; named as in joint_trajectory_controller
JOINT_PARAMETERS = (
    Parameter('constraints.{joint}.trajectory', 'double', 0.0, 'Largest error of this joint while '
              'moving; 0: as constraints.trajectory.', 'rad or m', minimum=0.0),
    Parameter('constraints.{joint}.goal', 'double', 0.0, 'Largest error of this joint at the '
              'goal; 0: as constraints.goal.', 'rad or m', minimum=0.0),
)
# what changes the gains: design values by the name of their parameter
_DESIGN = {
    **{name: name for name in (
        'natural_frequency', 'damping_ratio', 'kp', 'kd', 'ki', 'armature', 'gravity_scale',
        'friction_scale', 'float_friction', 'driver_compensates_gravity',
        'disturbance_observer')},
    'observer.bandwidth': 'observer_bandwidth', 'float_damping': 'damping',
    'impedance.stiffness': 'stiffness',
    'impedance.natural_frequency': 'impedance_frequency',
    'impedance.damping_ratio': 'impedance_ratio', 'impedance.damping': 'joint_damping',
    'impedance.inertia': 'apparent_inertia', 'friction.viscous': 'viscous',
    'friction.coulomb': 'coulomb', 'friction.stiction': 'stiction',
    'friction.stribeck_velocity': 'stribeck_velocity', 'adaptive.sliding': 'sliding'}


def gains_from(values: SimpleNamespace, dynamics: Dynamics) -> Gains:
    """
    Return the gains that the parameters ask for.

    Raises
    ------
    ParameterError
        A list is not one number, nor one per joint.

    """
    return make_gains(dynamics, **{
        design: getattr(values, name.replace('.', '_')) for name, design in _DESIGN.items()})


def settings_from(values: SimpleNamespace, model: RobotModel,
                  simulated: bool = False) -> CycleSettings:
    """
    Return the settings of the cycle that the parameters ask for.

    Parameters
    ----------
    values : SimpleNamespace
        All parameters.
    model : RobotModel
        Of the arm.
    simulated : bool
        Whether the node uses simulated time.

    Raises
    ------
    ParameterError
        As `gains_from`.

    """
    return CycleSettings(
        tracking=values.mode if values.mode in TRACKING else 'computed_torque',
        start_floating=values.mode == Mode.FLOAT.value, energy_tank=values.impedance_energy_tank,
        adaptation=adaptation_from(values), gain_schedule=schedule_from(values),
        activation_time=values.activation_time, stop_time=values.stop_time,
        transition_time=values.transition_time, load_time=values.load_time,
        wrench_timeout=values.external_wrench_timeout, handshake=values.handshake,
        handshake_tolerance=values.handshake_tolerance or None,
        effort_limit=values.effort_limit or None, effort_margin=values.effort_margin,
        torque_rate=values.torque_rate_limit or None, tolerances=tolerances_from(values, model),
        allow_partial_joints=values.allow_partial_joints_goal,
        longest_pause=values.stale_stop, observer=observer_from(values),
        linear=linear_from(values), reach=reach_from(values),
        reflection=ReflectionSettings(values.reflection_gain, values.reflection_limit),
        position_limits=PositionLimits(
            values.position_limits_tolerance, values.position_limits_recovery,
            values.position_limits_recovery_speed),
        external_law=values.mode if values.mode in EXTERNAL_LAWS else '',
        states=StateSettings(
            values.stale_hold, values.stale_stop, values.stale_max_skew, values.stale_jump,
            values.stale_stop + _BELIEVED, values.lockstep or simulated,
            plausibility_from(values)))


def tolerances_from(values: SimpleNamespace, model: RobotModel) -> Tolerances:
    """Return the tolerances of trajectories (raises as `gains_from`)."""
    def limits(kind):
        # those of a single joint, which are declared once the joints are known, come first
        own = [getattr(values, f'constraints_{joint}_{kind}'.replace('.', '_'), 0.0)
               for joint in model.joint_names]
        common = per_joint(f'constraints.{kind}', getattr(values, f'constraints_{kind}'),
                           model.joint_names)
        return [x or y for x, y in zip(own, common)]

    return Tolerances.from_defaults(
        model.nv, limits('trajectory'), limits('goal'), values.constraints_goal_time,
        values.constraints_stopped_velocity_tolerance)


def check_rate(values: SimpleNamespace, simulated: bool) -> None:
    """Raise `ParameterError` for a fixed rate where time is simulated."""
    if values.fixed_rate and (simulated or values.lockstep):
        raise ParameterError(f'fixed_rate is {values.fixed_rate:g} Hz, in real time; with '
                             'lockstep or use_sim_time set it to 0: every state is answered',
                             parameter='fixed_rate', value=values.fixed_rate)


def apply_changes(controller: ArmController, values: SimpleNamespace, names: list[str],
                  configured: Bounds) -> None:
    """
    Take over changed parameters while the controller runs: all, or none.

    Parameters
    ----------
    controller : ArmController
        Of the arm.
    values : SimpleNamespace
        All parameters, as they would be.
    names : list of str
        Those that change.
    configured : Bounds
        With which the node was configured: limits of torque and its rate stay within these.

    Raises
    ------
    RobodynError
        Why not; nothing has changed then.

    """
    dynamics = controller.dynamics
    gains, settings = gains_from(values, dynamics), settings_from(values, dynamics.model)
    task_gains = task_gains_from(values, dynamics) if TASK_NAMES & set(names) else None
    bounds = set(names) - _DESIGN.keys() - TASK_NAMES - {'mode'}
    if bounds:
        wanted = controller.check_bounds(settings)
        check_not_raised(dynamics.model.joint_names, (wanted.usable, wanted.rate),
                         (configured.usable, configured.rate))
    controller.check_gains(gains)
    if 'mode' in names:
        controller.enter(values.mode)  # the last that can be refused
    if _DESIGN.keys() & names:
        controller.set_gains(gains)
    if task_gains is not None:
        controller.set_task_gains(task_gains)
    if bounds:
        controller.set_bounds(settings)
