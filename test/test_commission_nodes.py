"""The command `robodyn commission` through the nodes."""

import pytest

from robodyn_ros.cli.commission.folder import Folder
from robodyn_ros.cli.main import main
from robodyn_ros.cli.robot import Robot
from robodyn_ros.share import share_path

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

ARM = share_path('urdf', 'robodyn6.urdf')


@pytest.mark.slow
def test_the_dry_run_with_its_nodes(tmp_path, capsys):
    assert main(['commission', str(ARM), '--dry-run', '--yes', '--folder', str(tmp_path),
                 '--excitation', '10', '--search', '2']) == 0
    done = Folder(tmp_path, [*Robot(ARM).options(), '--dry-run', '0']).done
    assert max(done['after']['rms']) < 1.0 < 0.1 * max(done['before']['rms'])
    assert (tmp_path / 'report.html').stat().st_size > 1000
