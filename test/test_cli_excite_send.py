"""`robodyn excite --send`: a running controller makes the motion, or it is said why not."""
import pytest

pytest.importorskip('rclpy', reason='a controller needs ROS 2')
pytest.importorskip('rosbags', reason='bags need the extra `record`')

from controller_node import ARM, CONTROLLER, PATIENT, SIMULATOR  # noqa: E402
from robodyn_ros.cli.main import USER_MISTAKE  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

SHORT = ('--duration', '3', '--frequency', '0.4', '--seconds', '0', '--approach', '2',
         '--velocity', '0.2', '--send')


class Excite(NodeProcess):
    """The command with some options, ended at the end of the `with` block."""

    def __init__(self, *arguments):
        super().__init__('robodyn_ros.cli.main', arguments=arguments)

    def command_line(self, settings, arguments):
        """Return what comes after the module."""
        return ['excite', *arguments]


def test_a_motion_is_made_or_it_is_said_why_not(tmp_path):
    urdf = {'urdf_file': str(ARM)}
    # friction that the model does not have keeps the arm from its goal, for ever
    strict = {'friction_scale': 0.0, 'constraints.goal': [1e-7]}
    written = ('--output', str(tmp_path / 'excitation.yaml'))
    with NodeProcess(SIMULATOR, urdf), NodeProcess(
            CONTROLLER, {**urdf, **PATIENT, **strict}) as controller:
        controller.wait_for_output('active')
        with Excite(str(ARM), *SHORT, *written, '--bag', str(tmp_path / 'run')) as excite:
            assert excite.wait() == 0, excite.output
        assert "does not meet its goal tolerance: joint 'joint" in excite.output
        assert controller.said("the goal is not reached 1.0 s after the last point: joint 'joint")
        assert (tmp_path / 'run' / 'metadata.yaml').exists()
        # the arm stands where the motion begins, and rests there for longer than it may hesitate
        part = ('--bag', str(tmp_path / 'part'), '--approach', '4')
        with Probe() as probe, Excite(str(ARM), *SHORT, *written, *part) as excite:
            asked = probe.listen(JointState, 'computed_torque_controller/reference', qos.newest())
            probe.until(lambda: asked and max(map(abs, asked[-1].velocity)) > 0.05, 'a motion')
            assert probe.call(Trigger, 'computed_torque_controller/hold').success
            assert excite.wait() == USER_MISTAKE, excite.output
        assert (tmp_path / 'part' / 'metadata.yaml').exists()
        assert 'not made to its end; hold was asked for' in excite.output
        with Probe() as probe:
            assert probe.call(SetBool, 'robot_simulator/pause', data=True).success
            controller.wait_for_output('fault')
            assert probe.call(SetBool, 'robot_simulator/pause', data=False).success
        with Excite(str(ARM), *SHORT, *written) as excite:
            assert excite.wait() == USER_MISTAKE, excite.output
        assert 'reset_fault' in excite.output
