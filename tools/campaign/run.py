"""Runs of faults on a testbed, each recorded and judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import re
import time
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.montecarlo.effects import Draw
from robodyn_ros.montecarlo.judge import Figures, judge, Limits, measure, Recording, STILL
from robodyn_ros.safety import USUAL_RATE
from robodyn_ros.text import Criterion
from tools.campaign.cases import Case, PREPARED
from tools.campaign.injections import inject

if TYPE_CHECKING:  # the testbed needs ROS
    from tools.campaign.testbed import Testbed

_ATTEMPTS = 3
_BEFORE = 0.5      # s recorded before the fault
_WATCH = 1.05      # s recorded after the arm rests
_QUIET = 0.15      # s below STILL after which the arm counts as resting
_LONGEST = 5.0     # s recorded after the fault at most, if the arm does not rest
# messages of a controller or guard that the machine delayed
_DELAYED = re.compile('held up|no good data|after a pause|the guard commands the arm'
                      '|the guard has taken over|the guard is silent')


@dataclass(frozen=True)
class Outcome:
    """
    Result of one run.

    Attributes
    ----------
    case : str
        Name of the fault.
    seed : int
    draw : Draw
    recording : Recording or None
    figures : Figures or None
        None if the run failed before it was recorded.
    criteria : list of Criterion
    attempts : int
        Number of runs that were made.

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
        """Whether all criteria hold; None if the machine was too busy to judge."""
        verdicts = [each.passed for each in self.criteria]
        return False if False in verdicts else None if None in verdicts else True


class Runner:
    """
    Runs faults on a testbed.

    Parameters
    ----------
    testbed : Testbed
        Testbed with an armed guard.

    """

    def __init__(self, testbed: Testbed):
        self._testbed, model = testbed, testbed.model
        self._limits = Limits(model.effort_limit, USUAL_RATE * model.effort_limit,
                              model.velocity_limit, model.lower, model.upper,
                              testbed.motion.positions[-1])

    def run(self, case: Case, seed: int) -> Outcome:
        """Run a fault with a seed; repeat the run if the machine disturbed it."""
        draw = Draw.of(case.name, seed, self._testbed.model.nv, case.duration, case.amount)
        for attempt in range(1, _ATTEMPTS + 1):
            outcome, busy = self._attempt(case, seed, draw)
            outcome = replace(outcome, attempts=attempt)
            if outcome.passed or not busy:
                return outcome
        return replace(outcome, criteria=[
            each._replace(passed=each.passed or None) for each in outcome.criteria])

    def _attempt(self, case: Case, seed: int, draw: Draw) -> tuple[Outcome, bool]:
        """Return the outcome, and whether the machine may have disturbed the run."""
        testbed = self._testbed
        testbed.recover_all()
        if case.name in PREPARED:
            PREPARED[case.name](testbed)
        testbed.clear()
        sent = testbed.move()
        testbed.wait(draw.moment - 1e-9 * (time.time_ns() - sent))
        delayed_before = self._delayed(())
        begin = time.time_ns()
        missing = list(inject(case.effect, testbed, draw) or ())
        end = time.time_ns()
        self._record_until_rest(sent, end)
        recording = self._recording(case, draw, begin, end, missing)
        delayed = self._delayed(case.logged) and case.requirements.tolerated > recording.lasted
        recording = self._recovered(recording)
        figures = measure(recording, self._limits)
        outcome = Outcome(case.name, seed, draw, recording, figures,
                          judge(recording, figures, case.requirements))
        return outcome, delayed_before or delayed or figures.speed_at_fault < STILL

    def _delayed(self, expected: Sequence[tuple[float, str]]) -> bool:
        """Return whether a node logged a delay that is not expected."""
        return any(_DELAYED.search(text)
                   and not any(re.search(pattern, text) for _, pattern in expected)
                   for _, _, text in self._testbed.logged())

    def _record_until_rest(self, sent: int, end: int) -> None:
        """Record until the arm has rested for a while, or until the longest time is over."""
        testbed = self._testbed
        motion = 1e-9 * sent + testbed.motion.times[-1]
        moved = [time.time()]

        def rested() -> bool:
            now = time.time()
            if np.abs(testbed.true_state()[1]).max() >= STILL or now < motion:
                moved[0] = now
            return now - moved[0] > _QUIET + _WATCH

        testbed.recorder.wait(rested, max(motion, 1e-9 * end) - time.time() + _LONGEST)

    def _recording(self, case: Case, draw: Draw, begin: int, end: int,
                   missing: list[str]) -> Recording:
        testbed = self._testbed
        since = begin - round(1e9 * _BEFORE)
        truth = testbed.recorder.truth.log(testbed.model.joint_names, since)
        commanded = testbed.recorder.commanded(testbed.model.nv, since)
        lasted, logged = 1e-9 * (end - begin), testbed.logged()
        missing += [pattern for length, pattern in case.logged if draw.duration >= length
                    and not any(re.search(pattern, text) for _, _, text in logged)]
        if commanded.wrong_length:
            missing.append(f'{commanded.wrong_length} torques of another length')
        warnings = [text for _, level, text in logged if level in ('ERROR', 'WARN')]
        return Recording(lasted, 1e-9 * (commanded.sent - begin), commanded.torque,
                         1e-9 * (truth.stamp - begin), truth.position, truth.velocity,
                         tuple(missing), first_warning=warnings[0] if warnings else '')

    def _recovered(self, recording: Recording) -> Recording:
        try:
            return replace(recording, recovery=self._testbed.recover_all())
        except StateError as error:
            return replace(recording, recovery=str(error), recovered=False)


def failed(case: Case, seed: int, error: Exception, nv: int) -> Outcome:
    """Return the outcome of a run that raised an error."""
    draw = Draw.of(case.name, seed, nv, case.duration, case.amount)
    return Outcome(case.name, seed, draw, None, None,
                   [Criterion('the run is complete',
                              str(error) if isinstance(error, RobodynError) else repr(error),
                              False)])
