"""What all sub-commands share: usage of the right command, broken pipes, places to write to."""
import os
from pathlib import Path
import resource
import subprocess
import sys

import pytest

from robodyn_ros.cli import check
from robodyn_ros.cli.main import BROKEN_PIPE, COMMANDS, main, USER_MISTAKE
from robodyn_ros.text import Criterion, paragraph, table, verdict

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize('command', COMMANDS)
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, '--help'])
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert 'examples:' in printed and f'  robodyn {command}' in printed and '--debug' in printed


@pytest.mark.parametrize('command', ['check', 'explain', 'demo', 'montecarlo'])
def test_usage_errors_name_the_command(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, '--wrong'])
    printed = capsys.readouterr().err
    assert ended.value.code == USER_MISTAKE
    assert printed == (f'robodyn {command}: unrecognized arguments: --wrong; '
                       f'see robodyn {command} --help\n')


_WITHOUT = """
import os, sys, warnings
from robodyn_ros.cli import check as command
from robodyn_ros.cli.main import main
from robodyn_ros.nodes.process import init_tool

def run(options):
    {prepare}
    init_tool()
    warnings.warn('old', DeprecationWarning)

command.run = run
sys.exit(main(['check', 'arm.urdf']))
"""


@pytest.mark.parametrize('prepare, words', [
    ('files = [os.open(os.devnull, os.O_RDONLY) for _ in range(64)]', '`ulimit -n 1024`'),
    ('os.environ["HOME"] = "/proc"; os.environ.pop("ROS_LOG_DIR", 0)',
     'set ROS_LOG_DIR to a folder'),
    ('warnings.simplefilter("error")', 'leave out -W error')])
def test_what_the_system_lacks_is_one_sentence(prepare, words):
    pytest.importorskip('rclpy', reason='needs ROS')
    done = subprocess.run(
        [sys.executable, '-c', _WITHOUT.format(prepare=prepare)], capture_output=True, text=True,
        timeout=60, env={**os.environ, 'PYTHONWARNINGS': ''},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    assert done.returncode == USER_MISTAKE, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith('robodyn check: ') and words in last and 'Traceback' not in done.stderr


def test_a_place_that_cannot_be_written_names_its_option(capsys):
    path = '/proc/nothing/runs.npz'
    assert main(['montecarlo', '--output', path]) == USER_MISTAKE
    printed = capsys.readouterr().err
    assert f'--output {path}' in printed and 'choose a path' in printed


@pytest.mark.parametrize('missing, remedy', [
    ('viser', "pip install 'robodyn_ros[view]'"), ('rclpy', "pip install 'robodyn_ros[ros]'")])
def test_the_extra_of_a_missing_library_is_named(missing, remedy, monkeypatch, capsys):
    def run(_options):
        raise ImportError('not there', name=missing)

    monkeypatch.setattr(check, 'run', run)
    assert main(['check', 'arm.urdf']) == USER_MISTAKE
    assert remedy in capsys.readouterr().err


def test_debug_shows_the_stack_trace():
    with pytest.raises(ValueError, match='nowhere'):
        main(['check', 'nowhere.urdf', '--debug'])


def test_a_reader_that_goes_away_is_no_mistake():
    environment = {**os.environ, 'PYTHONPATH': str(ROOT), 'PYTHONUNBUFFERED': '1'}
    with subprocess.Popen(
            [sys.executable, '-m', 'robodyn_ros.cli.main', 'explain',
             str(ROOT / 'urdf' / 'robodyn7.urdf')], env=environment, cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        printed = process.stderr.read()
        assert process.wait(60) == BROKEN_PIPE, printed
    assert not printed


def test_names_that_would_be_cut_alike_are_numbered():
    names = [f'{side}_manipulator_with_a_long_name_joint' for side in ('left', 'right')]
    lines = table(('joint', 'torque'), [(name, '1') for name in names], width=30)
    assert {line.split()[0] for line in lines[2:4]} == {'1', '2'}
    legend = ''.join(line.strip() for line in lines[4:])
    assert all(f'{k} {name}' in legend for k, name in enumerate(names, 1))


def test_no_line_ends_before_a_unit():
    lines = paragraph('note  ', 'weight ' + '12.5 N m, ' * 40, width=53)
    assert max(map(len, lines)) <= 53
    assert all(line.rstrip(',').endswith('N m') for line in lines)
    assert ' '.join(line.strip() for line in lines).count('12.5 N m') == 40


def test_the_verdict_states_a_reservation():
    good = [Criterion('error below 1', '0.5', True)]
    assert verdict(good)[-1] == 'all 1 criteria hold'
    assert verdict(good, 'a fault was latched')[-1] == (
        'all 1 criteria hold; but a fault was latched')


def test_a_demo_reports_the_faults_that_it_reset():
    from robodyn_ros.cli.demo.findings import Findings
    findings = Findings(model=None, motion=None, errors=['fault: no data', 'it was refused'])
    assert 'a fault was latched and reset' in findings.reservation()
    findings.errors.append('fault: again')
    assert findings.reservation().startswith('2 faults')
    assert Findings(None, None, errors=['refused']).reservation() == ''


def test_a_place_is_tried_and_left_as_it_was(tmp_path):
    from robodyn_ros.files import check_writable
    old, new = tmp_path / 'old.yaml', tmp_path / 'a' / 'new.yaml'
    old.write_text('what was there')
    check_writable(None)
    for each in (old, new):
        check_writable(each)
    assert old.read_text() == 'what was there'
    assert new.parent.is_dir() and not new.exists()
    with pytest.raises(OSError):
        check_writable(tmp_path)
