"""The campaign with nodes: runs of some faults, and the torques of compiled runs."""
import json
from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from expected_loop import LOOP  # noqa: E402
from robodyn_ros.model.robot import Robot  # noqa: E402
from robodyn_ros.montecarlo.cases import chosen, COMPILED  # noqa: E402
from robodyn_ros.montecarlo.scenario import scenario, seeds_of  # noqa: E402
from robodyn_ros.montecarlo.study import Job, prepare_faults  # noqa: E402
from tools.campaign.cases import CASES  # noqa: E402
from tools.campaign.compiled.lockstep import compare, obstacle  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
ARM = ROOT / 'urdf' / 'robodyn7.urdf'
# the controller is killed, and its heartbeats go on; then the other groups. The campaign runs all
SLICE = 'heartbeats forged',
OTHERS = ('controller killed', 'Ctrl-C', 'states lost', 'names swapped', 'forgotten publisher',
          'guard states forged', 'bad loads')
BY_NAME = {case.name: case for case in COMPILED}


@pytest.fixture(scope='module')
def study():
    return prepare_faults(Job.with_faults(Robot(ARM)))


# one seed of a fault in the states, and of one in the motors; each begins without a fault
@pytest.mark.parametrize('name', [
    'position frozen', pytest.param('torque lost', marks=pytest.mark.slow)])
def test_the_nodes_send_the_same_torques(study, name, tmp_path):
    run = scenario(study, seeds_of([BY_NAME[name]], 0, 1)[0])
    assert not obstacle(run)
    found = compare(study, run, Robot(ARM), tmp_path)
    assert found.steps > 800 and not found.missing
    assert found.difference < 1e-9  # N m


def run(*arguments, timeout=300):
    done = subprocess.run(
        [sys.executable, '-m', 'tools.campaign', *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize('faults', [SLICE, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_runs_of_some_faults_pass(faults, tmp_path):
    only = [word for name in faults for word in ('--only', name)]
    code, output = run(*only, '--seeds', '1', '--output', str(tmp_path / 'runs.json'),
                       '--markdown', str(tmp_path / 'table.md'),
                       '--logs', str(tmp_path / 'logs'))
    broken = [text for log in sorted((tmp_path / 'logs').iterdir())
              if 'Traceback' in (text := log.read_text(errors='replace'))]
    assert code == 0, '\n'.join([output, *broken])
    assert f'loop: {LOOP}' in output
    runs = json.loads((tmp_path / 'runs.json').read_text())['runs']
    assert [each['fault'] for each in runs] == [case.name for case in chosen(CASES, faults)]
    assert all(each['passed'] is not False for each in runs)
    assert f'| {faults[0]} | ' in (tmp_path / 'table.md').read_text()


@pytest.mark.slow
def test_a_short_soak():
    code, output = run('--soak', '0.35')
    # too short for every mode, and for the warm-up of the memory
    passed = [line for line in output.splitlines() if line.startswith('pass')]
    for words in ('no fault', 'torque at rest', 'guard: no more threads'):
        assert any(words in line for line in passed), output
