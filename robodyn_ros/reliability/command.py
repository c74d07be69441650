"""
Hurt a simulated arm under the real controller and its guard, in every way, and judge what it does.

Processes are killed and held up, joint states are lost, late and wrong, commands get lost, motors
fail, requests make no sense, the network is cut: each while the arm moves at speed, many times,
at moments and with values that a seed decides. What the arm did is measured on its topics.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, ExitStack
from multiprocessing import get_context
from pathlib import Path
import signal
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from robodyn_ros.cli.motion import Motion, plan_motion
from robodyn_ros.cli.progress import Steps
from robodyn_ros.cli.report import verdict
from robodyn_ros.cli.robot import (
    add_motion_arguments, add_robot_arguments, between, Robot, whole_number)
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import near_matches, ParameterError, RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.reliability.faults import Case, CASES
from robodyn_ros.reliability.network import Network
from robodyn_ros.reliability.soak import notes, soak
from robodyn_ros.reliability.tables import as_json, markdown, row, summary

if TYPE_CHECKING:  # the runner needs ROS
    from robodyn_ros.reliability.run import Outcome, Runner

EXAMPLES = """examples:
  robodyn campaign --list
  robodyn campaign --seeds 1
  robodyn campaign --only 'controller killed' --only Ctrl-C --seeds 3
  robodyn campaign --json reliability.json --markdown reliability.md
  robodyn campaign --soak 20
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add_motion_arguments(parser)
    add = parser.add_argument
    add('--list', action='store_true', help='only tell which faults there are')
    add('--only', action='append', default=[], metavar='FAULT',
        help='only this fault, or those that begin so; may be repeated')
    add('--seeds', type=whole_number, default=10, metavar='N', help='runs of each (default 10)')
    add('--seed', type=int, default=0, metavar='N', help='the first of them (default 0)')
    add('--json', type=Path, metavar='FILE', help='write what was measured in every run')
    add('--markdown', type=Path, metavar='FILE', help='write the table')
    add('--soak', type=between(0.1, 1e5), nargs='?', const=20.0, metavar='MINUTES',
        help='no faults, but a long run in all modes (default 20 minutes)')
    add('--logs', type=Path, metavar='DIR', help='keep what the processes said in this folder')


def run(options: argparse.Namespace) -> int:
    """Run the campaign; return 0 if all criteria hold, else 1."""
    cases = chosen(options.only)
    steps = Steps()
    if options.list:
        for case in cases:
            steps.say(f'{case.name:<26} {case.text}')
        return 0
    signal.signal(signal.SIGTERM, _interrupt)
    robot = Robot.from_options(options)
    model = robot.load()
    motion = plan_motion(Dynamics(model), options.duration, options.speed)
    if options.soak:
        with _folder(options.logs) as logs:
            return endure(robot, model, motion, logs, options, steps)
    seeds = range(options.seed, options.seed + options.seeds)
    with _folder(options.logs) as logs:
        campaign = Campaign(robot, model, motion, logs, steps,
                            lambda: save(cases, campaign, options))
        try:
            campaign.run([case for case in cases if not case.network], seeds)
            campaign.run_apart([case for case in cases if case.network], seeds)
        except KeyboardInterrupt:  # what was run is worth to be told
            conclude(cases, campaign, steps)
            raise
    return conclude(cases, campaign, steps)


def chosen(only: Sequence[str]) -> list[Case]:
    """
    Return the faults that are asked for; all if none is.

    Raises
    ------
    ParameterError
        There is no such fault.

    """
    for name in only:
        if not any(case.name.startswith(name) for case in CASES):
            raise ParameterError(f'--only {name}: there is no such fault; '
                                 + near_matches(name, [case.name for case in CASES]))
    return [case for case in CASES
            if not only or any(case.name.startswith(name) for name in only)]


class Campaign:
    """
    Runs cases; starts the processes anew when nothing else helps.

    Parameters
    ----------
    robot, model, motion
        What is hurt, and what it does.
    logs : Path
        Folder for what the processes say.
    steps : Steps
        Who is told.
    save : callable
        Called after each run.

    Attributes
    ----------
    outcomes : list of Outcome
        Of all runs until now.
    skipped : dict of str to str
        Faults that this machine does not allow, and why.

    """

    def __init__(self, robot: Robot, model: RobotModel, motion: Motion, logs: Path,
                 steps: Steps, save: Callable[[], None]):
        self._what = (robot, model, motion, logs)
        self._steps, self._nv, self._save = steps, model.nv, save
        self.outcomes: list[Outcome] = []
        self.skipped: dict[str, str] = {}

    def run(self, cases: Sequence[Case], seeds: Sequence[int]) -> None:
        """Run all, on one host or on two."""
        todo = [(case, seed) for seed in seeds for case in cases]
        while todo:
            with ExitStack() as stack:
                runner = self._begin(stack, cases)
                if runner is None:
                    return
                while todo:
                    outcome = self._one(runner, *todo.pop(0))
                    self.outcomes.append(outcome)
                    self._save()
                    if outcome.recording is None or not outcome.recording.recovered:
                        break  # go on with new processes

    def run_apart(self, cases: Sequence[Case], seeds: Sequence[int]) -> None:
        """Run all in a process of its own: DDS remembers the network that it saw first."""
        if cases:
            robot, _, motion, logs = self._what
            with ProcessPoolExecutor(1, mp_context=get_context('spawn')) as pool:
                outcomes, skipped = pool.submit(
                    _apart, robot, motion, logs, [case.name for case in cases], seeds).result()
            self.outcomes += outcomes
            self.skipped.update(skipped)
            self._save()

    def _begin(self, stack: ExitStack, cases: Sequence[Case]) -> Runner | None:
        """Return a runner with an arm that is guarded; None if there are no two hosts."""
        from robodyn_ros.reliability.run import Runner
        from robodyn_ros.reliability.testbed import Testbed
        network = cases[0].network
        with self._steps('start simulator, guard and controller') as step:
            try:
                wire = stack.enter_context(Network()) if network else None
            except (OSError, RobodynError) as error:
                step.result = f'skipped: {error}'
                self.skipped.update({case.name: str(error) for case in cases})
                return None
            testbed = stack.enter_context(Testbed(*self._what, network=wire))
            testbed.start()
            where = 'two hosts' if network else f'ROS_DOMAIN_ID={testbed.domain}'
            step.result = f'on {where}; {testbed.loop}'
        return Runner(testbed)

    def _one(self, runner: Runner, case: Case, seed: int) -> Outcome:
        from robodyn_ros.reliability.run import failed
        with self._steps(f'{case.name}, seed {seed}') as step:
            try:
                outcome = runner.run(case, seed)
            except Exception as error:  # a run that breaks must not end all the others
                outcome = failed(case, seed, error, self._nv)
            step.result = row(outcome)
        return outcome


def endure(robot: Robot, model: RobotModel, motion: Motion, logs: Path,
           options: argparse.Namespace, steps: Steps) -> int:
    """Run without faults for long; return 0 if nothing wears out, else 1."""
    from robodyn_ros.reliability.testbed import Testbed
    with Testbed(robot, model, motion, logs, settings={
            'constraints.trajectory': [0.0]}) as testbed:
        with steps('start simulator, guard and controller') as step:
            testbed.start()
            step.result = testbed.loop
        with steps(f'move for {options.soak:g} minutes') as step:
            statistics = soak(testbed, options.soak, options.seed, steps)
            step.result = f'{statistics.motions} motions'
    criteria = statistics.criteria(model.effort_limit)
    for line in ('', *notes(statistics), *verdict(criteria)):
        steps.say(line)
    return 1 if any(each.passed is False for each in criteria) else 0


def _apart(robot: Robot, motion: Motion, logs: Path, names: Sequence[str],
           seeds: Sequence[int]) -> tuple[list[Outcome], dict[str, str]]:
    """Run cases in a new process; return the outcomes, and what was skipped."""
    campaign = Campaign(robot, robot.load(), motion, logs, Steps(), lambda: None)
    campaign.run(chosen(names), seeds)
    return campaign.outcomes, campaign.skipped


def conclude(cases: Sequence[Case], campaign: Campaign, steps: Steps) -> int:
    """Print the table, and return the exit code."""
    for line in ('', *summary(cases, campaign.outcomes, campaign.skipped)):
        steps.say(line)
    return 1 if any(outcome.passed is False for outcome in campaign.outcomes) else 0


def save(cases: Sequence[Case], campaign: Campaign, options: argparse.Namespace) -> None:
    """Write the files that are asked for."""
    outcomes, skipped = campaign.outcomes, campaign.skipped
    if options.json:
        options.json.write_text(as_json(outcomes, skipped), encoding='utf-8')
    if options.markdown:
        options.markdown.write_text(markdown(cases, outcomes, skipped), encoding='utf-8')


@contextmanager
def _folder(path: Path | None) -> Iterator[Path]:
    """Yield the folder for logs: one that stays if it is named, else one for the moment."""
    if path is None:
        with TemporaryDirectory() as folder:
            yield Path(folder)
    else:
        path.mkdir(parents=True, exist_ok=True)
        yield path


def _interrupt(_number, _frame) -> None:
    """End as after Ctrl-C."""
    raise KeyboardInterrupt
