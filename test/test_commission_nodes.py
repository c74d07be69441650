"""The command `robodyn commission` through the nodes."""

from types import SimpleNamespace

import pytest

from robodyn_ros.cli.commission.folder import Folder
from robodyn_ros.cli.main import main
from robodyn_ros.cli.robot import Robot
from robodyn_ros.exceptions import StateError
from robodyn_ros.share import share_path

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

ARM = share_path('urdf', 'robodyn6.urdf')


def test_a_controller_that_runs_already_is_not_taken_for_our_own(tmp_path, monkeypatch):
    from robodyn_ros.cli.commission import ros_arm
    recorder = SimpleNamespace(controllers=lambda: 1, wait=lambda until, _timeout: until(),
                               close=lambda: None)
    monkeypatch.setattr(ros_arm, 'Sender', lambda *_: SimpleNamespace(recorder=recorder))
    monkeypatch.setattr(ros_arm.Children, 'start', lambda *_: pytest.fail('it starts another'))
    arm = ros_arm.RosArm(Robot(ARM), Robot(ARM).load(), tmp_path, lambda: None)
    with pytest.raises(StateError, match='computed_torque_controller runs already: end it'):
        arm.start(ARM, {})
    assert not arm.hold()
    arm.stop()


@pytest.mark.slow
def test_the_dry_run_with_its_nodes(tmp_path, capsys):
    assert main(['commission', str(ARM), '--dry-run', '--yes', '--folder', str(tmp_path),
                 '--excitation', '10', '--search', '2']) == 0
    done = Folder(tmp_path, [*Robot(ARM).options(), '--dry-run', '0']).done
    assert max(done['after']['rms']) < 1.0 < 0.1 * max(done['before']['rms'])
    assert (tmp_path / 'report.html').stat().st_size > 1000
