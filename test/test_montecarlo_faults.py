"""Compiled fault runs: each by its seed alone, and as on floats."""
from dataclasses import replace
import json
from pathlib import Path
import subprocess
import sys

import pytest
from robodyn_ros.cli.main import main
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model.robot import Robot
from robodyn_ros.montecarlo import simulate_faults
from robodyn_ros.montecarlo.cases import COMPILED
from robodyn_ros.montecarlo.distribution import distributed
from robodyn_ros.montecarlo.results import (
    parts_of, Rate, summaries, summarised, summary, values)
from robodyn_ros.montecarlo.runs import run_seeds, simulate_group
from robodyn_ros.montecarlo.scenario import case_of, scenario, seeds_of
from robodyn_ros.montecarlo.study import Job, prepare_faults
from tools.campaign.command import main as campaign
from tools.campaign.compiled.progress_file import ProgressFile
from tools.campaign.compiled.worst import runs_of, search
from steps_on_floats import compare_steps

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
JOB = Job.with_faults(Robot(ARM))
BY_NAME = {case.name: case for case in COMPILED}
RUNS = 32    # of each fault
SLICE = RUNS * len(COMPILED)
# a loss of states, commands or torque for long, after which speed cannot be kept low
UNCONTROLLED = {'states lost', 'states lost for long', 'states delayed', 'position frozen',
                'position and velocity NaN', 'position infinite', 'names swapped',
                'joint missing', 'joint twice', 'repeated states', 'stamps jump', 'encoder offset',
                'commands lost', 'torque lost', 'host held up'}
# seeds of failures that were mended
MENDED = {
    'names swapped': (1730, 9668, 9626, 4208, 176, 764, 7358, 6896, 8240, 2276, 3116, 3410,
                      48098, 99506, 183968, 278132, 344240, 687086),
    'velocity zero': (1400, 7280, 7658, 1484, 10220, 7448, 7826, 5768, 45668),
    'one velocity zero': (1065, 3921, 351), 'velocity off': (9763, 3925),
    'encoder offset': (6481, 10429, 7153, 5473, 2365, 8833, 3751, 1651, 20257, 23995),
    'states lost': (32172,), 'stamps jump': (4926,),
    'emergency stop': (9644, 30896), 'commands lost, watchdog': (28836,)}


@pytest.fixture(scope='module')
def study():
    return prepare_faults(JOB)


@pytest.fixture(scope='module')
def results(study):
    return run_seeds(study, range(SLICE))


def test_a_seed_stands_for_a_fault():
    assert [case_of(seed).name for seed in seeds_of([BY_NAME['push']], 100, 3)] == ['push'] * 3
    assert seeds_of(COMPILED, 5, 4) == [5, 6, 7, 8]
    two = [BY_NAME['nothing'], BY_NAME['push']]
    seeds = seeds_of(two, 0, 300)
    parts = parts_of(seeds, 2)
    assert sorted(sum(parts, [])) == seeds
    assert all(len({case_of(seed).name for seed in part}) == 1 for part in parts)


def test_a_run_depends_on_its_seed_alone(study, results):
    chosen = [3, 44, 7, 90, 166]
    alone = [run_seeds(study, [seed])[0] for seed in chosen]
    for one, seed in zip(alone, chosen):
        assert one == results[seed]


def test_without_a_fault_all_criteria_hold(study):
    for each in run_seeds(study, seeds_of([BY_NAME['nothing']], 0, 8)):
        assert not each.failed and not each.fault, each
        assert 0.2 < each.figures.speed < 1.5 and each.figures.away < 0.01


def test_every_torque_is_finite_and_within_its_limits(results):
    assert all(each.figures.finite for each in results)
    assert (values(results, 'torque') <= 1.0 + 1e-6).all()
    assert (values(results, 'step') <= 1.0).all()
    assert [each.case for each in results[:3]] == [case.name for case in COMPILED[:3]]


def test_all_criteria_hold_as_long_as_the_arm_can_be_controlled(results):
    assert not [each for each in results if each.failed and each.case not in UNCONTROLLED]
    assert not [each for each in results if 'expected reports' in each.failed]
    # wherever it falls to, it comes to rest
    assert not [each for each in results if any('at rest' in text for text in each.failed)]


@pytest.mark.parametrize('name', MENDED)
def test_mended_failures_stay_mended(study, name):
    runs = [scenario(study, seed, BY_NAME[name]) for seed in MENDED[name]]
    assert not [each for each in simulate_group(study, runs) if each.failed]


def test_a_new_goal_in_the_middle_of_a_motion_is_reached(results):
    reached = [each for each in results if each.case == 'new goal']
    assert len(reached) == RUNS
    for each in reached:
        assert each.figures.away < 0.01 and each.figures.speed < 1.0 and not each.fault


@pytest.mark.parametrize('name, words', [
    ('velocity in degrees', 'in degrees per second'),
    ('second arm', 'alternates between two positions'),
    ('states lost for long', 'no good data')])
def test_faults_are_reported(results, name, words):
    told = [each.fault for each in results if each.case == name]
    assert len(told) == RUNS and all(words in each for each in told)


@pytest.mark.parametrize('name', ['states delayed', 'push', 'tilt told', 'host busy'])
def test_steps_are_those_of_the_readable_code(study, name):
    seed = seeds_of([BY_NAME[name]], 0, 1)[0]
    run = scenario(study, seed, moment=0.06, duration=0.3)
    compare_steps(study, run, (5, 85, 117))


def test_bounds_of_rates():
    # rule of three, and the interval of Clopper and Pearson for 3 of 20
    assert Rate(0, 1000).bounds == (0.0, pytest.approx(1.0 - 0.05 ** 1e-3))
    assert Rate(3, 20).bounds == (pytest.approx(0.0321, abs=1e-4), pytest.approx(0.3789, abs=1e-4))
    assert Rate(5, 5).bounds == (pytest.approx(0.05 ** 0.2), 1.0)
    assert Rate(0, 0).bounds == (0.0, 1.0)


def test_the_command_writes_table_and_figures(tmp_path, capsys):
    path = tmp_path / 'runs.json'
    code = campaign(['--compiled', '--runs', '8', '--only', 'nothing', '--output', str(path),
                     '--markdown', str(tmp_path / 'table.md'),
                     '--histograms', str(tmp_path / 'runs.png')])
    assert code == 0 and '8 of 8 runs passed' in capsys.readouterr().out
    found = json.loads(path.read_text(encoding='utf-8'))
    assert found['runs'] == 8 and found['faults'][0]['failed']['runs'] == 0
    assert (tmp_path / 'runs.png').stat().st_size > 1000
    assert '| nothing | 8 |' in (tmp_path / 'table.md').read_text(encoding='utf-8')


def test_an_interrupted_campaign_is_continued(tmp_path, capsys):
    path, figures = tmp_path / 'parts.jsonl', [tmp_path / f'{k}.json' for k in range(3)]
    command = ['--compiled', '--runs', '140', '--only', 'nothing', '--only', 'push',
               '--output']
    campaign([*command, str(figures[0])])
    campaign([*command, str(figures[1]), '--resume', str(path)])
    lines = path.read_text(encoding='utf-8').splitlines(keepends=True)
    assert len(lines) == 5  # settings, and two parts of each fault
    path.write_text(''.join(lines[:3]) + lines[3][:30], encoding='utf-8')
    campaign([*command, str(figures[2]), '--resume', str(path)])
    found = [json.loads(each.read_text(encoding='utf-8')) for each in figures]
    for each in found:
        del each['seconds']
    assert found[0] == found[1] == found[2] and found[0]['runs'] == 140
    assert path.read_text(encoding='utf-8').count('"first"') == 5  # one of them is cut
    capsys.readouterr()
    path.write_text(lines[0].replace('"code": "', '"code": "x'), encoding='utf-8')
    assert campaign([*command, str(figures[2]), '--resume', str(path)]) == 2
    assert 'choose another file' in capsys.readouterr().err


@pytest.mark.parametrize('content, words', [
    (b'[]', 'has no result of a campaign'), (b'\xff\xfe', 'has no result of a campaign'),
    (b'\n', 'has no result'), (b'[' * 100_000, 'has no result'), (b'{}', 'has results of None'),
    (b'{"first": 1}', 'line 1 is not the result of a part'),
    (b'{"first": [], "runs": 1}', 'line 1 is not the result')])
def test_files_of_something_else_are_not_continued(tmp_path, content, words):
    path = tmp_path / 'parts.jsonl'
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=words):
        ProgressFile(path, {'robot': 'arm'})
    assert path.read_bytes() == content


@pytest.mark.parametrize('options, words', [
    (['--compiled', '--only', 'states lots'], 'states lost'),
    (['--compiled', '--workers', '2', '--scheduler', 'tcp://x:1'], '--workers'),
    (['--runs', '5'], '--compiled')])
def test_mistakes_are_named(options, words, capsys):
    assert campaign(options) == 2
    assert words in capsys.readouterr().err


def test_failed_runs_are_counted_with_their_seeds(results):
    # in two parts, as if interrupted
    parts = [[each for each in results[half::2] if each.case == case.name]
             for case in COMPILED for half in (0, 1)]
    found = summaries(COMPILED, [summary(part[0].case, part) for part in parts if part])
    assert [each.name for each in found] == [case.name for case in COMPILED]
    assert sum(each.failed.events for each in found) == sum(bool(each.failed) for each in results)
    for each in found:
        assert each.failed.runs == RUNS and len(each.seeds) == each.failed.events
        own = [result for result in results if result.case == each.name]
        assert each == summary(each.name, own)
        assert all(sum(row) == RUNS for row in each.counts.values())


def test_workers_and_dask_change_nothing(results, tmp_path):
    seeds, path = seeds_of([BY_NAME['push']], 0, 4), tmp_path / 'runs.json'
    # from the shell, as processes are started
    subprocess.run([sys.executable, '-m', 'robodyn_ros.cli.main', 'montecarlo',
                    '--faults', 'push', '--runs', '4', '--workers', '2', '--output', str(path)],
                   check=False, timeout=120)
    found, = json.loads(path.read_text(encoding='utf-8'))['faults']
    own = [results[seed] for seed in seeds]
    assert found['worst']['speed'] == max(each.figures.speed for each in own)
    assert found['seeds'] == [each.seed for each in own if each.failed]
    dask = pytest.importorskip('distributed', reason='Dask is not installed')
    with dask.LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                           dashboard_address=None) as cluster:
        shared, = distributed(summarised, JOB, [seeds], 1,
                              cluster.scheduler_address)
    assert shared == (summary('push', own), sum(each.steps for each in own))


@pytest.mark.parametrize('options, words', [
    (['--faults', 'states lots'], "there is no fault 'states lots'"),
    (['--faults', 'push', '--rate', '100'], '--rate does not go with --faults'),
    (['--faults', 'push', '--goal-tolerance', '0.1'], '--goal-tolerance does not go'),
    (['--plants'], '--plants goes with --faults'),
    (['--faults', '--plants', '--stiffness', '30'], 'gains follow from the measured loops'),
    (['--faults', 'push', '--urdf', 'nowhere.urdf'], 'nowhere.urdf')])
def test_mistakes_with_faults_are_explained(options, words, capsys):
    assert main(['montecarlo', *options]) == 2
    assert words in capsys.readouterr().err


def test_law_limits_and_arms_of_a_job_count(study, results):
    """They are those of the controller, and of the draws; the fault and its motion stay."""
    job = replace(JOB, law='joint_impedance', collision=0.0,
                  spread=replace(JOB.spread, friction=0.0))
    other, seed = prepare_faults(job), seeds_of([BY_NAME['push']], 0, 1)[0]
    run, usual = scenario(other, seed), scenario(study, seed)
    assert other.control.settings.mode == 'joint_impedance'
    assert run.draw == usual.draw and (run.friction == 1.0).all() and (usual.friction != 1.0).all()
    found, = run_seeds(other, [seed])
    assert found.figures.finite and found.figures != results[seed].figures


def test_an_interrupted_study_shows_what_was_done(monkeypatch, capsys, tmp_path):
    def parts(*given):
        yield from list(simulate_faults(*given))[:1]
        raise KeyboardInterrupt

    monkeypatch.setattr('robodyn_ros.cli.montecarlo.simulate_faults', parts)
    path = tmp_path / 'runs.json'
    assert main(['montecarlo', '--faults', 'nothing', '--runs', '65', '--output', str(path)]) == 0
    assert '64 of 64 runs passed' in capsys.readouterr().out
    assert json.loads(path.read_text(encoding='utf-8'))['runs'] == 64


def test_faults_are_listed(capsys):
    assert main(['montecarlo', '--list', '--faults', 'torque', 'push']) == 0
    assert [line[:12].strip() for line in capsys.readouterr().out.splitlines()] == [
        'torque lost', 'push']


def test_dask_is_imported_only_where_it_is_needed(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    options = ['montecarlo', '--faults', 'nothing', '--runs', '1']
    assert main([*options, '--scheduler', 'tcp://127.0.0.1:1']) == 2
    assert 'pip install "dask[distributed]"' in capsys.readouterr().err
    assert main(options) == 0


def test_a_search_finds_worse_cases_than_the_seed(study):
    case = BY_NAME['torque lost']
    seed = seeds_of([case], 0, 1)[0]
    found = search(study, case, 'speed', seed, generations=2)
    assert found.value > run_seeds(study, [seed])[0].figures.speed
    again, = runs_of(study, case, seed, [found.draw])
    assert again.figures.speed == found.value and again.failed == found.failed
