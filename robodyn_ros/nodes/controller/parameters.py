"""Parameters of the controller node."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control import Bounds, Settings
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.command_message import CommandSettings, DriveSettings
from robodyn_ros.nodes.description import RobotSettings
from robodyn_ros.nodes.realtime import RealtimeSettings
from robodyn_ros.safety import check_not_raised
from robodyn_ros.settings import group, JOINT, parameter, parameters, settings

GUARD_USES = ('optional', 'expected', 'required')
_LONGEST_RISE = 1.0  # s of the torque from zero to its limit
SHARED = 'controller_manager'
LOOPS = ('auto', 'native', 'python', SHARED)


@settings('guard')
class GuardSettings:
    """Guard of the arm."""

    name: str = parameter(
        'guard', 'Node that takes over the arm if this one falls silent; it alone may publish '
        'torques as well.', read_only=True)
    use: str = parameter(
        'optional', 'Need of the guard. expected: activation only after it was seen, for a system '
        'that has a guard, which may be commanding. required: motion only with it, in addition.',
        choices=GUARD_USES, read_only=True)
    silent_after: float = parameter(
        0.5, 'Silence after which the guard counts as gone.', 's', 0.1, 10.0, read_only=True)


@settings('silence')
class SilenceSettings:
    """Drives when no command comes, as after the end of this process."""

    drives: str = parameter(
        'repeat', 'What they do: repeat the last command for ever, as behind a '
        'forward_command_controller, damp, or disable the motors.',
        choices=('repeat', 'damp', 'disable'), read_only=True)
    may_fall: bool = parameter(
        False, 'Whether the arm may fall then. Otherwise a node that sends the commands does not '
        'activate an arm that falls because of silence.drives, or of a drive_kp below what '
        'gravity needs.', read_only=True)


@settings()
class ControllerSettings:
    """Parameters of the controller node."""

    robot: RobotSettings = group(RobotSettings, '')
    realtime: RealtimeSettings = group(RealtimeSettings)
    autostart: bool = parameter(
        True, 'Configuration at start, and activation with the first state of the arm.',
        read_only=True)
    command: CommandSettings = group(CommandSettings, '')
    drives: DriveSettings = group(DriveSettings, '')
    silence: SilenceSettings = group(SilenceSettings)
    loop: str = parameter(
        'auto', 'Loop from joint state to torque: native (a thread in machine code, which waits '
        'for no Python), python, auto: native where it is possible, or controller_manager: an '
        'exported controller of ros2_control.', choices=LOOPS, read_only=True)
    shared_block: str = parameter(
        '', 'Shared memory of the controller in controller_manager, as its parameter block; '
        "empty: /robodyn. and the robot's name.", read_only=True)
    loop_patience: float = parameter(
        0.5, 'Time without a sign of the Python side after which a loop outside of Python stops a '
        'motion and holds.', 's', 0.05, 60.0, read_only=True)
    fixed_rate: float = parameter(
        0.0, 'Torques per second where states come more slowly: between two states, for the one '
        'that the model predicts. 0: a torque per state. In real time only.', 'Hz', 0.0, 2000.0,
        read_only=True)
    lockstep: bool = parameter(
        False, 'Time from the stamps of the states, for a simulator in lockstep: the torques are '
        'then a function of the states alone. Publishes named efforts, too. Silence of the states '
        'is not detected: never with a real arm.', read_only=True)
    control: Settings = group(Settings, '')
    measure_loop: bool = parameter(
        True, 'Measurement of the loop of each joint in the first hold: delay, inertia, friction '
        'and first resonance, by motions below a milliradian. Gains follow, and the rotors that '
        'the model lacks. Not in lockstep.', read_only=True)
    own_law: str = parameter(
        '', 'Law of mode own_law: module:function, or the name of an entry point in the group '
        'robodyn_ros.control_laws.', read_only=True)
    guard: GuardSettings = group(GuardSettings)
    shutdown_effort: str = parameter(
        'hold', 'Last torque at deactivation and shutdown: the gravity torque of the arm, or a '
        'ramp to zero.', choices=('hold', 'release'))
    release_time: float = parameter(
        2.0, 'Time of that ramp.', 's', 0.1, 60.0)
    action_monitor_rate: float = parameter(
        20.0, 'Rate of the feedback of the action follow_joint_trajectory.', 'Hz', 0.1, 100.0,
        read_only=True)
    state_publish_rate: float = parameter(
        50.0, 'Rate of ~/controller_state while it has subscribers; 0: none.', 'Hz', 0.0, 100.0,
        read_only=True)


# all but those of single joints, which are declared when these are known
PARAMETERS = tuple(row for row in parameters(ControllerSettings) if JOINT not in row.name)


def check_loop(values: ControllerSettings, simulated: bool) -> None:
    """Raise `ParameterError` for parameters that the loop does not support."""
    unsupported = {'lockstep': values.lockstep, 'own_law': values.own_law,
                   'publish_joint_commands': values.command.publish_joint_commands,
                   'fixed_rate': values.fixed_rate,
                   'guard.use': values.guard.use if values.guard.use != 'optional' else ''}
    for name, value in unsupported.items() if values.loop == SHARED else ():
        if value:
            raise ParameterError(f'{name} is set, which loop: {SHARED} does not support: leave it '
                                 'out, or set loop to auto', parameter=name, value=value)
    if values.fixed_rate and (simulated or values.lockstep):
        raise ParameterError(f'fixed_rate is {values.fixed_rate:g} Hz, in real time; with '
                             'lockstep or use_sim_time set it to 0: every state is answered',
                             parameter='fixed_rate', value=values.fixed_rate)


def check_limits(joint_names, wanted: Bounds, configured: Bounds) -> None:
    """Raise `ParameterError` for limits above those of the configuration, or far too low."""
    check_not_raised(joint_names, (wanted.usable, wanted.rate),
                     (configured.usable, configured.rate))
    slow = wanted.rate < np.minimum(configured.rate, wanted.usable / _LONGEST_RISE)
    if slow.any():
        j = int(np.argmax(slow))
        raise ParameterError(
            f"torque_rate_limit of joint '{joint_names[j]}' would be {wanted.rate[j]:g}: its "
            f'torque would take more than {_LONGEST_RISE:g} s to its limit, too long to control '
            'an arm', parameter='torque_rate_limit', joint=joint_names[j],
            value=float(wanted.rate[j]))
