"""The faults of compiled runs: one row each, with its effect and what must hold afterwards."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any, NamedTuple

from robodyn_ros.exceptions import near_matches, ParameterError
from robodyn_ros.montecarlo.effects import (
    Faulty, InLoop, Loaded, Offset, SecondPublisher, Tilted)
from robodyn_ros.montecarlo.judge import Requirements


class Case(NamedTuple):
    """
    A fault with its criteria.

    Attributes
    ----------
    name : str
        Name for `--faults`; with the seed it determines the draw.
    description : str
        What is done.
    effect : object
        What it does; for processes also a function that does it.
    requirements : Requirements
        What must hold, in numbers.
    expected : str
        What must happen, in words.
    logged : tuple of (float, str)
        Regular expressions that must match a log line, each for faults of at least this length
        in s.
    duration, amount : (float, float)
        Ranges of the draw.

    """

    name: str
    description: str
    effect: Any
    requirements: Requirements
    expected: str
    logged: tuple[tuple[float, str], ...] = ()
    duration: tuple[float, float] = (0.0, 0.0)
    amount: tuple[float, float] = (0.0, 0.0)


SILENT = r'fault: joint states: no good data'
# s; a fault of this length is detected even if the machine delays the nodes
SURE = 0.4
UNDISTURBED = Requirements(tolerated=math.inf, reset_allowed=False)
ENDS = Requirements()
SILENCE = Requirements(sag=0.05)
_LIMITED = Requirements(beyond=0.02)
_ESTIMATES = Requirements(beyond=0.02, tolerated=math.inf, reset_allowed=False)
_ESTIMATED = 'estimated from positions'
# texts of faults of the control cycle that every motion shows
_OPPOSITE, _DEGREES = 'its sign is opposite', 'it seems to be in degrees per second'
_REPEATED, _ALTERNATING = 'the same state is repeated', 'alternates between two positions'
REORDERED = 'have changed places in the joint states'
CYCLE_TEXTS = frozenset({SILENT, _DEGREES, _REPEATED, _ALTERNATING})
_LONG = 0.5  # s of motion after which a wrong velocity is detected

# faults of an arm, in the compiled loop and of processes
CASES = (
    # --- joint states
    Case('states lost', 'no joint states', Faulty('silence'), SILENCE,
         'brought to rest by prediction; a fault after 0.25 s', ((SURE, SILENT),), (0.001, 1.0)),
    Case('states lost for long', 'the same, for seconds', Faulty('silence'),
         Requirements(speed=math.inf), 'the same; an arm that its friction does not hold falls, '
         'as no brake closes on the fault, and is stopped when states return',
         ((0.0, SILENT),), (1.0, 5.0)),
    Case('states delayed', 'joint states come late', Faulty('delay', amount='positive'),
         ENDS, 'compared with the reference of their own time; late states count as silence', (),
         (0.1, 1.5), (0.005, 0.3)),
    Case('position frozen', 'an encoder repeats its position', Faulty('freeze', 1),
         Requirements(speed=math.inf), 'comes to rest when the error is too large or the position '
         'jumps to the true one; not detected before', (), (0.02, 1.0)),
    Case('position and velocity NaN', 'of one joint', Faulty('nan', 1), SILENCE,
         'rejected, counts as silence', ((SURE, SILENT),), (0.002, 1.0)),
    Case('velocity NaN', 'of one joint', Faulty('nan_velocity', 1), _ESTIMATES,
         'velocity is estimated from positions; the motion continues', ((_LONG, _ESTIMATED),),
         (0.002, 1.0)),
    Case('position infinite', 'of one joint', Faulty('infinite', 1), SILENCE,
         'rejected, counts as silence', ((SURE, SILENT),), (0.002, 1.0)),
    Case('effort NaN', 'of all joints', Faulty('nan_effort'), UNDISTURBED,
         'the motion continues', (), (0.1, 1.0)),
    Case('names swapped', "two joints have each other's name", Faulty('swap', 2),
         SILENCE, 'silence; the log names the joints', ((SURE, REORDERED),), (0.002, 1.0)),
    Case('joint missing', 'a joint is left out', Faulty('missing', 1), SILENCE,
         'silence; the log names the joint', ((SURE, r'joints not reported: \S+'),),
         (0.002, 1.0)),
    Case('joint twice', 'a joint is named twice in a message', Faulty('duplicate', 1),
         SILENCE, 'rejected, counts as silence; the log names the joint',
         ((SURE, 'named twice'),), (0.002, 1.0)),
    Case('second publisher', 'another node publishes joint states of another position',
         SecondPublisher(), ENDS, 'comes to rest', (), (0.1, 0.6), (0.05, 0.5)),
    Case('stamps jump', 'the clock of the driver is set ahead or back, then corrected',
         Faulty('clock_jump', amount='signed'), ENDS, 'old stamps count as silence', (),
         (0.05, 1.0), (0.05, 2.0)),
    Case('encoder offset', "a joint's position jumps, then jumps back", Offset(), ENDS,
         'comes to rest', (), (0.1, 1.0), (0.01, 0.5)),
    # --- wrong measurements
    Case('velocity zero', 'of all joints', Faulty('velocity_zero'), _ESTIMATES,
         'velocity is estimated from positions; the motion continues', ((_LONG, _ESTIMATED),),
         (0.3, 1.2)),
    Case('one velocity zero', 'of one joint', Faulty('velocity_zero', 1), _ESTIMATES,
         'the same', (), (0.3, 1.2)),
    Case('velocity sign', 'velocities of all joints have the opposite sign',
         Faulty('velocity_scale', amount='positive'), _LIMITED, 'estimated from positions; '
         'a fault with the ratio and the likely cause', ((_LONG, _OPPOSITE),),
         (0.3, 1.2), (-1.0, -1.0)),
    Case('one velocity sign', 'of one joint', Faulty('velocity_scale', 1, 'positive'),
         _LIMITED, 'the same', ((_LONG, _OPPOSITE),), (0.5, 1.2), (-1.0, -1.0)),
    Case('velocity in degrees', 'velocities of all joints are in degrees per second',
         Faulty('velocity_scale', amount='positive'), _LIMITED, 'the same',
         ((_LONG, _DEGREES),), (0.3, 1.2), (57.29578, 57.29578)),
    Case('velocity off', 'velocities of all joints are too small or too large by a factor',
         Faulty('velocity_scale', amount='positive'), _ESTIMATES, 'estimated from '
         'positions where detected, with the ratio; the motion continues', (), (0.3, 1.2),
         (0.3, 1.8)),
    Case('velocity outliers', 'one velocity of fifty of a joint is wrong, by up to 100 rad/s',
         Faulty('velocity_outliers', 1, 'signed'), _ESTIMATES, 'replaced by estimates; the '
         'motion continues', (), (0.3, 1.2), (20.0, 100.0)),
    Case('repeated states', 'the last state is repeated under new stamps', Faulty('repeat'),
         Requirements(sag=0.05, beyond=0.02), 'predicted, then silence',
         ((SURE, _REPEATED),), (0.02, 1.5)),
    Case('second arm', 'states of another arm, at rest nearby, alternate with those of this arm',
         Faulty('second_arm', amount='signed'), _LIMITED, 'a fault; stopped with the '
         'states of this arm', ((0.0, _ALTERNATING),), (0.1, 1.0), (0.02, 0.06)),
    # --- commands and motors
    Case('commands lost', 'the driver receives none, and applies the last one',
         Faulty('deaf'), ENDS, 'stopped when commands arrive again', (), (0.001, 0.3)),
    Case('commands lost, watchdog', 'the same; the driver has a watchdog of 50 ms',
         Faulty('deaf', timeout=0.05), ENDS, 'brakes close; stopped when commands arrive '
         'again', ((0.15, 'brakes on'),), (0.001, 1.0)),
    Case('torque lost', 'the motor of a joint has no torque', Faulty('torque_loss', 1),
         Requirements(speed=4.0), 'the joint falls, and is stopped when its torque returns', (),
         (0.02, 0.6)),
    Case('emergency stop', 'motors off, brakes on', Faulty('estop'), ENDS,
         'held at its position when the brakes open', (), (0.05, 1.0)),
    # --- loads
    Case('payload unknown', "a payload of up to 5 % of the arm's mass, then removed",
         Loaded(False), Requirements(drift=0.02), 'sags, then rests', (), (0.5, 1.0),
         (0.01, 0.05)),
    Case('payload told', 'the same, reported on ~/payload', Loaded(True), UNDISTURBED,
         'the motion continues', (), (0.5, 1.0), (0.01, 0.05)),
    Case('tilt unknown', 'the base tilts by up to 0.3 rad, then back', Tilted(False),
         Requirements(drift=0.02), 'sags, then rests', (), (0.5, 1.0), (0.02, 0.3)),
    Case('tilt told', 'the same, reported on ~/gravity', Tilted(True), ENDS,
         'the arm does not sag', (), (0.5, 1.0), (0.02, 0.3)))

# of the compiled loop only
_IN_LOOP = (
    Case('nothing', 'no fault', InLoop('nothing'), UNDISTURBED, 'the motion continues'),
    Case('states noisy', 'white noise on positions, and fifty times as much on velocities',
         InLoop('noise'), Requirements(drift=0.02, tolerated=math.inf, reset_allowed=False),
         'the motion continues', (), (0.1, 1.2), (1e-5, 5e-4)),
    Case('states coarse', 'positions in steps of an encoder', InLoop('resolution'), UNDISTURBED,
         'the motion continues', (), (0.1, 1.2), (1e-5, 2e-3)),
    Case('host busy', 'recorded delays and gaps of a busy computer, up to ten times as long',
         InLoop('delays'), ENDS, 'feedback is reduced where torques are late', (), (0.1, 1.5),
         (1.0, 10.0)),
    Case('host held up', 'the controller does not run for a while, then uses the newest state',
         InLoop('pause'), ENDS, 'a short pause may end the motion', (), (0.005, 0.2)),
    Case('push', 'a force on the tip, in any direction, of a part of the weight of the arm',
         InLoop('push'), ENDS, 'pushed away, then at rest', (), (0.01, 0.5), (0.02, 0.5)),
    Case('new goal', 'another goal during the motion', InLoop('goal'),
         Requirements(rest=8.0, tolerated=math.inf, reset_allowed=False),
         'the new goal is reached'),
    # an impedance law deflects by the error of the gravity model, divided by its stiffness
    Case('law changed', 'another law during the motion', InLoop('law'),
         Requirements(away=0.02, tolerated=math.inf, reset_allowed=False),
         'the motion continues'),
    Case('gains changed', 'other gains during the motion', InLoop('gains'), UNDISTURBED,
         'the motion continues', amount=(0.5, 1.5)),
    Case('gears worn', 'backlash of up to 0.3 mrad in all joints', InLoop('backlash'),
         Requirements(rest=math.inf, drift=0.02, tolerated=math.inf, reset_allowed=False),
         'the motion continues; joints with light links move to and fro within the backlash'),
    Case('stop requested', 'during the motion', InLoop('stop'), ENDS, 'comes to rest'))

# a seed stands for the fault in its row
COMPILED = (*CASES, *_IN_LOOP)


def chosen(cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """
    Return the faults whose name begins with one of `names`; all if there are none.

    Raises
    ------
    ParameterError
        No fault has such a name.

    """
    for name in names:
        if not any(case.name.startswith(name) for case in cases):
            raise ParameterError(f'there is no fault {name!r}: '
                                 + near_matches(name, [case.name for case in cases]))
    return [case for case in cases
            if not names or any(case.name.startswith(name) for name in names)]
