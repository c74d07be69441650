"""
Requests to a running controller.

hold decelerates and holds the arm; stop does so with a latched fault, too; float compensates
gravity, for guiding by hand; reset clears a fault whose cause is gone; move goes to a position,
from rest to rest, and waits until the reference is there. activate lets a controller that is not
active hold the arm where it is, deactivate ends that. Before an arm floats, moves, is held or let
go, it is asked. Ctrl-C during a motion holds the arm.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import math

from robodyn_ros.cli.options import (
    add_consent_arguments, add_enclave_argument, add_namespace_argument, between, check_consent)
from robodyn_ros.cli.terminal import agreed
from robodyn_ros.exceptions import ArgumentError, shown

EXAMPLES = """examples:
  robodyn hold
  robodyn stop                              also with a fault; then: robodyn reset
  robodyn reset
  robodyn float                             hold the arm: it may sink
  robodyn activate                          after its driver was restarted
  robodyn deactivate                        hold the arm: it may fall
  robodyn move joint2=0.6 joint4=-1.2       rad or m; the other joints stay
  robodyn move 0 0.5 0 -1 0 0.5 0 --speed 0.2

exit codes: 0 done, 1 refused by the user, 2 the controller is missing or refuses
"""
REFUSED = 1
_SERVICES = {'reset': 'reset_fault'}  # of the others: the name of the command
_QUESTIONS = {
    'float': 'float the arm? It may sink: hold it.',
    'activate': 'activate the controller? Its torques open the brakes, and it holds the arm where '
                'the driver says that it is.',
    'deactivate': 'deactivate the controller? An arm without brakes may fall: hold it.'}
_DONE = {'hold': 'the arm is held', 'stop': 'the arm stops', 'float': 'the arm floats',
         'reset': 'no fault is latched now', 'activate': 'the controller is active',
         'deactivate': 'the controller is not active'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    name = parser.prog.split()[-1]
    if name == 'move':
        parser.add_argument('goal', nargs='+', metavar='[JOINT=]POSITION',
                            help='position in rad or m, of a joint or of all joints in order')
        parser.add_argument('--speed', type=between(1e-3, 10.0), default=0.2, metavar='RAD/S',
                            help='largest velocity of a joint, rad/s or m/s (default 0.2)')
    if name in ('move', *_QUESTIONS):
        add_consent_arguments(parser)
    add_namespace_argument(parser)
    add_enclave_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Make the request; return 0, or `REFUSED`."""
    if options.command == 'move':
        return _move(options)
    name = options.command
    if name in _QUESTIONS:
        check_consent(options)
        if not options.yes and not agreed(_QUESTIONS[name]):
            return REFUSED
    from robodyn_ros.client.recorder import Recorder
    recorder = Recorder(lambda: None, False, options.enclave, options.namespace)
    try:
        if name in ('activate', 'deactivate'):
            recorder.change_state(name == 'activate')
        else:
            recorder.call(_SERVICES.get(name, name))
    finally:
        recorder.close()
    print(_DONE[name])
    return 0


def _move(options: argparse.Namespace) -> int:
    from robodyn_ros.client import Arm
    check_consent(options)
    arm = Arm(options.namespace, enclave=options.enclave)
    try:  # at the end of a `with` block it would be held
        goal = goal_of(options.goal, arm.joint_names, arm.state.reference.tolist())
        change = '  '.join(f'{name} {before:.4g} -> {after:.4g}' for name, before, after in zip(
            arm.joint_names, arm.state.reference, goal) if before != after)
        if change and not options.yes and not agreed(f'{change}; move?'):
            return REFUSED
        if change:
            arm.move(goal, speed=options.speed)
        state = arm.state
    except KeyboardInterrupt:
        arm.hold()
        raise
    finally:
        arm.close()
    error, name = max(zip(abs(state.q - state.reference), arm.joint_names))
    print(f"the reference is there; the arm is within {error:.2g} rad or m of it ('{name}')")
    return 0


def goal_of(texts: Sequence[str], names: Sequence[str], present: Sequence[float]) -> list[float]:
    """Return the position of all joints from JOINT=POSITION, or from a position for each joint."""
    goal, joints = list(present), ', '.join(names)
    if not any('=' in text for text in texts) and len(texts) != len(names):
        raise ArgumentError(f'{len(texts)} positions for {len(names)} joints: give one for each '
                            f'of {joints}, or JOINT=POSITION')
    for k, text in enumerate(texts):
        name, _, number = text.rpartition('=')
        if not name and any('=' in each for each in texts):
            raise ArgumentError(f'{shown(text)} has no joint: give JOINT=POSITION')
        if name and name not in names:
            raise ArgumentError(f'no joint {shown(name)}; the controller has {joints}')
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ArgumentError(f'{shown(text)}: {shown(number)} is not a position in rad or m')
        goal[names.index(name) if name else k] = value
    return goal
