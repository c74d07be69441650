"""Millions of compiled fault runs, their replays and worst cases: `--compiled`."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
import time

from robodyn_ros.cli.options import robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.dynamics.jit.machine import source_digest
from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.files import check_writable
from robodyn_ros.model.robot import Robot
from robodyn_ros.montecarlo.cases import Case, chosen, COMPILED
from robodyn_ros.montecarlo.distribution import distributed
from robodyn_ros.montecarlo.results import (
    as_json, lines, parts_of, summaries, summarised, Summary)
from robodyn_ros.montecarlo.runs import simulate_group
from robodyn_ros.montecarlo.scenario import scenario, seeds_of
from robodyn_ros.montecarlo.study import FaultStudy, Job, prepare_faults
from tools.campaign.compiled.progress_file import ProgressFile
from tools.campaign.compiled.report import draw_histograms, markdown
from tools.campaign.compiled.worst import search_all

RUNS = 64 * len(COMPILED)
AGREES = 1e-9  # N m, or part of the effort limit


def run(options: argparse.Namespace) -> int:
    """Run the campaign; return 0 if all criteria hold in all runs, else 1."""
    if options.scheduler and options.workers > 1:
        raise ParameterError('--scheduler has workers of its own: leave --workers out')
    cases, steps = chosen(COMPILED, options.only), Steps()
    if options.list:
        for case in cases:
            steps.write_line(f'{case.name:<26} {case.description}')
        return 0
    for path in (options.output, options.markdown, options.histograms, options.resume):
        if path:
            check_writable(path)
    if options.replay is not None:
        return run_replay(options, steps)
    robot, count = robot_of(options), options.runs or RUNS
    with steps('load the robot, plan motions, compile') as step:
        study = prepare_faults(Job.with_faults(robot, drawn=options.plants))
        step.result = f'{study.model.name}, {len(study.motions)} motions'
    if options.worst:
        return run_search(options, study, cases, steps)
    parts = parts_of(seeds_of(cases, options.seed, count), len(cases))
    with steps(f'{count} runs of {len(cases)} faults') as step:
        found, made, passed = run_parts(options, study, parts, steps)
        done = sum(each.failed.runs for each in found)
        step.result = f'{done} runs, {made:,} steps of cycle and arm' + (
            f', {made / passed:,.0f} per second' if passed else '')
    summed = summaries(cases, found)
    for line in ('', *lines(summed)):
        steps.write_line(line)
    if options.output:
        settings = {'robot': study.model.name, 'plants': study.drawn,
                    'first_seed': options.seed, 'runs': done, 'steps': made,
                    'seconds': round(passed, 1) or None}
        options.output.write_text(as_json(summed, settings), encoding='utf-8')
    if options.markdown:
        options.markdown.write_text(markdown(summed, study.drawn), encoding='utf-8')
    if options.histograms and done:
        try:
            draw_histograms(options.histograms, summed)
        except ImportError as error:
            raise RobodynError('--histograms needs matplotlib: pip install matplotlib') from error
    return 1 if any(each.failed.events for each in summed) else 0


def run_parts(options: argparse.Namespace, study: FaultStudy, parts: list[list[int]],
              steps: Steps) -> tuple[list[Summary], int, float]:
    """
    Return summaries of parts of the campaign, their number of steps, and the time for them in s.

    Without all parts if `--minutes` end it, or an interruption; the time is 0 if some parts were
    read from the file of `--resume`.
    """
    file = options.resume and ProgressFile(options.resume, {
        'robot': study.model.name, 'plants': study.drawn, 'code': code_of(study)})
    known = [file.parts.get((part[0], len(part))) for part in parts] if file else []
    found, begun = [each for each in known if each is not None], time.monotonic()
    again = bool(found)
    missing = [part for k, part in enumerate(parts) if not known or known[k] is None]
    try:
        for part, each in zip(missing, distributed(summarised, study.job, missing,
                                                   options.workers, options.scheduler)):
            found.append(each)
            if file:
                file.add(part, *each)
            steps.tick(f'{len(found)} of {len(parts)} parts')
            if options.minutes and time.monotonic() > begun + 60.0 * options.minutes:
                break
    except KeyboardInterrupt:
        steps.write_line('interrupted: results of what was done')
    passed = 0.0 if again else time.monotonic() - begun
    return [each for each, _ in found], sum(made for _, made in found), passed


def code_of(study: FaultStudy) -> str:
    """Return a digest of robot and code, on which the results depend."""
    source = source_digest(simulate_group, ('control', 'model', 'safety', 'simulation',
                                            'trajectory'))
    return hashlib.sha256(f'{study.controller.key}|{source}'.encode()).hexdigest()[:16]


def run_search(options: argparse.Namespace, study, cases: list[Case], steps: Steps) -> int:
    """Search for the worst cases; return 0 if all criteria hold in them, else 1."""
    with steps(f'search the worst of {len(cases)} faults') as step:
        found = search_all(study, cases, options.worst, steps.tick)
        step.result = f'{len(found)} searches'
    for each in found:
        draw = ', '.join(f'{name} {value:.4g}' for name, value in each.draw.items())
        steps.write_line(f'{each.case}, seed {each.seed}: {each.figure} {each.value:.4g} at {draw}'
                         + ''.join(f'; not {text}' for text in each.failed))
    if options.output:
        options.output.write_text(json.dumps([each._asdict() for each in found], indent=1) + '\n',
                                  encoding='utf-8')
    return 1 if any(each.failed for each in found) else 0


def run_replay(options: argparse.Namespace, steps: Steps) -> int:
    """Run one seed again, on floats and through the nodes; return 0 if all torques agree."""
    from tools.campaign.compiled.replay import draw_replay, replay
    robot = robot_of(options)
    study = prepare_faults(Job.with_faults(robot, drawn=options.plants))
    run = scenario(study, options.replay)
    result, = simulate_group(study, [run])
    steps.write_line(f'seed {run.seed}: {run.case.name}, {run.draw}')
    for text in result.failed or ('meets all criteria',):
        steps.write_line(f'  {text}')
    steps.write_line(f'  fault: {result.fault or "none"}; {result.figures}')
    with steps('step by step, and on floats') as step:
        found = replay(study, scenario(study, options.replay), options.every)
        step.result = (f'{len(found.terms)} steps, {found.compared} of them on floats: torques '
                       f'differ by {found.difference:.2g} of the limits')
    agree = found.difference < AGREES
    if options.plot:
        try:
            draw_replay(options.plot, study, run, found)
        except ImportError as error:
            raise RobodynError('--plot needs matplotlib: pip install matplotlib') from error
    return 0 if _through_nodes(options, steps, study, robot) and agree else 1


def _through_nodes(options, steps: Steps, study, robot: Robot) -> bool:
    """Run the seed through the nodes, if that is possible; return whether the torques agree."""
    run = scenario(study, options.replay)
    with steps('in lockstep through the nodes') as step:
        try:
            from tools.campaign.compiled.lockstep import compare, obstacle
        except ImportError as error:
            step.result = f'skipped: {error}'
            return True
        if obstacle(run):
            step.result = f'skipped: {obstacle(run)}'
            return True
        with TemporaryDirectory() as logs:
            found = compare(study, run, robot, Path(logs))
        step.result = (f'{found.steps} torques differ by at most {found.difference:.2g} N m, '
                       f'{found.missing} are missing')
    return found.difference < AGREES and not found.missing
