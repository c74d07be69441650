"""What the controller node logs about its motions, and at which level."""

from closed_loop import arm, BENT
import pytest

pytest.importorskip('rclpy', reason='the log is that of a node')

from design import settings_of  # noqa: E402
from robodyn_ros.control.settings import Constraints  # noqa: E402
from robodyn_ros.nodes.controller.report import ControllerReport  # noqa: E402
from ros_process import Probe  # noqa: E402


@pytest.fixture(scope='module')
def node():
    with Probe('report_probe') as probe:
        yield probe.node


class Desk:
    """An arm with friction that is unknown to its controller, and the log."""

    def __init__(self, node, capfd, **tolerances):
        settings = settings_of(constraints=Constraints(**tolerances))
        self.loop = arm(settings=settings, friction=True, gains={'friction_scale': 0.0})
        # the rest of the node is visible in its diagnostics only
        self.report = ControllerReport(node, self.loop.control, *[None] * 6)
        self._capfd = capfd
        self.run(0.7)

    def run(self, seconds, cycle=None):
        for _ in range(round(seconds / 0.01)):
            for _ in range(10):
                (cycle or self.loop.cycle)()
            self.report.log_changes()
            self.report.log_warnings()

    def logged(self):
        """Return level and text of the lines since the last call."""
        lines = [line for line in self._capfd.readouterr().err.splitlines() if ': ' in line]
        return [(line.split(']', 1)[0].strip('['), line.split(': ', 1)[1]) for line in lines]


@pytest.fixture
def desk(node, capfd):
    made = Desk(node, capfd, goal=1e-5)
    yield made
    made.report.destroy()


def test_a_goal_tolerance_that_is_never_met_is_a_warning_with_joint_and_numbers(desk):
    desk.loop.follow(BENT + 0.1, 0.5)
    desk.run(1.4)
    assert not desk.logged()
    desk.run(1.0)
    (level, text), = desk.logged()
    assert level == 'WARN'
    assert text.startswith("the goal is not reached 1.0 s after the last point: joint 'joint")
    assert 'position misses its reference by' in text and 'tolerance 1e-05' in text
    assert 'constraints.goal_time' in text
    desk.loop.follow(BENT, 0.5)
    desk.run(2.0)
    (_, text), = desk.logged()
    assert text.startswith('the goal is not reached')


@pytest.mark.parametrize('tolerances, words', [
    ({'trajectory': 1e-4}, 'after the start'),
    ({'goal': 1e-5, 'goal_time': 0.1}, 'after the last point, goal_time 0.1')])
def test_a_motion_that_violates_its_tolerance_is_a_warning(node, capfd, tolerances, words):
    desk = Desk(node, capfd, **tolerances)
    desk.loop.follow(BENT + 0.1, 0.5)
    desk.run(1.0)
    (level, text), = desk.logged()
    assert level == 'WARN' and text.startswith("motion aborted: joint 'joint") and words in text
    desk.report.destroy()


def test_silence_is_a_warning(desk):
    desk.loop.follow(BENT + 0.2, 1.0)
    desk.run(0.5)
    desk.run(0.1, desk.loop.silence)
    assert desk.logged() == [('WARN', 'motion aborted: the joint states are silent')]
    loop = desk.loop
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    loop.follow(BENT, 1.0)
    desk.run(0.5)
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    desk.run(0.1)
    assert desk.logged() == [
        ('WARN', 'motion aborted: the motion is given up after a gap of states or torques')]


def test_a_requested_end_is_no_warning(desk):
    desk.loop.follow(BENT + 0.2, 1.0)
    desk.run(0.5)
    desk.loop.control.requests.hold()
    desk.run(0.5)
    assert desk.logged() == [('INFO', 'hold was requested')]
    desk.loop.control.requests.fail('broken')
    desk.run(0.1)
    assert desk.logged() == [('ERROR', 'fault: broken')]


def test_a_velocity_that_is_only_late_is_not_called_a_ratio_of_one(desk, monkeypatch):
    for name, found in (('unreported_velocities', ['joint1']),
                        ('contradicted_velocities', {'joint2': 0.5, 'joint7': 1.002})):
        monkeypatch.setattr(type(desk.loop.control.status), name, found)
    desk.run(0.02)
    (level, text), = desk.logged()
    assert level == 'WARN' and text.startswith(
        'velocity of joint1 (zero, NaN or not reported), joint2 (0.50 times the change of '
        'position), joint7 (late: filtered, or out of step with the position): estimated')
