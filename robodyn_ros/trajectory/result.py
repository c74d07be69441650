"""How the following of a trajectory stands, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from robodyn_ros.trajectory.reference import Reference


class ResultCode(IntEnum):
    """Result codes of control_msgs/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class Phase(IntEnum):
    """What a tracker is doing."""

    IDLE = 0
    TRACKING = 1
    SETTLING = 2
    SUCCEEDED = 3
    ABORTED = 4


@dataclass(slots=True, eq=False)
class TrackStatus:
    """
    Verdict of one cycle; the tracker reuses one object.

    Attributes
    ----------
    phase : Phase
        What the tracker is doing.
    code : ResultCode or None
        None until the trajectory has ended, one way or the other.
    message : str
        Why it ended; while settling, which goal tolerance is not met.
    elapsed : float
        Seconds since the start, as far as the reference has come.
    reference : Reference
        To be followed now. After an end it goes on as the trajectory has it;
        stopping is the caller's decision.
    error : numpy.ndarray
        (nv,) reference minus position, continuous joints the short way.

    """

    phase: Phase
    code: ResultCode | None
    message: str
    elapsed: float
    reference: Reference
    error: np.ndarray
