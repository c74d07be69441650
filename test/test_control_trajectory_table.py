"""Trajectories that replace each other while a loop elsewhere runs the cycle."""

from closed_loop import arm, BENT
import numpy as np
import pytest
from robodyn_ros.trajectory import TrajectoryPoint

LEAD = 0.02  # s from a request to the begin of a motion


def plan(loop, goal, lead=LEAD):
    """Plan a motion that begins in a moment; return its start and the trajectory."""
    control, zero = loop.control, np.zeros(7)
    start = control.motions.start_state(lead)
    return start, control.motions.plan(start, loop.plant.model.joint_names,
                                       [TrajectoryPoint(goal, zero, zero, (), 1.0)])


def reference_steps(loop, since):
    """Return the largest change of the reference from one cycle to the next."""
    return np.abs(np.diff(loop.column(3)[since:], axis=0)).max()


@pytest.mark.parametrize('moving', [True, False])
def test_a_trajectory_that_began_while_another_replaced_it_is_followed_until_then(moving):
    """The native loop began it after Python had read the memory, before it wrote the program."""
    loop = arm()
    loop.run(0.5)
    if moving:
        loop.follow(BENT + 0.4, 1.0)
        loop.run(0.5)
    memory = loop.control.host.bound.memory
    assert loop.control.motions.begin(*plan(loop, BENT - 0.2))
    loop.run(LEAD - 1e-3)
    before = memory.copy()
    replacing = plan(loop, BENT + 0.1)
    loop.run(6e-3)  # now it has begun
    ahead, number = memory.copy(), float(loop.control.host.memory.motion.path.number)
    memory[:] = before
    assert loop.control.motions.begin(*replacing)
    memory[:] = ahead
    since = len(loop.log) - 1
    loop.run(0.5 * LEAD)
    assert loop.control.host.memory.motion.path.number == number
    assert loop.control.status.trajectory[0] is not None
    assert loop.control.motions.begin(*plan(loop, BENT + 0.2))
    loop.run(1.5)
    assert reference_steps(loop, since) < 2e-3
    np.testing.assert_allclose(loop.log[-1][3], BENT + 0.2, atol=1e-9)
