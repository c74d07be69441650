"""What the arm of a demo does, one thing after the other, and what is noted about each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.cli.demo.evaluation import drift, match, Tracking
from robodyn_ros.cli.demo.findings import Findings
from robodyn_ros.cli.demo.motion_run import make
from robodyn_ros.cli.processes import CpuMeter
from robodyn_ros.cli.progress import Steps
from robodyn_ros.cli.report import number

if TYPE_CHECKING:  # the session needs ROS; what is told here does not
    from robodyn_ros.cli.session import Session

TERMS = ('gravity', 'inertia', 'coriolis', 'friction', 'feedback')
_ADAPT = 0.7    # s until feedback has grown to its full part
_LISTEN = 0.3   # s until the controller has noticed who listens
_SETTLE = 0.3   # s that are still recorded after a motion


class Scenario:
    """
    The scenes of a demo.

    Parameters
    ----------
    session : Session
        Whose controller holds the arm.
    findings : Findings
        Where results go.
    steps : Steps
        Who is told.

    """

    def __init__(self, session: Session, findings: Findings, steps: Steps):
        self._session, self._findings, self._steps = session, findings, steps
        self._wait = session.recorder.wait

    def tell(self) -> None:
        """Play all scenes."""
        self._hold()
        self._float()
        self._move()
        self._move_without_gravity()
        self._move_for_terms()
        self._leave()

    def _hold(self) -> None:
        with self._steps('hold for 1 s') as step:
            self._wait(timeout=_ADAPT)
            held = self._matched(*self._session.record(1.0))
            self._findings.hold = held.worst
            step.result = f'error up to {self._most(held.worst)}'

    def _float(self) -> None:
        with self._steps('float for 2 s, without friction') as step:
            # friction would hold an arm whose weight is carried badly
            self._session.scale_friction(0.0)
            self._session.ask('float')
            self._findings.floating = self._drift(*self._session.record(2.0))
            step.result = f'drift {self._most(self._findings.floating)}'
            self._session.ask('hold')
            self._session.scale_friction(1.0)
            self._wait(timeout=_ADAPT)

    def _move(self) -> None:
        with self._steps('fast motion of all joints') as step:
            findings, session = self._findings, self._session
            meter = CpuMeter([session.simulator, session.controller])
            reported = len(session.recorder.diagnostics)
            findings.take = make(session, findings.motion, _SETTLE)
            findings.cpu = meter.shares()
            findings.diagnostics = session.recorder.diagnostics[reported:]
            findings.motion = findings.take.motion
            findings.tracking = self._matched(findings.take.begin, findings.take.end)
            step.result = f'error RMS {self._most(findings.tracking.rms)}'

    def _move_without_gravity(self) -> None:
        with self._steps('the same without gravity') as step:
            take = make(self._session, self._findings.motion, _SETTLE, gravity=0.0)
            self._findings.heavy = self._matched(take.begin, take.end)
            step.result = f'error RMS {self._most(self._findings.heavy.rms)}'

    def _move_for_terms(self) -> None:
        with self._steps('once more, to see each term of torque') as step:
            # apart from the measured motion: to publish all terms takes the controller as long as
            # to control
            findings, session = self._findings, self._session
            session.recorder.record_terms(TERMS)
            self._wait(timeout=_LISTEN)
            take = make(session, findings.motion, _SETTLE)
            session.recorder.end_terms()
            findings.terms = {name: (1e-9 * (log.stamp - take.begin), log.effort)
                              for name, log in session.terms(take.begin, take.end).items()}
            step.result = ', '.join(name for name in findings.terms)

    def _leave(self) -> None:
        with self._steps('the controller leaves (Ctrl-C)') as step:
            findings = self._findings
            begin, gone, findings.exit_code = self._session.leave()
            findings.left = self._drift(begin, self._session.record(1.0)[1])
            findings.news = self._session.news()
            step.result = (f'gone in {1e-9 * (gone - begin):.1f} s, 1 s later drift '
                           + self._most(findings.left))

    def _matched(self, begin: int, end: int) -> Tracking:
        return match(*self._session.logs(begin, end), self._findings.model.continuous)

    def _drift(self, begin: int, end: int) -> np.ndarray:
        states, _ = self._session.logs(begin, end)
        return drift(states.position, self._findings.model.continuous)

    def _most(self, values: np.ndarray) -> str:
        return f'{number(1e3 * values.max())} {self._findings.unit}'
