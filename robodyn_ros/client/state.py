"""State of an arm: joint states and reference of its controller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.nodes.cdr import JointStateSample


class State(NamedTuple):
    """
    Newest state of the arm; (nv,) arrays in the order of `Arm.joint_names`.

    Attributes
    ----------
    stamp : float
        Time of the measurement, in s of the clock of the stamps.
    q, qd, effort : (nv,) array
        Measured position, velocity and effort; NaN where it is not reported.
    reference : (nv,) array
        Position of the controller's reference.
    torque : (nv,) array
        Torque that the controller sent last.

    """

    stamp: float
    q: NDArray
    qd: NDArray
    effort: NDArray
    reference: NDArray
    torque: NDArray


def arranged_state(joint_names: Sequence[str], samples: Iterable[JointStateSample],
                   reference: JointStateSample) -> State:
    """Return the state of the joints, which may be spread over several joint states."""
    rows, stamp = np.full((3, len(joint_names)), np.nan), 0
    for sample in samples:
        column = {name: k for k, name in enumerate(sample.name)}
        own = [j for j, name in enumerate(joint_names) if name in column]
        if not own:  # of a gripper
            continue
        stamp, source = max(stamp, sample.stamp), [column[joint_names[j]] for j in own]
        for row, values in zip(rows, (sample.position, sample.velocity, sample.effort)):
            if len(values) == len(column):
                row[own] = values[source]
    return State(1e-9 * stamp, rows[0], rows[1], rows[2], reference.position.copy(),
                 reference.effort.copy())
