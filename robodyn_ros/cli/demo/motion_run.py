"""Let a controller make a motion, whatever it says to it at first."""

from __future__ import annotations

import time
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from robodyn_ros.cli.motion import Motion
from robodyn_ros.exceptions import TrajectoryError

if TYPE_CHECKING:  # the session needs ROS
    from robodyn_ros.cli.session import Session

_ATTEMPTS = 4
_SLOWER = 1.25  # by how much it is slower after a refusal
_NEAR = 1e-3    # rad or m from its start that a motion makes up for
_REST = 0.3     # s to come to rest
_SAG = 1.0      # s in which the arm sinks without gravity in the torque, or comes back
_WAY = 0.95     # part of a motion that is all of it, for a few states that are missed
_BEGIN = 2.0    # s in which it must begin, or be refused


class MotionRun(NamedTuple):
    """
    A motion that was made.

    Attributes
    ----------
    motion : Motion
        As it was followed.
    begin, end : int
        When, in ns.
    attempts : int
    problem : str
        Why it was not made to its end even in the last attempt; empty if it was.

    """

    motion: Motion
    begin: int
    end: int
    attempts: int
    problem: str


def make(session: Session, motion: Motion, settle: float, gravity: float = 1.0) -> MotionRun:
    """
    Let the controller follow a motion.

    If it refuses, the motion is sent again, slower. If a fault or a pause of its process stops
    it on the way, which a busy machine can cause, it is made again as it is.

    Parameters
    ----------
    session : Session
        Whose arm is held.
    motion : Motion
        What to do.
    settle : float
        Seconds after the last point that still belong to it.
    gravity : float
        Part of the modelled gravity in the torque meanwhile.

    Raises
    ------
    TrajectoryError
        The controller goes on refusing; with its reason.

    """
    for attempt in range(1, _ATTEMPTS + 1):
        _approach(session, motion.start)
        _scale_gravity(session, gravity)
        take = _attempt(session, motion, settle, attempt)
        _scale_gravity(session, 1.0)
        if not take.problem:
            return take
        if _refused(take):
            motion = motion.stretched(_SLOWER)
    if _refused(take):
        raise TrajectoryError(f'the controller does not make the motion: {take.problem}')
    return take


def _refused(take: MotionRun) -> bool:
    """Return whether the motion itself was not to the controller's liking."""
    return 'refused' in take.problem and 'fault' not in take.problem


def _scale_gravity(session: Session, part: float) -> None:
    """Command part of the gravity, and wait until the arm has sunk, or is up again."""
    if session.gravity != part:
        session.scale_gravity(part)
        session.recorder.wait(timeout=_SAG)


def _attempt(session: Session, motion: Motion, settle: float, attempt: int) -> MotionRun:
    heard = session.controller.log.stat().st_size
    begin = session.send(motion.times, motion.positions, motion.velocities, motion.accelerations)
    session.recorder.wait(lambda: _moves(session) or session.news(heard), _BEGIN)
    length = motion.times[-1] + settle
    if not session.news(heard):
        session.record(length - 1e-9 * (time.time_ns() - begin))
    end = begin + round(1e9 * length)
    news = session.news(heard)
    if not news and not _made(session, motion, begin, end):
        news = ['it was stopped on the way']
    return MotionRun(motion, begin, end, attempt, news[-1] if news else '')


def _approach(session: Session, start: np.ndarray) -> None:
    """Go to where a motion starts, if whatever stopped the one before has left the arm apart."""
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


def _made(session: Session, motion: Motion, begin: int, end: int) -> bool:
    """Return whether the reference went all the way."""
    reached = np.ptp(session.references(begin, end).position, axis=0)
    return bool((reached >= _WAY * np.ptp(motion.positions, axis=0)).all())
