"""One rule for all commands that move an arm: Enter never does, nor `--yes` alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from robodyn_ros.cli.main import main, make_parser, USER_MISTAKE
from robodyn_ros.cli.terminal import agreed
from robodyn_ros.files import made
from robodyn_ros.share import share_path
from robodyn_ros.teaching import Demonstration

ARM = str(share_path('urdf', 'robodyn6.urdf'))
COMMANDS = {'commission': [ARM], 'payload': [ARM], 'excite': [ARM, '--send'],
            'teach': ['pick'], 'replay': ['pick', ARM]}


@pytest.mark.parametrize('texts, yes, count', [
    (['', '', 'y'], True, 3), (['YES '], True, 1), (['', 'perhaps', 'q'], False, 3),
    (['n'], False, 1), ([], False, 1), ([''], False, 2)])
def test_enter_is_no_answer(answers, texts, yes, count):
    asked = answers(*texts)
    assert agreed('Go on?') is yes and len(asked) == count
    assert asked[0] == 'Go on? [y: yes, q: no] '


@pytest.mark.parametrize('name', COMMANDS)
def test_yes_alone_is_refused_before_anything_else(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([name, *COMMANDS[name], '--yes']) == USER_MISTAKE
    assert 'add --at-the-stop if somebody watches it' in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    options = make_parser([name]).parse_args([name, *COMMANDS[name], '--yes', '--at-the-stop'])
    assert options.yes and options.at_the_stop and options.namespace == ''


class Arm:
    """A controller that runs, and what it was asked for."""

    joint_names = ('joint1',)
    moved, recorded = False, ()

    def __init__(self, *given, **_):
        self.calls, self.namespace = [], given[-1]
        self.recorder = self
        self.references = SimpleNamespace(newest=lambda names: SimpleNamespace(
            position=np.zeros((1, len(names)))))

    def __getattr__(self, name):
        return lambda *_: self.calls.append(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.calls.append('close')


def test_a_motion_of_excite_and_replay_asks(tmp_path, monkeypatch, answers):
    pytest.importorskip('rclpy', reason='a controller needs ROS 2')
    from robodyn_ros.cli import excite as command
    from robodyn_ros.client import sender as send
    arms = []

    def arm(*given):
        arms.append(Arm(*given))
        return arms[-1]

    monkeypatch.setattr(send, 'Sender', arm)
    monkeypatch.setattr(command, 'set_priority', lambda _: None)
    monkeypatch.chdir(tmp_path)
    asked = answers('', 'q', '', 'q')
    assert main(['excite', ARM, '--duration', '2', '--frequency', '0.6', '--search', '0',
                 '--velocity', '0.2', '--send', '--namespace', 'left']) == 1
    assert len(asked) == 2 and 'The arm moves for 7 s' in asked[0]
    names = tuple(f'joint{k}' for k in range(1, 7))
    times = np.linspace(0.0, 2.0, 21)
    Demonstration(names, times, 0.1 * times[:, None] * np.ones(6), np.zeros(0), (),
                  np.zeros(0)).write(tmp_path / 'pick')
    assert main(['replay', 'pick', ARM, '--namespace', 'left']) == 1
    assert len(asked) == 4
    assert not any('execute' in each.calls for each in arms)
    assert [each.namespace for each in arms] == ['left'] * len(arms)


@pytest.mark.parametrize('fails', [False, True])
def test_a_teach_that_records_nothing_leaves_nothing(fails, tmp_path, monkeypatch, answers):
    pytest.importorskip('rclpy', reason='a controller needs ROS 2')
    from robodyn_ros.client import demonstrations as recording
    arms = []

    class Silent(Arm):
        def wait_for_arm(self):
            if fails:
                raise recording.StateError('no joint states received')

    monkeypatch.setattr(recording, 'HandGuiding', lambda *given: arms.append(
        Silent(*given)) or arms[-1])
    monkeypatch.chdir(tmp_path)
    asked = answers('', 'q')
    code = main(['teach', 'new/pick', '--namespace', 'left'])
    assert code == (USER_MISTAKE if fails else 1) and len(asked) == (0 if fails else 2)
    assert arms[0].calls == ['close'] and arms[0].namespace == 'left'
    assert list(tmp_path.iterdir()) == []


def test_a_folder_remains_if_something_is_in_it(tmp_path):
    with made(tmp_path / 'a' / 'b'):
        (tmp_path / 'a' / 'kept').touch()
    assert [each.name for each in (tmp_path / 'a').iterdir()] == ['kept']
    with pytest.raises(KeyError), made(tmp_path / 'a'):
        raise KeyError
    assert (tmp_path / 'a' / 'kept').exists()
