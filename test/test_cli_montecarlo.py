"""The command `robodyn montecarlo`: same figures whatever shares the work, and clear mistakes."""
import subprocess
import sys

import numpy as np
import pytest
from robodyn_ros.cli.main import main, USER_MISTAKE
from robodyn_ros.control.steps import modes

SHORT = ['--runs', '150', '--duration', '0.5', '--position-noise', '1e-4']


def run(path, *options):
    assert main(['montecarlo', *SHORT, '--output', str(path), *options]) == 0
    return np.load(path)


@pytest.fixture(scope='module')
def alone(tmp_path_factory):
    return run(tmp_path_factory.mktemp('runs') / 'alone.npz')


def assert_same(found, expected):
    assert sorted(found) == sorted(expected)
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_figures_and_table(alone, capsys, tmp_path):
    again = run(tmp_path / 'again.npz')
    assert_same(again, alone)
    assert alone['rms'].shape == (150, 7) and alone['good'].all()
    assert (alone['rms'] <= alone['peak']).all() and (alone['rms'] > 0.0).all()
    printed = capsys.readouterr().out
    assert '150 of 150 runs' in printed and 'joint7' in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_the_seed_and_the_spread_count(alone, tmp_path):
    other = run(tmp_path / 'other.npz', '--seed', '5')
    assert (other['rms'] != alone['rms']).all()
    wide = run(tmp_path / 'wide.npz', '--mass', '0.3', '--friction', '1.0')
    larger = np.median(wide['rms'], axis=0) / np.median(alone['rms'], axis=0)
    assert larger.min() > 1.0 and larger.max() > 2.0


def test_workers_change_nothing(alone, tmp_path):
    # from the shell, as processes are started
    path = tmp_path / 'workers.npz'
    subprocess.run([sys.executable, '-m', 'robodyn_ros.cli.main', 'montecarlo', *SHORT,
                    '--workers', '2', '--output', str(path)], check=True, timeout=120)
    assert_same(np.load(path), alone)


def test_dask_workers_change_nothing(alone, tmp_path):
    distributed = pytest.importorskip('distributed', reason='Dask is not installed')
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                                  dashboard_address=None) as cluster:
        found = run(tmp_path / 'dask.npz', '--scheduler', cluster.scheduler_address)
    assert_same(found, alone)


def test_what_ends_runs_is_counted(capsys, tmp_path):
    path = tmp_path / 'ended.npz'
    options = ['--tolerance', '0.1', '--mass', '0.3', '--collision', '0.1', '--output', str(path)]
    assert main(['montecarlo', *SHORT, *options]) == 1
    found, printed = np.load(path), capsys.readouterr().out
    codes = {int(code): int(np.sum(found['code'] == code)) for code in np.unique(found['code'])}
    assert set(codes) == {0, int(modes.OFF_PATH), int(modes.COLLIDED)}
    assert f'{codes[0]} of 150 runs' in printed
    assert f'{codes[int(modes.OFF_PATH)]} path tolerance violated (joint' in printed
    assert f'{codes[int(modes.COLLIDED)]} collision (joint' in printed
    np.testing.assert_array_equal(found['good'], found['code'] == 0)
    assert (found['followed'][found['good']] == found['followed'].max()).all()
    assert (found['followed'][~found['good']] < found['followed'].max()).all()
    # of what is measured, with its noise
    assert (found['peak'][found['good']] < 0.1 + 1e-3).all()
    assert max(map(len, printed.splitlines())) <= 100


def test_arms_far_lighter_than_their_model_end_as_if_carried_twice(capsys, tmp_path):
    path = tmp_path / 'light.npz'
    assert main(['montecarlo', *SHORT, '--mass', '0.9', '--output', str(path)]) == 1
    found, printed = np.load(path), capsys.readouterr().out
    assert set(found['code']) == {0.0, modes.CARRIED_TWICE}
    assert f'{np.sum(found["code"] > 0.0)} as if carried twice (joint' in printed


def test_a_goal_tolerance_ends_runs(capsys):
    options = ['--runs', '4', '--duration', '0.5', '--goal-tolerance', '1e-7']
    assert main(['montecarlo', *options]) == 1
    printed = capsys.readouterr().out
    assert '0 of 4 runs' in printed and '4 goal tolerance violated (' in printed
    assert 'runs 0, 1, 2, 3' in printed


def test_other_laws(alone, tmp_path):
    springs = run(tmp_path / 'springs.npz', '--law', 'joint_impedance')
    assert (springs['rms'] != alone['rms']).all() and springs['good'].all()


@pytest.mark.parametrize('options, words', [
    (['--scheduler', 'tcp://127.0.0.1:1', '--workers', '2'], 'leave --workers out'),
    (['--urdf', 'nowhere.urdf'], 'nowhere.urdf'), (['--lock', 'joint1'], "'joint1'")])
def test_mistakes_are_explained(options, words, capsys):
    assert main(['montecarlo', *options]) == USER_MISTAKE
    assert words in capsys.readouterr().err


@pytest.mark.parametrize('options', [['--runs', '0'], ['--mass', '-1'], ['--workers', 'all'],
                                     ['--tolerance', '-1'], ['--law', 'magic']])
def test_numbers_out_of_range_are_named(options, capsys):
    with pytest.raises(SystemExit):
        main(['montecarlo', *options])
    assert options[0] in capsys.readouterr().err
