"""Runs `launch_demo.py` as `launch_test` does, and skips where that cannot be."""
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')
for module in ('launch_ros', 'launch_testing'):
    pytest.importorskip(module, reason='needs ROS 2 with launch_testing')

from ros_process import ROOT  # noqa: E402


@pytest.mark.usefixtures('install')
def test_demo():
    run = subprocess.run(
        [sys.executable, '-m', 'launch_testing.launch_test', str(ROOT / 'test/launch_demo.py')],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
    assert run.returncode == 0, run.stdout
