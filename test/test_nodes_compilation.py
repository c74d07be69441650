"""What nodes log about code that has to be compiled."""

import re

from closed_loop import BENT, MODEL
import pytest

pytest.importorskip('rclpy', reason='the log is that of a node')

from controller_node import CONTROLLER  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.nodes.compilation_log import compilation_logged  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402

LEVER = """<robot name="lever"><link name="base"/>
  <link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="2"/></joint>
</robot>"""


def test_what_comes_from_the_cache_is_not_logged(tmp_path, capfd):
    def logged():
        with compilation_logged(probe.node.get_logger(), 'robodyn7'):
            dynamics = Dynamics(MODEL, cache=tmp_path)
            dynamics.gravity(BENT)
            dynamics.bias(BENT, BENT)
        return capfd.readouterr().err.splitlines()

    with Probe('compilation_probe') as probe:
        first, second = logged()
        assert '[INFO]' in first
        assert first.endswith('compiling the dynamics of robodyn7, first time only')
        assert re.search(r'compiled in \d+\.\d s$', second)
        assert not logged()
        Dynamics(MODEL, cache=tmp_path / 'other').gravity(BENT)
        assert not capfd.readouterr().err, 'outside of the block'


def test_a_controller_with_an_empty_cache_logs_that_it_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv('ROBODYN_CACHE_DIR', str(tmp_path))
    # without joint states it is configured, and waits
    with NodeProcess(CONTROLLER, {'robot_description': LEVER}) as controller:
        controller.wait_for_output('waiting: no joint state')
        # the laws of other modes are compiled while it waits
        assert controller.logged('still compiling the laws feedforward_pd, ') == 1
        controller.wait_for_output('all laws are compiled')
    before, after = (next(k for k, line in enumerate(controller.lines) if words in line)
                     for words in ('compiling the dynamics of lever', 'compiled in'))
    assert before < after
