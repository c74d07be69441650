"""
Inject faults into a simulated arm under the real controller and its guard, and judge the response.

Processes are killed and paused, joint states are lost, late and wrong, commands are lost, motors
fail, requests are invalid, the network is cut: each during fast motion, many times, at moments and
with values drawn from a seed. The response is measured on the topics of the arm.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, ExitStack
from multiprocessing import get_context
from pathlib import Path
import signal
import sys
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from robodyn_ros.cli.options import (
    add_motion_arguments, add_robot_arguments, between, robot_of, whole_number)
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.montecarlo.cases import Case, chosen
from robodyn_ros.montecarlo.plants import DrawnPlant
from robodyn_ros.simulation.motion import Motion, plan_motion
from robodyn_ros.text import verdict
from tools.campaign.cases import CASES, NETWORK
from tools.campaign.network import Network
from tools.campaign.soak import notes, soak
from tools.campaign.tables import as_json, markdown, row, summary

if TYPE_CHECKING:  # the runner needs ROS
    from tools.campaign.run import Outcome, Runner

EXAMPLES = """examples:
  python -m tools.campaign --list
  python -m tools.campaign --seeds 1
  python -m tools.campaign --only 'controller killed' --only Ctrl-C --seeds 3
  python -m tools.campaign --output reliability.json --markdown reliability.md
  python -m tools.campaign --soak 20
  python -m tools.campaign --compiled --runs 100000 --workers 2 --output runs.json
  python -m tools.campaign --compiled --runs 1000000 --workers 2 --resume million.jsonl
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return 0 if all criteria hold, 1 if not, 2 for a mistake."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        return run(options)
    except RobodynError as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return 2


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        'python -m tools.campaign', description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add_robot_arguments(parser)
    add_motion_arguments(parser)
    add = parser.add_argument
    add('--list', action='store_true', help='print the faults, and run none')
    add('--only', action='append', default=[], metavar='FAULT',
        help='run the faults whose name begins with this; may be repeated')
    add('--seeds', type=whole_number, default=10, metavar='N',
        help='runs of each fault (default 10)')
    add('--seed', type=int, default=0, metavar='N', help='seed of the first run (default 0)')
    add('--output', type=Path, metavar='FILE', help='write the figures of all runs')
    add('--markdown', type=Path, metavar='FILE', help='write the table')
    add('--soak', type=between(0.1, 1e5), nargs='?', const=20.0, metavar='MINUTES',
        help='run without faults in all modes (default 20 minutes)')
    add('--compiled', action='store_true', help='run controller and arm in one compiled loop, '
        'without processes: thousands of runs a minute, with random arms and motions')
    add('--plants', action='store_true', help='arms that no model describes: states that are up '
        'to 40 ms late without a trace in their stamps, elastic joints, encoders on either side, '
        'rotors; their loops are measured before the motion')
    add('--runs', type=whole_number, metavar='N',
        help='number of compiled runs (default 64 of each fault)')
    add('--minutes', type=between(0.0, 1e5), metavar='N',
        help='end compiled runs after this time; without --workers')
    add('--workers', type=whole_number, default=1, metavar='N',
        help='processes of the compiled runs (default 1)')
    add('--scheduler', metavar='ADDRESS', help='address of a Dask scheduler for the compiled '
        'runs, whose workers have this package and can read the URDF')
    add('--resume', type=Path, metavar='FILE', help='append the results of the compiled runs to '
        'this file, and make only those that are not in it yet')
    add('--histograms', type=Path, metavar='FILE', help='draw histograms of the compiled runs')
    add('--replay', type=int, metavar='SEED', help='make one compiled run again: in Python, and '
        'in lockstep through simulator and controller; their torques must agree')
    add('--every', type=whole_number, default=20, metavar='N',
        help='of a replay, compute one of N steps in Python (default 20; a step takes 0.1 s)')
    add('--plot', type=Path, metavar='FILE', help='draw all terms of the torque of a replay')
    add('--worst', type=whole_number, metavar='ARMS', help='search the time, length and size of '
        'each fault for which the arm is fastest, steps of torque are largest, and the arm is '
        'farthest beyond its limits; for so many arms and motions each')
    add('--logs', type=Path, metavar='DIR', help='keep the logs of the processes in this folder')
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the campaign; return 0 if all criteria hold, else 1."""
    if options.compiled or options.worst or options.replay is not None:
        from tools.campaign.compiled import command
        return command.run(options)
    for name in ('runs', 'minutes', 'scheduler', 'resume', 'histograms', 'plot'):
        if getattr(options, name):
            raise ParameterError(f'--{name} goes with --compiled only')
    cases = chosen(CASES, options.only)
    steps = Steps()
    if options.list:
        for case in cases:
            steps.write_line(f'{case.name:<26} {case.description}')
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    robot = robot_of(options)
    model = robot.load()
    motion = plan_motion(Dynamics(model), options.duration, options.speed)
    if options.soak:
        with _folder(options.logs) as logs:
            return run_soak(robot, model, motion, logs, options, steps)
    seeds = range(options.seed, options.seed + options.seeds)
    with _folder(options.logs) as logs:
        campaign = Campaign(robot, model, motion, logs, steps,
                            lambda: save(cases, campaign, options), options.plants)
        try:
            campaign.run([case for case in cases if case.name not in NETWORK], seeds)
            campaign.run_in_new_process([case for case in cases if case.name in NETWORK], seeds)
        except KeyboardInterrupt:
            conclude(cases, campaign, steps)
            raise
    return conclude(cases, campaign, steps)


class Campaign:
    """
    Runs cases; starts new processes if the arm does not recover.

    Parameters
    ----------
    robot, model, motion
        The arm, and its motion in every run.
    logs : Path
        Folder of the log files.
    steps : Steps
        Display of the progress.
    save : callable
        Called after each run.
    plants : bool
        Whether each seed has a plant of its own, see `plants`, and new processes.

    Attributes
    ----------
    outcomes : list of Outcome
        Results of all runs until now.
    skipped : dict of str to str
        Faults that this machine does not permit, and the reasons.

    """

    def __init__(self, robot: Robot, model: RobotModel, motion: Motion, logs: Path,
                 steps: Steps, save: Callable[[], None], plants: bool = False):
        self._plants = plants
        self._arm = (robot, model, motion, logs)
        self._steps, self._nv, self._save = steps, model.nv, save
        self.outcomes: list[Outcome] = []
        self.skipped: dict[str, str] = {}

    def run(self, cases: Sequence[Case], seeds: Sequence[int]) -> None:
        """Run cases that all need one host, or all two."""
        todo = [(case, seed) for seed in seeds for case in cases]
        while todo:
            with ExitStack() as stack:
                begun = todo[0][1]
                runner = self._begin(stack, cases, begun)
                if runner is None:
                    return
                while todo and (todo[0][1] == begun or not self._plants):
                    outcome = self._one(runner, *todo.pop(0))
                    self.outcomes.append(outcome)
                    self._save()
                    if outcome.recording is None or not outcome.recording.recovered:
                        break  # continue with new processes

    def run_in_new_process(self, cases: Sequence[Case], seeds: Sequence[int]) -> None:
        """Run cases in a new process, as DDS keeps the first network interfaces of a process."""
        if cases:
            robot, _, motion, logs = self._arm
            with ProcessPoolExecutor(1, mp_context=get_context('spawn')) as pool:
                outcomes, skipped = pool.submit(
                    _run_campaign, robot, motion, logs, [case.name for case in cases],
                    seeds, self._plants).result()
            self.outcomes += outcomes
            self.skipped.update(skipped)
            self._save()

    def _begin(self, stack: ExitStack, cases: Sequence[Case], seed: int) -> Runner | None:
        """Return a runner with an armed guard; None if two hosts cannot be made."""
        from tools.campaign.run import Runner
        from tools.campaign.testbed import Testbed
        network = cases[0].name in NETWORK
        with self._steps('start simulator, guard and controller') as step:
            try:
                hosts = stack.enter_context(Network()) if network else None
            except (OSError, RobodynError) as error:
                step.result = f'skipped: {error}'
                self.skipped.update({case.name: str(error) for case in cases})
                return None
            testbed = stack.enter_context(Testbed(
                *self._arm, network=hosts,
                plant=DrawnPlant.of(self._arm[1], seed) if self._plants else None))
            testbed.start()
            where = 'two hosts' if network else f'ROS_DOMAIN_ID={testbed.domain}'
            step.result = f'on {where}; {testbed.loop}'
        return Runner(testbed)

    def _one(self, runner: Runner, case: Case, seed: int) -> Outcome:
        from tools.campaign.run import failed
        with self._steps(f'{case.name}, seed {seed}') as step:
            try:
                outcome = runner.run(case, seed)
            except Exception as error:  # one failed run must not end the campaign
                outcome = failed(case, seed, error, self._nv)
            step.result = row(outcome)
        return outcome


def run_soak(robot: Robot, model: RobotModel, motion: Motion, logs: Path,
             options: argparse.Namespace, steps: Steps) -> int:
    """Run without faults for a long time; return 0 if all criteria hold, else 1."""
    from tools.campaign.testbed import Testbed
    with Testbed(robot, model, motion, logs, settings={
            'constraints.trajectory': [0.0]}) as testbed:
        with steps('start simulator, guard and controller') as step:
            testbed.start()
            step.result = testbed.loop
        with steps(f'move for {options.soak:g} minutes') as step:
            statistics = soak(testbed, options.soak, options.seed, steps.tick)
            step.result = f'{statistics.motions} motions'
    criteria = statistics.criteria(model.effort_limit)
    for line in ('', *notes(statistics), *verdict(criteria)):
        steps.write_line(line)
    return 1 if any(each.passed is False for each in criteria) else 0


def _run_campaign(robot: Robot, motion: Motion, logs: Path, names: Sequence[str],
                  seeds: Sequence[int], plants: bool) -> tuple[list[Outcome], dict[str, str]]:
    """Run cases by name; return the outcomes, and the skipped faults with the reasons."""
    campaign = Campaign(robot, robot.load(), motion, logs, Steps(), lambda: None, plants)
    campaign.run(chosen(CASES, names), seeds)
    return campaign.outcomes, campaign.skipped


def conclude(cases: Sequence[Case], campaign: Campaign, steps: Steps) -> int:
    """Print the table, and return the exit code."""
    for line in ('', *summary(cases, campaign.outcomes, campaign.skipped)):
        steps.write_line(line)
    return 1 if any(outcome.passed is False for outcome in campaign.outcomes) else 0


def save(cases: Sequence[Case], campaign: Campaign, options: argparse.Namespace) -> None:
    """Write the files of `--output` and `--markdown`."""
    outcomes, skipped = campaign.outcomes, campaign.skipped
    if options.output:
        options.output.write_text(as_json(outcomes, skipped), encoding='utf-8')
    if options.markdown:
        options.markdown.write_text(markdown(cases, outcomes, skipped), encoding='utf-8')


@contextmanager
def _folder(path: Path | None) -> Iterator[Path]:
    """Yield the folder of the logs: a temporary one if `path` is None."""
    if path is None:
        with TemporaryDirectory() as folder:
            yield Path(folder)
    else:
        path.mkdir(parents=True, exist_ok=True)
        yield path
