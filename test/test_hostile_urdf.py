"""Malicious URDFs: each loads or is refused, in bounded time and memory."""

import json
import os
from pathlib import Path
import subprocess
import sys

import fuzz_attacks
import fuzz_urdf
from hypothesis import given, HealthCheck, Phase, settings, strategies
from model_urdf import arm
import pytest
from robodyn_ros.exceptions import ModelError, near_matches
from robodyn_ros.model import RobotModel

SECONDS = 12.0       # of the processor; the longest takes about 3
MOST_MEMORY = 250    # MiB; the longest takes about 100
LINUX = pytest.mark.skipif(not Path('/proc/self/clear_refs').exists(),
                           reason='only Linux reports how much memory was in use')
drawn = settings(max_examples=200, deadline=None, derandomize=True, database=None,
                 phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@pytest.fixture(scope='module')
def outcomes():
    """Return what came of each attack."""
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, fuzz_attacks.__file__], env=environment, text=True,
                         capture_output=True, timeout=300)
    assert run.returncode == 0, f'{run.stdout[-300:]}\n{run.stderr[-3000:]}'
    return {name: rest for name, *rest in map(json.loads, run.stdout.splitlines())}


@LINUX
@pytest.mark.parametrize('name', fuzz_attacks.ATTACKS)
def test_an_attack_takes_little_time_and_memory(name, outcomes):
    answer, seconds, memory = outcomes[name]
    words = fuzz_attacks.ATTACKS[name][1]
    assert words in answer if words else answer == 'nv 2', answer[:500]
    assert seconds < SECONDS and memory < MOST_MEMORY, (seconds, memory)
    assert len(answer) < fuzz_urdf.LONGEST


def test_a_refusal_reveals_nothing_of_other_files(outcomes):
    secret = Path('/etc/passwd').read_text().partition(':')[0]
    for answer, *_ in outcomes.values():
        assert f'{secret}:' not in answer


@pytest.mark.parametrize('part', ['arm', 'shoulder', 'forearm'])
def test_a_name_that_would_forge_lines_of_a_log_is_refused(part):
    text = arm().replace(f'"{part}"', f'"{part}&#10;[FATAL] all is well"')
    with pytest.raises(ModelError, match=r"'.*\\n.*' holds a control character.*; rename it"):
        RobotModel.from_urdf(text)


def test_names_of_a_made_up_robot_are_compared_in_bounded_time():
    names = [f'{"ab" * 100}{k}' for k in range(200_000)]
    assert near_matches('x', names).endswith('and 199988 more')
    assert len(near_matches('ba' * 100, names)) < 1000
    assert near_matches('elbo', ['elbow', 'a\nb']) == "did you mean 'elbow'?"
    assert near_matches('x', ['elbow', 'a\nb']) == "known are: elbow, 'a\\nb'"


def test_mistakes_are_not_looked_for_for_ever():
    text = arm().replace('type="revolute"', 'type="revolut"')
    joint = text[text.index('<joint'):text.index('</joint>') + len('</joint>')]
    with pytest.raises(ModelError) as caught:
        RobotModel.from_urdf(arm(*(joint.replace('shoulder', f's{k}') for k in range(2000))))
    assert '(50)' in str(caught.value) and '(51)' not in str(caught.value)


@drawn
@given(strategies.data())
def test_damaged_values_and_selections(data):
    fuzz_urdf.urdf_edits(lambda options: data.draw(strategies.sampled_from(options)))


@settings(drawn, max_examples=120)
@given(strategies.sampled_from(fuzz_urdf.seeds()), strategies.data())
def test_damaged_bytes(seed, data):
    for _ in range(data.draw(strategies.integers(1, 4))):
        start = data.draw(strategies.integers(0, len(seed)))
        scrap = data.draw(strategies.binary(max_size=6) | strategies.sampled_from(
            [piece.encode('utf-8', 'surrogatepass') for piece in fuzz_urdf.PIECES]))
        seed = seed[:start] + scrap + seed[start + data.draw(strategies.integers(0, 30)):]
    fuzz_urdf.urdf_text(seed)


def test_the_seeds_are_robots():
    seeds = fuzz_urdf.seeds()
    assert len(seeds) > 3
    assert sum(fuzz_urdf.judged(seed) is not None for seed in seeds) > len(seeds) // 2
