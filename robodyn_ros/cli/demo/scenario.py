"""The steps of a demo: hold, float, motions and the end of the controller, each measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.cli.demo.evaluation import drift, match, Tracking
from robodyn_ros.cli.demo.findings import Findings
from robodyn_ros.cli.demo.motion_run import run_motion
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.nodes.children import CpuMeter
from robodyn_ros.text import number

if TYPE_CHECKING:  # the session needs ROS
    from robodyn_ros.client.session import Session

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
