"""Parameters of the controller node: one table, from which all else is made."""

from __future__ import annotations

import math
from types import SimpleNamespace

from robodyn_ros.control import ArmController, CycleSettings, Gains, make_gains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.description import ROBOT_PARAMETERS
from robodyn_ros.nodes.parameters import Parameter, per_joint
from robodyn_ros.nodes.realtime import REALTIME_PARAMETERS
from robodyn_ros.trajectory import Tolerances

MODES = ('computed_torque', 'feedforward_pd', 'gravity_compensation')

PARAMETERS = (
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    Parameter('autostart', 'bool', True, 'Configure at start, and activate as soon as the arm '
              'reports its state.', read_only=True),
    Parameter('mode', 'string', 'computed_torque', 'What activation enters; trajectories are '
              'followed by computed_torque unless this is or was feedforward_pd. A change while '
              'active is made without a step of torque.', choices=MODES),
    Parameter('effort_command_topic', 'string', 'effort_controller/commands', 'Where torques '
              'are published, as forward_command_controller takes them.', read_only=True),
    Parameter('command_joints', 'string_array', (), 'Order of the joints in the command; empty: '
              'the order of the model.', read_only=True),
    Parameter('publish_joint_commands', 'bool', False, 'Also publish named efforts on '
              'joint_commands.', read_only=True),
    Parameter('lockstep', 'bool', False, 'Whether time is what the stamps of the states say, for '
              'a simulator in lockstep: the torques are then a function of the states alone. '
              'Publishes named efforts, too. Silence of the states goes unnoticed: never with a '
              'real arm.', read_only=True),
    Parameter('natural_frequency', 'double_array', (20.0,), 'Of the tracking error: '
              'kp = wn^2.', 'rad/s', minimum=0.0, maximum=500.0, per_joint=True),
    Parameter('damping_ratio', 'double_array', (1.0,), 'Of the tracking error: kd = 2 zeta wn.',
              minimum=0.0, maximum=10.0, per_joint=True),
    Parameter('kp', 'double_array', (), 'Position gains in place of natural_frequency.',
              '1/s^2', minimum=0.0, per_joint=True),
    Parameter('kd', 'double_array', (), 'Velocity gains in place of damping_ratio.', '1/s',
              minimum=0.0, per_joint=True),
    Parameter('armature', 'double_array', (0.0,), 'Inertia of the rotors seen at the joints: '
              'rotor inertia times the square of the gear ratio. Without it light wrists are '
              'soft.', 'kg m^2 or kg', minimum=0.0, per_joint=True),
    Parameter('float_damping', 'double_array', (), 'Damping of the floating arm; empty: a joint '
              'alone loses its speed in about a second.', 'N m s/rad', minimum=0.0,
              per_joint=True),
    Parameter('friction_scale', 'double', 1.0, 'Part of the friction in the URDF that is '
              'compensated along the reference.', minimum=0.0, maximum=1.0),
    Parameter('gravity_scale', 'double_array', (1.0,), 'Part of the modelled gravity that is '
              'commanded while the arm follows, holds or floats. Safe states carry all of the '
              'weight.', minimum=0.0, maximum=2.0, per_joint=True),
    Parameter('driver_compensates_gravity', 'bool', False, 'Whether the driver adds gravity '
              'itself (Franka, KUKA FRI, UR): then none is commanded.', read_only=True),
    Parameter('effort_limit', 'double_array', (), 'Effort limits in place of those in the URDF.',
              'N m or N', minimum=0.0, per_joint=True),
    Parameter('effort_margin', 'double', 1.0, 'Part of the effort limits that may be used.',
              minimum=0.01, maximum=1.0),
    Parameter('torque_rate_limit', 'double_array', (), 'Largest change of torque; empty: a '
              'hundred effort limits per second. Much less makes large errors oscillate.',
              'N m/s', minimum=1e-3, maximum=math.inf, per_joint=True),
    Parameter('handshake', 'bool', True, 'Whether the effort of the resting arm must fit its '
              'weight before it is taken over.'),
    Parameter('handshake_tolerance', 'double_array', (), 'By how much it may differ; empty: a '
              'tenth of the effort limits.', 'N m or N', minimum=0.0, per_joint=True),
    Parameter('transition_time', 'double', 0.2, 'In which the torque goes over when law, gains or '
              'limits change.', 's', minimum=0.0, maximum=5.0),
    Parameter('load_time', 'double', 1.0, 'In which a payload from ~/payload, or gravity from '
              '~/gravity, is taken over.', 's', minimum=0.0, maximum=60.0),
    Parameter('external_wrench.timeout', 'double', 0.1, 'For which a wrench from '
              '~/external_wrench counts.', 's', minimum=0.001, maximum=60.0),
    Parameter('activation_time', 'double', 0.5, 'In which feedback grows to its full part.',
              's', minimum=0.0, maximum=10.0, read_only=True),
    Parameter('stop_time', 'double', 0.3, 'In which a joint comes to rest from its velocity '
              'limit.', 's', minimum=0.05, maximum=5.0, read_only=True),
    Parameter('stale.hold', 'double', 0.05, 'Silence of the joint states after which the arm is '
              'brought to rest by the model alone.', 's', minimum=0.002, maximum=1.0,
              read_only=True),
    Parameter('stale.stop', 'double', 0.25, 'Silence after which a fault is latched.', 's',
              minimum=0.004, maximum=10.0, read_only=True),
    Parameter('stale.max_skew', 'double', 1.0, 'Largest difference between stamp and clock; '
              '.inf where the clocks are known to differ.', 's', minimum=0.001,
              maximum=math.inf, read_only=True),
    Parameter('shutdown_effort', 'string', 'hold', 'What is sent last at deactivation and '
              'shutdown: the weight of the arm, or a ramp to zero.',
              choices=('hold', 'release')),
    Parameter('release_time', 'double', 2.0, 'Duration of that ramp.', 's', minimum=0.1,
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
_GAINS = {'natural_frequency', 'damping_ratio', 'kp', 'kd', 'armature', 'float_damping',
          'friction_scale', 'gravity_scale'}


def gains_from(values: SimpleNamespace, dynamics: Dynamics) -> Gains:
    """
    Return the gains that the parameters ask for.

    Raises
    ------
    ParameterError
        A list is not one number, nor one per joint.

    """
    return make_gains(
        dynamics, values.natural_frequency, values.damping_ratio, values.kp, values.kd,
        values.float_damping, values.friction_scale, values.gravity_scale, values.armature,
        values.driver_compensates_gravity)


def settings_from(values: SimpleNamespace, model: RobotModel) -> CycleSettings:
    """Return the settings of the cycle that the parameters ask for (raises as `gains_from`)."""
    def several(numbers):
        return numbers[0] if len(numbers) == 1 else numbers

    def tolerances(kind):
        # those of a single joint, which are declared once the joints are known, come first
        own = [getattr(values, f'constraints_{joint}_{kind}'.replace('.', '_'), 0.0)
               for joint in model.joint_names]
        common = getattr(values, f'constraints_{kind}')
        if not any(own):
            return several(common)
        return [x or y for x, y in zip(own, per_joint(
            f'constraints.{kind}', common, model.joint_names))]

    return CycleSettings(
        tracking='feedforward_pd' if values.mode == 'feedforward_pd' else 'computed_torque',
        start_floating=values.mode == 'gravity_compensation',
        activation_time=values.activation_time, stop_time=values.stop_time,
        transition_time=values.transition_time, load_time=values.load_time,
        wrench_timeout=values.external_wrench_timeout, handshake=values.handshake,
        handshake_tolerance=several(values.handshake_tolerance)
        if values.handshake_tolerance else None,
        effort_limit=values.effort_limit or None, effort_margin=values.effort_margin,
        torque_rate=several(values.torque_rate_limit) if values.torque_rate_limit else None,
        tolerances=Tolerances.from_defaults(
            model.nv, tolerances('trajectory'), tolerances('goal'),
            values.constraints_goal_time, values.constraints_stopped_velocity_tolerance),
        allow_partial_joints=values.allow_partial_joints_goal,
        longest_pause=values.stale_stop)


def apply_changes(controller: ArmController, values: SimpleNamespace, names: list[str],
                  dynamics: Dynamics) -> None:
    """
    Take over changed parameters while the controller runs: all, or none.

    Raises
    ------
    RobodynError
        Why not; nothing has changed then.

    """
    gains, settings = gains_from(values, dynamics), settings_from(values, dynamics.model)
    bounds = set(names) - _GAINS - {'mode'}
    if bounds:
        controller.check_bounds(settings)
    if 'mode' in names:
        controller.enter(values.mode)  # the last that can be refused
    if _GAINS.intersection(names):
        controller.set_gains(gains)
    if bounds:
        controller.set_bounds(settings)
