"""Runs faults, one after the other, and collects what was recorded of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import re
import time
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.cli.report import Criterion
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.reliability.faults import Case
from robodyn_ros.reliability.injections import Draw
from robodyn_ros.reliability.judge import Figures, judge, Limits, measure, Recording, STILL
from robodyn_ros.safety import USUAL_RATE

if TYPE_CHECKING:  # the stage needs ROS
    from robodyn_ros.reliability.testbed import Testbed

_ATTEMPTS = 3
_BEFORE = 0.5      # s of the motion that are recorded before the fault
_WATCH = 1.05      # s for which it is watched after its rest
_QUIET = 0.15      # s for which it has to be still for that
_LONGEST = 5.0     # s after the fault that are watched at most, rest or not
# what a controller or guard says that had to wait for the machine
_HELD_UP = re.compile('held up|no good data|after a pause|the guard commands the arm'
                      '|the guard has taken over|the guard is silent')


@dataclass(frozen=True)
class Outcome:
    """
    What became of one run.

    Attributes
    ----------
    case : str
    seed : int
    draw : Draw
    recording : Recording
    figures : Figures or None
        None if nothing could be recorded.
    criteria : list of Criterion
    attempts : int

    """

    case: str
    seed: int
    draw: Draw
    recording: Recording | None
    figures: Figures | None
    criteria: list[Criterion]
    attempts: int = 1

    @property
    def passed(self) -> bool | None:
        """Whether all criteria hold; None if the machine was too busy to tell."""
        verdicts = [each.passed for each in self.criteria]
        return False if False in verdicts else None if None in verdicts else True


class Runner:
    """
    Runs faults on a stage.

    Parameters
    ----------
    testbed : Testbed
        Whose guard is armed.

    """

    def __init__(self, testbed: Testbed):
        self._stage, model = testbed, testbed.model
        self._limits = Limits(model.effort_limit, USUAL_RATE * model.effort_limit,
                              model.velocity_limit, model.lower, model.upper,
                              testbed.motion.positions[-1])

    def run(self, case: Case, seed: int) -> Outcome:
        """Run a fault with a seed; again if the machine spoilt it."""
        draw = Draw.of(case.name, seed, self._stage.model.nv, case.duration, case.amount)
        for attempt in range(1, _ATTEMPTS + 1):
            outcome, busy = self._attempt(case, seed, draw)
            outcome = replace(outcome, attempts=attempt)
            if outcome.passed or not busy:
                return outcome
        return replace(outcome, criteria=[
            each._replace(passed=each.passed or None) for each in outcome.criteria])

    def _attempt(self, case: Case, seed: int, draw: Draw) -> tuple[Outcome, bool]:
        """Return the outcome, and whether the machine may be to blame for it."""
        testbed = self._stage
        testbed.recover_all()
        testbed.mark()
        sent = testbed.move()
        testbed.wait(draw.moment - 1e-9 * (time.time_ns() - sent))
        early = self._excuses(())
        begin = time.time_ns()
        missing = list(case.act(testbed, draw) or ())
        end = time.time_ns()
        self._watch(sent, end)
        recording = self._recording(case, draw, begin, end, missing)
        own = bool(self._excuses(case.says)) and case.bounds.goes_on > recording.lasted
        recording = self._recovered(recording)
        figures = measure(recording, self._limits)
        outcome = Outcome(case.name, seed, draw, recording, figures,
                          judge(recording, figures, case.bounds))
        return outcome, bool(early) or own or figures.speed_at_fault < STILL

    def _excuses(self, expected: Sequence[tuple[float, str]]) -> list[str]:
        """Return what was said by nodes that had to wait, unless it was expected."""
        return [text for _, _, text in self._stage.said() if _HELD_UP.search(text)
                and not any(re.search(words, text) for _, words in expected)]

    def _watch(self, sent: int, end: int) -> None:
        """Record until the arm has rested for a while, or for long enough."""
        testbed = self._stage
        motion = 1e-9 * sent + testbed.motion.times[-1]
        moved = [time.time()]

        def rested() -> bool:
            now = time.time()
            if np.abs(testbed.where()[1]).max() >= STILL or now < motion:
                moved[0] = now
            return now - moved[0] > _QUIET + _WATCH

        testbed.recorder.wait(rested, max(motion, 1e-9 * end) - time.time() + _LONGEST)

    def _recording(self, case: Case, draw: Draw, begin: int, end: int,
                   missing: list[str]) -> Recording:
        testbed = self._stage
        since = begin - round(1e9 * _BEFORE)
        truth = testbed.recorder.truth.log(testbed.model.joint_names, since)
        commanded = testbed.recorder.commanded(testbed.model.nv, since)
        lasted, said = 1e-9 * (end - begin), testbed.said()
        texts = [text for _, _, text in said]
        missing += [words for least, words in case.says if draw.duration >= least
                    and not any(re.search(words, text) for text in texts)]
        if commanded.odd:
            missing.append(f'{commanded.odd} torques of another length')
        told = [text for _, level, text in said if level in ('ERROR', 'WARN')]
        return Recording(lasted, 1e-9 * (commanded.sent - begin), commanded.torque,
                         1e-9 * (truth.stamp - begin), truth.position, truth.velocity,
                         tuple(missing), told=told[0] if told else '')

    def _recovered(self, recording: Recording) -> Recording:
        try:
            return replace(recording, recovery=self._stage.recover_all())
        except StateError as error:
            return replace(recording, recovery=str(error), recovered=False)


def failed(case: Case, seed: int, error: Exception, nv: int) -> Outcome:
    """Return the outcome of a run that came to no end."""
    draw = Draw.of(case.name, seed, nv, case.duration, case.amount)
    return Outcome(case.name, seed, draw, None, None,
                   [Criterion('the run comes to its end',
                              str(error) if isinstance(error, RobodynError) else repr(error),
                              False)])
