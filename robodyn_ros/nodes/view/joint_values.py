"""JointState messages of anybody, for those who only look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

STATES = 8  # messages that may wait: not all who publish joint states tell of the arm


class JointValues:
    """
    Position, velocity and effort of joints, as far as they have been told.

    Unlike what a controller reads, a message may lack joints, velocities or efforts.

    Parameters
    ----------
    joint_names : sequence of str
        Order of the values.
    position : (nv,) array
        Until a message tells.

    Attributes
    ----------
    position, velocity, effort : (nv,) array
        Velocity is 0 and effort NaN where it is not told.
    named : tuple of str
        The joints of the last message that are among them.

    """

    def __init__(self, joint_names: Sequence[str], position: np.ndarray):
        self._column = {name: i for i, name in enumerate(joint_names)}
        self.position = np.array(position, dtype=float)
        self.velocity = np.zeros(len(joint_names))
        self.effort = np.full(len(joint_names), np.nan)
        self.named: tuple[str, ...] = ()

    def read(self, message: JointState) -> bool:
        """Take a message; return whether it told anything of these joints."""
        pairs = [(k, self._column[name]) for k, name in enumerate(message.name)
                 if name in self._column]
        theirs, ours = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        for values, into in ((message.position, self.position), (message.velocity, self.velocity),
                             (message.effort, self.effort)):
            if len(values) == len(message.name):
                numbers = np.asarray(values, dtype=float)[theirs]
                good = np.isfinite(numbers)
                into[ours[good]] = numbers[good]
        self.named = tuple(message.name[k] for k in theirs)
        return bool(pairs)
