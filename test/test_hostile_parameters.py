"""Hostile parameters: read or refused in words, and nothing else changes."""

import os
from pathlib import Path
import subprocess
import sys

from hypothesis import given, HealthCheck, Phase, settings, strategies
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

import fuzz_parameters  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
drawn = settings(max_examples=200, deadline=None, derandomize=True, database=None,
                 phases=[Phase.generate], suppress_health_check=list(HealthCheck))
HEAD = '/**:\n  ros__parameters:\n    '
FILES = {
    'empty': '', 'NUL': '\0' * 99, 'no YAML': 'a: [', 'a list': '- a\n- b', 'binary': '\xff\xfe',
    'nested': HEAD + 'step: {a: {b: 1}}', 'list of lists': HEAD + 'locked: [[a], [b]]',
    'mixed': HEAD + 'locked: [a, 1]', 'alias': HEAD + 'step: &a [1.0]\n    gravity: *a',
    'bomb': 'a: &a [x, x]\n' + ''.join(
        f'{b}: &{b} [{",".join([f"*{a}"] * 9)}]\n' for a, b in zip('abcdefgh', 'bcdefghi')),
    'deep': HEAD + 'step: ' + '[' * 5000 + ']' * 5000,
    'deep maps': ''.join(' ' * k + 'a:\n' for k in range(500)),
    'long text': HEAD + 'urdf_file: ' + 'x' * 10**6,
    'long list': HEAD + 'gravity: [' + '1.0, ' * 10**4 + '1.0]',
    'many unknown': HEAD + '\n    '.join(f'a{k}: 1' for k in range(300)),
    'wrong types': HEAD + '\n    '.join(['step: fast', 'lockstep: 7', 'locked: true']),
    'overflow': HEAD + 'step: 1e999', 'huge int': HEAD + 'rt_priority: 99999999999999999999',
    'template': HEAD + 'urdf_file: "{{ 7 }}"',
    'object': HEAD + 'step: !!python/object:os.system x',
}


@drawn
@given(strategies.data())
def test_changes_while_a_node_runs(data):
    fuzz_parameters.changes(lambda options: data.draw(strategies.sampled_from(options)))


def test_files_at_the_start():
    """Read hostile files in a process of its own: the reader is not written in Python."""
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, '-X', 'faulthandler', __file__], env=environment,
                         capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, f'{run.stdout[-300:]}\n{run.stderr[-6000:]}'
    assert run.stdout.splitlines()[-1] == 'all right'


def files():
    """Read the files that are written out above, damaged ones, and those of the package."""
    for name, text in FILES.items():
        print(name, flush=True)
        fuzz_parameters.file_text(text.encode('latin-1'))
    for text in fuzz_parameters.seeds():
        fuzz_parameters.file_text(text)
    settings(drawn, max_examples=25)(given(strategies.data())(
        lambda data: fuzz_parameters.file_lines(
            lambda options: data.draw(strategies.sampled_from(options)))))()
    print('all right')


if __name__ == '__main__':
    files()
