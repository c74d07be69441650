"""The faults of the campaign: one row each, with the injection and what must hold afterwards."""

from __future__ import annotations

from collections.abc import Callable
import math
import signal
from typing import NamedTuple, TYPE_CHECKING

from robodyn_ros.reliability import injections as inject
from robodyn_ros.reliability.injections import Injection, InLoop
from robodyn_ros.reliability.judge import Requirements

if TYPE_CHECKING:  # the testbed needs ROS
    from robodyn_ros.reliability.testbed import Testbed


class Case(NamedTuple):
    """
    A fault of the campaign.

    Attributes
    ----------
    name : str
        Name for `--only`; with the seed it determines the draw.
    description : str
        What is done.
    inject : callable or InLoop
        Injects the fault, and returns when it is over.
    requirements : Requirements
        What must hold, in numbers.
    expected : str
        What must happen, in words.
    logged : tuple of (float, str)
        Regular expressions that must match a log line, each for faults of at least this length
        in s.
    duration, amount : (float, float)
        Ranges of the draw.
    network : bool
        Whether the fault needs two hosts.
    prepare : callable, optional
        Called before the motion.

    """

    name: str
    description: str
    inject: Injection | InLoop
    requirements: Requirements
    expected: str
    logged: tuple[tuple[float, str], ...] = ()
    duration: tuple[float, float] = (0.0, 0.0)
    amount: tuple[float, float] = (0.0, 0.0)
    network: bool = False
    prepare: Callable[[Testbed], None] | None = None


_GUARD_COMMANDS = 'the guard commands the arm'
_STOPPED = 'deactivated: the last torque is the gravity torque'
_SILENT = r'fault: joint states: no good data'
# s; a fault of this length is detected even if the machine delays the nodes
_SURE = 0.4
_UNDISTURBED = Requirements(tolerated=math.inf, reset_allowed=False)
_ENDS = Requirements()
_SILENCE = Requirements(sag=0.05)
_LIMITED = Requirements(beyond=0.02)
_ESTIMATES = Requirements(beyond=0.02, tolerated=math.inf, reset_allowed=False)
_ESTIMATED = 'estimated from positions'
# texts of faults of the control cycle that every motion shows
_OPPOSITE, _DEGREES = 'its sign is opposite', 'it seems to be in degrees per second'
_REPEATED, _ALTERNATING = 'the same state is repeated', 'alternates between two positions'
_REORDERED = 'have changed places in the joint states'
CYCLE_TEXTS = frozenset({_SILENT, _DEGREES, _REPEATED, _ALTERNATING})
_LONG = 0.5  # s of motion after which a wrong velocity is detected

CASES = (
    # --- processes
    Case('controller killed', 'kill -9', inject.killed('controller'), _ENDS,
         'the guard brings the arm to rest and holds it; a new controller takes over after a '
         'reset', ((0.0, _GUARD_COMMANDS),)),
    Case('driver killed', 'kill -9 of the simulator; it is started again',
         inject.driver_killed, Requirements(speed=math.inf),
         'a fault is reported; the arm is held at the first position of the new driver',
         ((_SURE, _SILENT),), (0.4, 1.0)),
    Case('guard killed', 'kill -9', inject.killed('guard'), _UNDISTURBED,
         'the controller reports it; the motion continues', ((0.0, 'the guard is silent'),)),
    Case('controller held up', 'SIGSTOP, then SIGCONT', inject.held_up('controller'), _ENDS,
         'a short pause may end the motion; after a long one the guard commands the arm, and the '
         'controller sends no torques', ((_SURE, _GUARD_COMMANDS),), (0.05, 2.0)),
    Case('driver held up', 'SIGSTOP of the simulator, then SIGCONT', inject.held_up('simulator'),
         _ENDS, 'the arm is brought to rest; a fault after 0.25 s', ((_SURE, _SILENT),),
         (0.05, 2.0)),
    Case('guard held up', 'SIGSTOP, then SIGCONT', inject.held_up('guard'), _UNDISTURBED,
         'the motion continues; the guard sends no torques', (), (0.05, 2.0)),
    Case('Ctrl-C', 'SIGINT of the controller', inject.interrupted(signal.SIGINT), _ENDS,
         'the arm comes to rest; the last torque is the gravity torque; exit code 0',
         ((0.0, _STOPPED),)),
    Case('SIGTERM', 'SIGTERM of the controller', inject.interrupted(signal.SIGTERM), _ENDS,
         'the same', ((0.0, _STOPPED),)),
    Case('busy machine', 'programs that use 30 % of each processor', inject.crowded, _UNDISTURBED,
         'the motion continues', (), (1.5, 1.5)),
    Case('network cut', 'the link between the hosts of controller and driver is cut and restored',
         inject.network_cut, _ENDS, 'the guard, on the host of the driver, brings the arm to '
         'rest; the controller sends no torques afterwards', ((_SURE, _GUARD_COMMANDS),),
         (0.5, 3.0), network=True),
    # --- joint states
    Case('states lost', 'no joint states', inject.Faulty('silence'), _SILENCE,
         'brought to rest by prediction; a fault after 0.25 s', ((_SURE, _SILENT),), (0.001, 1.0)),
    Case('states lost for long', 'the same, for seconds', inject.Faulty('silence'),
         Requirements(speed=math.inf), 'the same; an arm that its friction does not hold falls, '
         'as no brake closes on the fault, and is stopped when states return',
         ((0.0, _SILENT),), (1.0, 5.0)),
    Case('states delayed', 'joint states come late', inject.Faulty('delay', amount='positive'),
         _ENDS, 'compared with the reference of their own time; late states count as silence', (),
         (0.1, 1.5), (0.005, 0.3)),
    Case('position frozen', 'an encoder repeats its position', inject.Faulty('freeze', 1),
         Requirements(speed=math.inf), 'comes to rest when the error is too large or the position '
         'jumps to the true one; not detected before', (), (0.02, 1.0)),
    Case('position and velocity NaN', 'of one joint', inject.Faulty('nan', 1), _SILENCE,
         'rejected, counts as silence', ((_SURE, _SILENT),), (0.002, 1.0)),
    Case('velocity NaN', 'of one joint', inject.Faulty('nan_velocity', 1), _ESTIMATES,
         'velocity is estimated from positions; the motion continues', ((_LONG, _ESTIMATED),),
         (0.002, 1.0)),
    Case('position infinite', 'of one joint', inject.Faulty('infinite', 1), _SILENCE,
         'rejected, counts as silence', ((_SURE, _SILENT),), (0.002, 1.0)),
    Case('effort NaN', 'of all joints', inject.Faulty('nan_effort'), _UNDISTURBED,
         'the motion continues', (), (0.1, 1.0)),
    Case('other order', 'joints in reverse order, with their names', inject.Faulty('reorder'),
         _SILENCE, 'new under control, it counts as silence; the log names the joints',
         ((_SURE, _REORDERED),), (0.002, 1.0)),
    Case('extra joint', 'a joint that the arm does not have', inject.Faulty('extra'), _UNDISTURBED,
         'the motion continues', (), (0.1, 1.0)),
    Case('names swapped', "two joints have each other's name", inject.Faulty('swap', 2),
         _SILENCE, 'the same', ((_SURE, _REORDERED),), (0.002, 1.0)),
    Case('joint missing', 'a joint is left out', inject.Faulty('missing', 1), _SILENCE,
         'silence; the log names the joint', ((_SURE, r'joints not reported: \S+'),),
         (0.002, 1.0)),
    Case('joint twice', 'a joint is named twice in a message', inject.Faulty('duplicate', 1),
         _SILENCE, 'rejected, counts as silence; the log names the joint',
         ((_SURE, 'named twice'),), (0.002, 1.0)),
    Case('second publisher', 'another node publishes joint states of another position',
         inject.second_publisher, _ENDS, 'comes to rest', (), (0.1, 0.6), (0.05, 0.5)),
    Case('forgotten publisher', 'another node publishes joint states of the home position, 200 Hz',
         inject.forgotten_publisher, _UNDISTURBED, 'it was not there at activation, so that its '
         'states are not used; the motion continues', (), (0.5, 2.0)),
    Case('stamps jump', 'the clock of the driver is set ahead or back, then corrected',
         inject.Faulty('clock_jump', amount='signed'), _ENDS, 'old stamps count as silence', (),
         (0.05, 1.0), (0.05, 2.0)),
    Case('encoder offset', "a joint's position jumps, then jumps back", inject.offset, _ENDS,
         'comes to rest', (), (0.1, 1.0), (0.01, 0.5)),
    # --- wrong measurements
    Case('velocity zero', 'of all joints', inject.Faulty('velocity_zero'), _ESTIMATES,
         'velocity is estimated from positions; the motion continues', ((_LONG, _ESTIMATED),),
         (0.3, 1.2)),
    Case('one velocity zero', 'of one joint', inject.Faulty('velocity_zero', 1), _ESTIMATES,
         'the same', (), (0.3, 1.2)),
    Case('velocity sign', 'velocities of all joints have the opposite sign',
         inject.Faulty('velocity_scale', amount='positive'), _LIMITED, 'estimated from positions; '
         'a fault with the ratio and the likely cause', ((_LONG, _OPPOSITE),),
         (0.3, 1.2), (-1.0, -1.0)),
    Case('one velocity sign', 'of one joint', inject.Faulty('velocity_scale', 1, 'positive'),
         _LIMITED, 'the same', ((_LONG, _OPPOSITE),), (0.5, 1.2), (-1.0, -1.0)),
    Case('velocity in degrees', 'velocities of all joints are in degrees per second',
         inject.Faulty('velocity_scale', amount='positive'), _LIMITED, 'the same',
         ((_LONG, _DEGREES),), (0.3, 1.2), (57.29578, 57.29578)),
    Case('velocity off', 'velocities of all joints are too small or too large by a factor',
         inject.Faulty('velocity_scale', amount='positive'), _ESTIMATES, 'estimated from '
         'positions where detected, with the ratio; the motion continues', (), (0.3, 1.2),
         (0.3, 1.8)),
    Case('velocity outliers', 'one velocity of fifty of a joint is wrong, by up to 100 rad/s',
         inject.Faulty('velocity_outliers', 1, 'signed'), _ESTIMATES, 'replaced by estimates; the '
         'motion continues', (), (0.3, 1.2), (20.0, 100.0)),
    Case('repeated states', 'the last state is repeated under new stamps', inject.Faulty('repeat'),
         Requirements(sag=0.05, beyond=0.02), 'predicted, then silence',
         ((_SURE, _REPEATED),), (0.02, 1.5)),
    Case('second arm', 'states of another arm, at rest nearby, alternate with those of this arm',
         inject.Faulty('second_arm', amount='signed'), _LIMITED, 'a fault; stopped with the '
         'states of this arm', ((0.0, _ALTERNATING),), (0.1, 1.0), (0.02, 0.06)),
    # --- commands and motors
    Case('commands lost', 'the driver receives none, and applies the last one',
         inject.Faulty('deaf'), _ENDS, 'stopped when commands arrive again', (), (0.001, 0.3)),
    Case('commands lost, watchdog', 'the same; the driver has a watchdog of 50 ms',
         inject.Faulty('deaf', timeout=0.05), _ENDS, 'brakes close; stopped when commands arrive '
         'again', ((0.15, 'brakes on'),), (0.001, 1.0)),
    Case('torque lost', 'the motor of a joint has no torque', inject.Faulty('torque_loss', 1),
         Requirements(speed=4.0), 'the joint falls, and is stopped when its torque returns', (),
         (0.02, 0.6)),
    Case('emergency stop', 'motors off, brakes on', inject.Faulty('estop'), _ENDS,
         'held at its position when the brakes open', (), (0.05, 1.0)),
    # --- requests
    Case('bad trajectories', 'one with every defect, during a motion',
         inject.bad_trajectories, _UNDISTURBED, 'each is refused with its reason; the motion '
         'continues'),
    Case('bad parameters', 'out of range, of another type or length, unknown, read-only',
         inject.set_bad_parameters, _UNDISTURBED, 'each is refused with its reason; no parameter '
         'changes; the motion continues'),
    Case('other URDF', 'robot_description of an arm twice as heavy', inject.other_urdf,
         _UNDISTURBED, 'used by the next configuration only; the motion continues', (),
         (0.3, 1.0)),
    # --- other nodes in place of ours
    Case('two controllers', 'the same controller waits beside the first one; kill -9 of that one',
         inject.first_controller_killed, _ENDS, 'the guard brings the arm to rest; the other '
         'controller takes over after a reset', ((0.0, _GUARD_COMMANDS),),
         prepare=inject.second_controller),
    Case('heartbeats forged', 'another node publishes heartbeats, 200 Hz, while the controller is '
         'killed', inject.forged_heartbeats, _ENDS, 'the guard brings the arm to rest; a new '
         'controller takes over after a reset', ((0.0, _GUARD_COMMANDS),), (0.5, 1.5)),
    Case('guard states forged', 'another node reports, 50 Hz, that the guard commands the arm',
         inject.forged_guard_states, _UNDISTURBED, 'the motion continues', (), (0.5, 1.5)),
    Case('bad contract', 'another node publishes a configuration for the guard that is none',
         inject.other_contract, _UNDISTURBED, 'logged and ignored; the motion continues', (),
         (0.5, 1.5)),
    # --- loads
    Case('payload unknown', "a payload of up to 5 % of the arm's mass, then removed",
         inject.Loaded(False), Requirements(drift=0.02), 'sags, then rests', (), (0.5, 1.0),
         (0.01, 0.05)),
    Case('payload told', 'the same, reported on ~/payload', inject.Loaded(True), _UNDISTURBED,
         'the motion continues', (), (0.5, 1.0), (0.01, 0.05)),
    Case('tilt unknown', 'the base tilts by up to 0.3 rad, then back', inject.Tilted(False),
         Requirements(drift=0.02), 'sags, then rests', (), (0.5, 1.0), (0.02, 0.3)),
    Case('tilt told', 'the same, reported on ~/gravity', inject.Tilted(True), _ENDS,
         'the arm does not sag', (), (0.5, 1.0), (0.02, 0.3)),
)

# faults that only the compiled loop has; amounts: see `compiled.effects`
IN_LOOP = (
    Case('nothing', 'no fault', InLoop('nothing'), _UNDISTURBED, 'the motion continues'),
    Case('states noisy', 'white noise on positions, and fifty times as much on velocities',
         InLoop('noise'), Requirements(drift=0.02, tolerated=math.inf, reset_allowed=False),
         'the motion continues', (), (0.1, 1.2), (1e-5, 5e-4)),
    Case('states coarse', 'positions in steps of an encoder', InLoop('resolution'), _UNDISTURBED,
         'the motion continues', (), (0.1, 1.2), (1e-5, 2e-3)),
    Case('host busy', 'recorded delays and gaps of a busy computer, up to ten times as long',
         InLoop('delays'), _ENDS, 'feedback is reduced where torques are late', (), (0.1, 1.5),
         (1.0, 10.0)),
    Case('host held up', 'the controller does not run for a while, then uses the newest state',
         InLoop('pause'), _ENDS, 'a short pause may end the motion', (), (0.005, 0.2)),
    Case('push', 'a force on the tip, in any direction, of a part of the weight of the arm',
         InLoop('push'), _ENDS, 'pushed away, then at rest', (), (0.01, 0.5), (0.02, 0.5)),
    Case('new goal', 'another goal during the motion', InLoop('goal'),
         Requirements(rest=8.0, tolerated=math.inf, reset_allowed=False),
         'the new goal is reached'),
    # an impedance law deflects by the error of the gravity model, divided by its stiffness
    Case('law changed', 'another law during the motion', InLoop('law'),
         Requirements(away=0.02, tolerated=math.inf, reset_allowed=False),
         'the motion continues'),
    Case('gains changed', 'other gains during the motion', InLoop('gains'), _UNDISTURBED,
         'the motion continues', amount=(0.5, 1.5)),
    Case('gears worn', 'backlash of up to 0.3 mrad in all joints', InLoop('backlash'),
         Requirements(rest=math.inf, drift=0.02, tolerated=math.inf, reset_allowed=False),
         'the motion continues; joints with light links move to and fro within the backlash'),
    Case('stop requested', 'during the motion', InLoop('stop'), _ENDS, 'comes to rest'))
