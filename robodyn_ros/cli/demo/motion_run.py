"""Execution of a motion by the controller, with repetitions after refusals and faults."""

from __future__ import annotations

import time
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.simulation.motion import Motion

if TYPE_CHECKING:  # the session needs ROS
    from robodyn_ros.client.session import Session

_ATTEMPTS = 4
_SLOWER = 1.25  # factor of the duration after a refusal
_NEAR = 1e-3    # rad or m; largest distance from the start of a motion
_REST = 0.3     # s to come to rest
_SAG = 1.0      # s in which the arm sags without gravity in the torque, or returns
_COMPLETE = 0.95  # part of a motion that counts as complete, as some references may be missed
_BEGIN = 2.0    # s until the motion must begin, or be refused


class MotionRun(NamedTuple):
    """
    An executed motion.

    Attributes
    ----------
    motion : Motion
        The motion in the last attempt.
    begin, end : int
        Begin and end, in ns.
    attempts : int
        Number of attempts.
    problem : str
        Reason why the last attempt was not complete; empty if it was.

    """

    motion: Motion
    begin: int
    end: int
    attempts: int
    problem: str


def run_motion(session: Session, motion: Motion, settle: float, gravity: float = 1.0
               ) -> MotionRun:
    """
    Execute a motion with the controller.

    After a refusal, the motion is sent again, slower. After a fault or a pause of the controller,
    which a busy machine can cause, it is repeated unchanged.

    Parameters
    ----------
    session : Session
        Session whose controller holds the arm.
    motion : Motion
        Motion to execute.
    settle : float
        Time after the last point that is included, in s.
    gravity : float
        Scale of the modelled gravity in the torque meanwhile.

    Raises
    ------
    TrajectoryError
        The controller refused the motion in all attempts; with its reason.

    """
    for attempt in range(1, _ATTEMPTS + 1):
        _approach(session, motion.start)
        _scale_gravity(session, gravity)
        run = _attempt(session, motion, settle, attempt)
        _scale_gravity(session, 1.0)
        if not run.problem:
            return run
        if _refused(run):
            motion = motion.stretched(_SLOWER)
    if _refused(run):
        raise TrajectoryError(f'the controller does not execute the motion: {run.problem}')
    return run


def _refused(run: MotionRun) -> bool:
    """Return whether the controller refused the motion for another reason than a fault."""
    return 'refused' in run.problem and 'fault' not in run.problem


def _scale_gravity(session: Session, scale: float) -> None:
    """Scale the gravity in the torque, and wait until the arm has sagged or returned."""
    if session.gravity != scale:
        session.scale_gravity(scale)
        session.recorder.wait(timeout=_SAG)


def _attempt(session: Session, motion: Motion, settle: float, attempt: int) -> MotionRun:
    start = session.controller.log.stat().st_size
    begin = session.send(motion.times, motion.positions, motion.velocities, motion.accelerations)
    session.recorder.wait(lambda: _moves(session) or session.errors(start), _BEGIN)
    length = motion.times[-1] + settle
    if not session.errors(start):
        session.record(length - 1e-9 * (time.time_ns() - begin))
    end = begin + round(1e9 * length)
    errors = session.errors(start)
    if not errors and not _is_complete(session, motion, begin, end):
        errors = ['it was interrupted']
    return MotionRun(motion, begin, end, attempt, errors[-1] if errors else '')


def _approach(session: Session, start: np.ndarray) -> None:
    """Move to the start of a motion, if an interrupted one has left the arm elsewhere."""
    for _ in range(_ATTEMPTS):
        session.recover()
        away = np.abs(session.reference().position[-1] - start)
        if away.max() < _NEAR:
            return
        with np.errstate(divide='ignore', invalid='ignore'):
            duration = max(1.0, 4.0 * np.nanmax(away / session.model.velocity_limit))
        session.send([duration], [start], [0.0 * start], [0.0 * start])
        session.record(duration + _REST)


def _moves(session: Session) -> bool:
    return bool(np.abs(session.reference().velocity).max() > 1e-6)


def _is_complete(session: Session, motion: Motion, begin: int, end: int) -> bool:
    """Return whether the references cover the whole motion."""
    reached = np.ptp(session.references(begin, end).position, axis=0)
    return bool((reached >= _COMPLETE * np.ptp(motion.positions, axis=0)).all())
