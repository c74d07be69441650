"""Ranges of joints for the motions of a command, and the description of a motion."""

import numpy as np
import pytest

from robodyn_ros.commissioning.ranges import check_present, described, restricted
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.share import share_path

MODEL = RobotModel.from_urdf(share_path('urdf', 'robodyn6.urdf'))


def test_limits_are_those_in_common():
    model = restricted(MODEL, ['joint2:-0.5:0.25', 'joint1:-100:1'])
    assert (model.lower[1], model.upper[1]) == (-0.5, 0.25)
    assert (model.lower[0], model.upper[0]) == (MODEL.lower[0], 1.0)
    np.testing.assert_array_equal(model.upper[2:], MODEL.upper[2:])
    np.testing.assert_array_equal(restricted(MODEL, []).lower, MODEL.lower)


@pytest.mark.parametrize('entry, reason', [
    ('joint9:0:1', "no moving joint 'joint9'"), ('joint1:0', 'joint:lower:upper'),
    ('joint1:1:0', 'lower < upper'), ('joint1:a:b', 'joint:lower:upper'), (':0:1', 'joint:lower'),
    ('joint1:nan:1', 'lower < upper'), ('joint1:50:60', 'position limits from -3 to 3')])
def test_bad_ranges_are_refused(entry, reason):
    with pytest.raises(ParameterError, match=reason):
        restricted(MODEL, [entry])


def test_an_arm_beyond_its_range_is_named():
    ranges, q = ['joint2:-0.5:0.25'], np.zeros(6)
    q[0] = 1.1 * MODEL.upper[0]  # the controller recovers from beyond the limits of the URDF
    check_present(MODEL, ranges, q)
    q[1] = 0.26  # within the slack of a resting arm
    check_present(MODEL, ranges, q)
    q[1] = 0.4
    with pytest.raises(StateError, match="'joint2' is at 0.4, outside its range from -0.5 to"):
        check_present(MODEL, ranges, q)


def test_a_motion_is_described_by_its_joints_and_the_heights_of_the_links():
    dynamics, times = Dynamics(MODEL), np.array([0.0, 2.0])
    q = np.zeros((2, 6))
    q[1, 1] = 1.2
    lines = described(dynamics, (times, q, np.zeros((2, 6)), np.zeros((2, 6))))
    row = next(line.split() for line in lines if line.startswith('joint2'))
    assert float(row[1]) == 0.0 and float(row[2]) == pytest.approx(1.2, abs=0.01)
    assert float(row[3]) == pytest.approx(1.2 * 1.875 / 2.0, rel=0.02)  # peak of a quintic
    between = np.linspace(q[0], q[1], 200)
    heights = [dynamics.forward_kinematics(between, link)[:, 2, 3]
               for link, frame in MODEL.links.items() if frame.body >= 0]
    assert f'from {np.min(heights):.2f} m' in lines[-1]
    assert f'to {np.max(heights):.2f} m' in lines[-1]
