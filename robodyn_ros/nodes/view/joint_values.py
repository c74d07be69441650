"""Reader of JointState messages for visualization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

STATES = 8  # messages that can wait: some may be of other joints


class JointValues:
    """
    Position, velocity and effort of joints, as far as they are reported.

    Unlike for a controller, a message may lack joints, velocities or efforts.

    Parameters
    ----------
    joint_names : sequence of str
        Order of the values.
    position : (nv,) array
        Initial positions.

    Attributes
    ----------
    position, velocity, effort : (nv,) array
        Last values; velocity is 0 and effort NaN until they are reported.
    named : tuple of str
        Those of the joints that are in the last message.

    """

    def __init__(self, joint_names: Sequence[str], position: np.ndarray):
        self._column = {name: i for i, name in enumerate(joint_names)}
        self.position = np.array(position, dtype=float)
        self.velocity = np.zeros(len(joint_names))
        self.effort = np.full(len(joint_names), np.nan)
        self.named: tuple[str, ...] = ()

    def read(self, message: JointState) -> bool:
        """Read a message; return whether it has values of these joints."""
        pairs = [(k, self._column[name]) for k, name in enumerate(message.name)
                 if name in self._column]
        source, target = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        for values, into in ((message.position, self.position), (message.velocity, self.velocity),
                             (message.effort, self.effort)):
            if len(values) == len(message.name):
                numbers = np.asarray(values, dtype=float)[source]
                finite = np.isfinite(numbers)
                into[target[finite]] = numbers[finite]
        self.named = tuple(message.name[k] for k in source)
        return bool(pairs)
