"""A controller node measures the loop of the simulated arm, and reports what it found."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='a controller needs ROS 2')

from controller_node import ARM, CONTROLLER, PATIENT, SIMULATOR  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from robodyn_ros.cli.main import main  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

URDF = {'urdf_file': str(ARM)}
ROTORS = [0.1, 0.1, 0.1, 0.1, 0.05, 0.04, 0.03]  # kg m^2, which the URDF lacks
MEASURES = {**PATIENT, 'measure_loop': True}


def test_rotors_that_the_urdf_lacks_are_found(tmp_path, capsys):
    with NodeProcess(SIMULATOR, {**URDF, 'armature': ROTORS}), Probe() as probe, NodeProcess(
            CONTROLLER, {**URDF, **MEASURES}) as controller:
        states = probe.subscribe(JointState, 'joint_states')
        diagnostics = probe.subscribe(DiagnosticArray, '/diagnostics')
        controller.wait_for_output('active')
        probe.until(lambda: states, 'a state')
        start = np.array(states[-1].position)
        probe.until(lambda: 'loop measured' in controller.output, 'the measurement')
        moved = max(np.abs(np.array(each.position) - start).max() for each in states)
        # a torque lasts longer where the machine holds the process up; see the test in one process
        assert moved < 0.05
        del diagnostics[:]

        def found():
            return [pair.value for message in diagnostics for status in message.status
                    for pair in status.values if pair.key == 'changed by it' and pair.value]
        probe.until(found, 'diagnostics with what was changed')
        lines = found()[-1].split('; ')
        # the rotors of the wrist are ten times its inertia; those of a shoulder are a part of it
        for k in (4, 5, 6):
            line = next(each for each in lines if f"'joint{k + 1}'" in each)
            added = float(line.split(' kg m^2 are added')[0].rsplit(' ', 1)[1])
            assert added == pytest.approx(ROTORS[k], rel=0.5), line
        assert 'fault' not in controller.output
        picture = tmp_path / 'loops.png'
        main(['check', str(ARM), '--live', '--poses', '10', '--plot', str(picture)])
        assert picture.stat().st_size > 10_000 and 'loop measured' in capsys.readouterr().out
