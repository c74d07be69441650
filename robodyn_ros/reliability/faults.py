"""The faults of a campaign: one row each, with what is done and what must hold afterwards."""

from __future__ import annotations

import math
import signal
from typing import NamedTuple

from robodyn_ros.reliability import injections as inject
from robodyn_ros.reliability.injections import Act
from robodyn_ros.reliability.judge import Bounds


class Case(NamedTuple):
    """
    A row of the table.

    Attributes
    ----------
    name : str
    text : str
        What is done.
    act : callable
        Does it.
    bounds : Bounds
        What must hold, in numbers.
    must : str
        What must hold, in words.
    says : tuple of (float, str)
        Regular expressions of what must be logged, each for faults that last at least so long (s).
    duration, amount : (float, float)
        Ranges from which the seed draws.
    network : bool
        Whether it takes two hosts.

    """

    name: str
    text: str
    act: Act
    bounds: Bounds
    must: str
    says: tuple[tuple[float, str], ...] = ()
    duration: tuple[float, float] = (0.0, 0.0)
    amount: tuple[float, float] = (0.0, 0.0)
    network: bool = False


_TAKEN = 'the guard commands the arm'
_LEFT = 'left: the last torque is the weight'
_SILENT = r'fault: joint states: no good data'
# longer than this a fault cannot be overlooked, on a machine that is not on time
_SURE = 0.4
_UNTOUCHED = Bounds(goes_on=math.inf, resets=False)
_ENDS = Bounds()
_LIMITED = Bounds(beyond=0.02)
_BLIND = Bounds(beyond=0.02, goes_on=math.inf, resets=False)
_ESTIMATED = 'estimated from positions'
_LONG = 0.5  # s of motion that show what is wrong with a velocity

CASES = (
    # --- processes
    Case('controller killed', 'kill -9', inject.killed('controller'), _ENDS,
         'the guard brings the arm to rest and carries it; a new controller takes over after a '
         'reset', ((0.0, _TAKEN),)),
    Case('driver killed', 'kill -9 of the simulator; a new one comes', inject.driver_killed,
         Bounds(speed=math.inf), 'a fault is told; the arm is held where the new driver finds it',
         ((_SURE, _SILENT),), (0.4, 1.0)),
    Case('guard killed', 'kill -9', inject.killed('guard'), _UNTOUCHED,
         'the controller says so, and goes on', ((0.0, 'the guard is silent'),)),
    Case('controller held up', 'SIGSTOP, then SIGCONT', inject.held_up('controller'), _ENDS,
         'a short pause ends the motion at most; after a long one the guard has the arm, and the '
         'controller does not fight it', ((_SURE, _TAKEN),), (0.05, 2.0)),
    Case('driver held up', 'SIGSTOP of the simulator, then SIGCONT', inject.held_up('simulator'),
         _ENDS, 'the arm is brought to rest; a fault after 0.25 s', ((_SURE, _SILENT),),
         (0.05, 2.0)),
    Case('guard held up', 'SIGSTOP, then SIGCONT', inject.held_up('guard'), _UNTOUCHED,
         'the motion goes on, and the guard does not fight', (), (0.05, 2.0)),
    Case('Ctrl-C', 'SIGINT of the controller', inject.told_to_end(signal.SIGINT), _ENDS,
         'comes to rest, leaves the weight as the last torque, exit code 0', ((0.0, _LEFT),)),
    Case('SIGTERM', 'SIGTERM of the controller', inject.told_to_end(signal.SIGTERM), _ENDS,
         'the same', ((0.0, _LEFT),)),
    Case('busy machine', 'programs that want 30 % of each processor', inject.crowded, _UNTOUCHED,
         'the motion goes on', (), (1.5, 1.5)),
    Case('network cut', 'the wire between the hosts of controller and driver is cut, and healed',
         inject.cut_off, _ENDS, 'the guard, beside the driver, brings the arm to rest; after that '
         'the controller does not fight it', ((_SURE, _TAKEN),), (0.5, 3.0), network=True),
    # --- joint states
    Case('states lost', 'no joint states', inject.faulty('silence'), Bounds(sag=0.05),
         'brought to rest by the model; a fault after 0.25 s', ((_SURE, _SILENT),), (0.001, 1.0)),
    Case('states lost for long', 'the same, for seconds', inject.faulty('silence'),
         Bounds(speed=math.inf), 'the same; an arm that its friction does not hold falls, as no '
         'brake closes on the fault, and is caught when states come back', ((0.0, _SILENT),),
         (1.0, 5.0)),
    Case('states delayed', 'joint states come late', inject.faulty('delay', amount='positive'),
         _ENDS, 'compared with the reference of their own time; late ones are silence', (),
         (0.1, 1.5), (0.005, 0.3)),
    Case('position frozen', 'an encoder stands still', inject.faulty('freeze', 1),
         Bounds(speed=math.inf), 'comes to rest, when the error is too large or the position '
         'jumps to the truth; until then nothing sees it', (), (0.02, 1.0)),
    Case('position and velocity NaN', 'of one joint', inject.faulty('nan', 1), Bounds(sag=0.05),
         'not used: silence', ((_SURE, _SILENT),), (0.002, 1.0)),
    Case('velocity NaN', 'of one joint', inject.faulty('nan_velocity', 1), _BLIND,
         'velocity is estimated from positions, and the motion goes on', ((_LONG, _ESTIMATED),),
         (0.002, 1.0)),
    Case('position infinite', 'of one joint', inject.faulty('infinite', 1), Bounds(sag=0.05),
         'not used: silence', ((_SURE, _SILENT),), (0.002, 1.0)),
    Case('effort NaN', 'of all joints', inject.faulty('nan_effort'), _UNTOUCHED,
         'the motion goes on', (), (0.1, 1.0)),
    Case('other order', 'joints in reverse order, with their names', inject.faulty('reorder'),
         _UNTOUCHED, 'the motion goes on', (), (0.1, 1.0)),
    Case('extra joint', 'a joint that the arm does not have', inject.faulty('extra'), _UNTOUCHED,
         'the motion goes on', (), (0.1, 1.0)),
    Case('names swapped', 'two joints carry the name of the other', inject.faulty('swap', 2),
         _ENDS, 'comes to rest', (), (0.02, 1.0)),
    Case('joint missing', 'a joint is left out', inject.faulty('missing', 1), Bounds(sag=0.05),
         'silence: the joint is named', ((_SURE, r'joints not reported: \S+'),), (0.002, 1.0)),
    Case('joint twice', 'a joint is named twice in a message', inject.faulty('duplicate', 1),
         Bounds(sag=0.05), 'not used: silence, with the joint', ((_SURE, 'named twice'),),
         (0.002, 1.0)),
    Case('second publisher', 'somebody else publishes joint states, of an arm elsewhere',
         inject.impersonated, _ENDS, 'comes to rest', (), (0.1, 0.6), (0.05, 0.5)),
    Case('stamps jump', 'the clock of the driver goes ahead or back, and returns',
         inject.faulty('clock_jump', amount='signed'), _ENDS, 'old stamps are silence', (),
         (0.05, 1.0), (0.05, 2.0)),
    Case('encoder offset', "a joint's position jumps, and jumps back", inject.offset, _ENDS,
         'comes to rest', (), (0.1, 1.0), (0.01, 0.5)),
    # --- sensors that lie
    Case('velocity zero', 'of all joints', inject.faulty('velocity_zero'), _BLIND,
         'velocity is estimated from positions, and the motion goes on', ((_LONG, _ESTIMATED),),
         (0.3, 1.2)),
    Case('one velocity zero', 'of one joint', inject.faulty('velocity_zero', 1), _BLIND,
         'the same', (), (0.3, 1.2)),
    Case('velocity sign', 'velocities of all joints have the opposite sign',
         inject.faulty('velocity_scale', amount='positive'), _LIMITED, 'estimated from positions; '
         'a fault with the ratio and the likely cause', ((_LONG, 'its sign is opposite'),),
         (0.3, 1.2), (-1.0, -1.0)),
    Case('one velocity sign', 'of one joint', inject.faulty('velocity_scale', 1, 'positive'),
         _LIMITED, 'the same', ((_LONG, 'its sign is opposite'),), (0.5, 1.2), (-1.0, -1.0)),
    Case('velocity in degrees', 'velocities of all joints are in degrees per second',
         inject.faulty('velocity_scale', amount='positive'), _LIMITED, 'the same',
         ((_LONG, 'it seems to be in degrees per second'),), (0.3, 1.2), (57.29578, 57.29578)),
    Case('velocity off', 'velocities of all joints are too small or too large by a factor',
         inject.faulty('velocity_scale', amount='positive'), _BLIND, 'estimated from positions '
         'where that shows, with the ratio; the motion goes on', (), (0.3, 1.2), (0.3, 1.8)),
    Case('velocity outliers', 'one velocity of fifty of a joint is wrong, by up to 100 rad/s',
         inject.faulty('velocity_outliers', 1, 'signed'), _BLIND, 'replaced by estimates, and the '
         'motion goes on', (), (0.3, 1.2), (20.0, 100.0)),
    Case('repeated states', 'the last state is repeated under new stamps', inject.faulty('repeat'),
         Bounds(sag=0.05, beyond=0.02), 'answered by the prediction, then silence',
         ((_SURE, 'the same state is repeated'),), (0.02, 1.5)),
    Case('second arm', 'another arm, at rest beside this one, reports by turns with it',
         inject.faulty('second_arm', amount='signed'), _LIMITED, 'a fault; stopped by the states '
         'of the arm that was there first', ((0.0, 'hops to and fro'),), (0.1, 1.0), (0.02, 0.06)),
    # --- commands and motors
    Case('commands lost', 'the driver hears none, and repeats the last one', inject.faulty('deaf'),
         _ENDS, 'caught as soon as it hears again', (), (0.001, 0.3)),
    Case('commands lost, watchdog', 'the same; the driver has a watchdog of 50 ms',
         inject.faulty('deaf', timeout=0.05), _ENDS, 'brakes close; caught as soon as it hears '
         'again', ((0.15, 'brakes on'),), (0.001, 1.0)),
    Case('torque lost', 'the motor of a joint gives nothing', inject.faulty('torque_loss', 1),
         Bounds(speed=4.0), 'falls meanwhile, and is caught when the motor gives again', (),
         (0.02, 0.6)),
    Case('emergency stop', 'motors off, brakes on', inject.faulty('estop'), _ENDS,
         'held where it is when the brakes open', (), (0.05, 1.0)),
    # --- requests
    Case('bad trajectories', 'one with every defect, while it moves', inject.misdirected,
         _UNTOUCHED, 'each is refused with its reason, and the motion goes on'),
    Case('bad parameters', 'out of range, of another type or length, unknown, read-only',
         inject.mistuned, _UNTOUCHED, 'each is refused with its reason, nothing changes, and the '
         'motion goes on'),
    Case('other URDF', 'robot_description of an arm twice as heavy', inject.redescribed,
         _UNTOUCHED, 'counts for the next configuration only; the motion goes on', (),
         (0.3, 1.0)),
    # --- loads
    Case('payload unknown', 'a payload of up to 5 % of the arm comes and goes',
         inject.loaded(False), Bounds(drift=0.02), 'sags, and is held', (), (0.5, 1.0),
         (0.01, 0.05)),
    Case('payload told', 'the same, and told on ~/payload', inject.loaded(True), _UNTOUCHED,
         'the motion goes on', (), (0.5, 1.0), (0.01, 0.05)),
    Case('tilt unknown', 'the base tilts by up to 0.3 rad, and back', inject.tilted(False),
         Bounds(drift=0.02), 'sags, and is held', (), (0.5, 1.0), (0.02, 0.3)),
    Case('tilt told', 'the same, and told on ~/gravity', inject.tilted(True), _ENDS,
         'stays upright', (), (0.5, 1.0), (0.02, 0.3)),
)
