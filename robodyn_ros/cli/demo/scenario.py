"""The steps of a demo: hold, float, motions and the end of the controller, each measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.cli.demo.findings import drift, Findings, match, MotionRun, Tracking
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.nodes.children import CpuMeter
from robodyn_ros.simulation.motion import Motion
from robodyn_ros.text import number

if TYPE_CHECKING:  # the session needs ROS
    from robodyn_ros.client.session import Session

_ATTEMPTS = 4
_SLOWER = 1.25  # factor of the duration after a refusal
_NEAR = 1e-3    # rad or m; largest distance from the start of a motion
_REST = 0.3     # s to come to rest
_SAG = 1.0      # s in which the arm sags without gravity in the torque, or returns
_COMPLETE = 0.95  # part of a motion that counts as complete, as some references may be missed
_BEGIN = 2.0    # s until the motion must begin, or be refused

TERMS = ('gravity', 'inertia', 'coriolis', 'friction', 'feedback')
_ADAPT = 0.7    # s until the gains have reached their full values
_DISCOVER = 0.3  # s until the controller has discovered the subscribers
_SETTLE = 0.3   # s recorded after a motion


class Scenario:
    """
    The steps of a demo.

    Parameters
    ----------
    session : Session
        Session whose controller holds the arm.
    findings : Findings
        Results, which the steps fill in.
    steps : Steps
        Display of the progress.

    """

    def __init__(self, session: Session, findings: Findings, steps: Steps):
        self._session, self._findings, self._steps = session, findings, steps
        self._wait = session.recorder.wait

    def run(self) -> None:
        """Run all steps."""
        self._hold()
        self._float()
        self._move()
        self._move_without_gravity()
        self._move_for_terms()
        self._stop_controller()

    def _hold(self) -> None:
        with self._steps('hold for 1 s') as step:
            self._wait(timeout=_ADAPT)
            held = self._matched(*self._session.record(1.0))
            self._findings.hold = held.worst
            step.result = f'error up to {self._most(held.worst)}'

    def _float(self) -> None:
        with self._steps('float for 2 s, without friction') as step:
            # friction would hide errors of the gravity compensation
            self._session.scale_friction(0.0)
            self._session.call('float')
            self._findings.floating = self._drift(*self._session.record(2.0))
            step.result = f'drift {self._most(self._findings.floating)}'
            self._session.call('hold')
            self._session.scale_friction(1.0)
            self._wait(timeout=_ADAPT)

    def _move(self) -> None:
        with self._steps('fast motion of all joints') as step:
            findings, session = self._findings, self._session
            meter = CpuMeter([session.simulator, session.controller])
            reported = len(session.recorder.diagnostics)
            findings.run = run_motion(session, findings.motion, _SETTLE)
            findings.cpu = meter.shares()
            findings.diagnostics = session.recorder.diagnostics[reported:]
            findings.motion = findings.run.motion
            findings.tracking = self._matched(findings.run.begin, findings.run.end)
            step.result = f'error RMS {self._most(findings.tracking.rms)}'

    def _move_without_gravity(self) -> None:
        with self._steps('the same without gravity') as step:
            run = run_motion(self._session, self._findings.motion, _SETTLE, gravity=0.0)
            self._findings.without_gravity = self._matched(run.begin, run.end)
            step.result = f'error RMS {self._most(self._findings.without_gravity.rms)}'

    def _move_for_terms(self) -> None:
        with self._steps('the same, recording torque terms') as step:
            # not in the measured motion: publishing all terms takes as long as the control itself
            findings, session = self._findings, self._session
            session.recorder.record_terms(TERMS)
            self._wait(timeout=_DISCOVER)
            run = run_motion(session, findings.motion, _SETTLE)
            session.recorder.end_terms()
            findings.terms = {name: (1e-9 * (log.stamp - run.begin), log.effort)
                              for name, log in session.terms(run.begin, run.end).items()}
            step.result = ', '.join(name for name in findings.terms)

    def _stop_controller(self) -> None:
        with self._steps('stop the controller (Ctrl-C)') as step:
            findings = self._findings
            begin, end, findings.exit_code = self._session.interrupt_controller()
            findings.after_exit = self._drift(begin, self._session.record(1.0)[1])
            findings.errors = self._session.errors()
            step.result = (f'exit after {1e-9 * (end - begin):.1f} s, 1 s later drift '
                           + self._most(findings.after_exit))

    def _matched(self, begin: int, end: int) -> Tracking:
        return match(*self._session.logs(begin, end), self._findings.model.continuous)

    def _drift(self, begin: int, end: int) -> np.ndarray:
        states, _ = self._session.logs(begin, end)
        return drift(states.position, self._findings.model.continuous)

    def _most(self, values: np.ndarray) -> str:
        return f'{number(1e3 * values.max())} {self._findings.unit}'


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
