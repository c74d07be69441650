"""Scenarios of pose motions."""

import numpy as np
from scipy.spatial.transform import Rotation

from golden.scenario import go, point, rounded, Scenario
from golden.scenarios_laws import BEGIN, QUICK


def pose(robot, shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    """Return the arguments of a pose target beside the first pose, (m) and (rad)."""
    T = robot.pose()
    rotation = Rotation.from_rotvec(turn) * Rotation.from_matrix(T[:3, :3])
    quaternion = rotation.as_quat()
    return {'position': rounded(T[:3, 3] + shift),
            'quaternion': rounded(quaternion * np.sign(quaternion[3] or 1.0), 9)}


def _poses(robot, seconds, *requests, law='computed_torque', spells=(), **reach):
    return Scenario(seconds, (BEGIN, *requests), {
        'settings': {**QUICK, 'tracking': law, 'reach': {
            'velocity': [0.4, 2.0], 'acceleration': [3.0, 12.0], **reach}}}, {}, spells)


def pose_reached(robot):
    """Pose target reached; a second one replaced by a third on the way."""
    return _poses(robot, 2.2, (0.12, 'reach', pose(robot, (0.03, -0.02, 0.02), (0.1, 0.0, 0.1))),
                  (1.4, 'reach', pose(robot, (-0.02, 0.05, 0.0))),
                  (1.6, 'reach', pose(robot, (0.0, 0.03, -0.05), (0.0, 0.2, 0.0))),
                  law='operational_space', spells=((0.15, 2.2, 'rare', {'every': 6}),))


def pose_out_of_reach(robot):
    """Pose target out of reach: nudge, and stop without progress."""
    return _poses(robot, 3.2,
                  (0.12, 'reach', pose(robot, (0.0, 0.0, -1.0))),
                  spells=((0.15, 3.2, 'rare', {'every': 9}),), velocity=[1.5, 5.0],
                  leash=[0.3, 1.0])


def pose_interrupted(robot):
    """Pose motion from a trajectory and from floating; ended by trajectory, hold and floating."""
    return _poses(robot, 0.9,
                  (0.12, 'follow', {'points': [{**point(robot.away(0.2, 0.4), 0.4),
                                                'efforts': rounded(0.05 * robot.limit)}]}),
                  (0.25, 'reach', pose(robot, (0.05, 0.0, 0.0))),
                  (0.35, 'follow', go(robot.away(0.2, 0.4), 0.4)), (0.45, 'float', {}),
                  (0.5, 'reach', pose(robot, (0.0, 0.05, 0.0))), (0.6, 'hold', {}),
                  (0.75, 'reach', pose(robot, (0.0, 0.05, 0.0))), (0.8, 'float', {}),
                  spells=((0.3, 0.32, 'clock', {'ahead': -0.03}),))


def pose_refused(robot):
    """Invalid pose targets, and one while a fault is latched."""
    good = pose(robot, (0.02, 0.0, 0.0))
    return _poses(robot, 0.3,
                  (0.12, 'reach', {**good, 'quaternion': [0.0, 0.0, 0.0, 0.5]}),
                  (0.13, 'reach', {**good, 'position': [0.0, float('nan'), 0.0]}),
                  (0.14, 'reach', {**good, 'position': [0.0, 0.0]}),
                  (0.15, 'reach', good), (0.2, 'fail', {'fault': 'a cause'}),
                  (0.22, 'reach', good))
