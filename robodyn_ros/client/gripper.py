"""A gripper that follows the replay of a demonstration."""

from __future__ import annotations

import numpy as np

from robodyn_ros.client.recorder import JointStream, PATH, Recorder
from robodyn_ros.exceptions import StateError
from robodyn_ros.teaching import Demonstration, TimedPath

_DISCOVERY = 5.0  # s until path times must arrive


class Gripper:
    """
    Publisher of the positions of a gripper, at their places on the path that the arm replays.

    Parameters
    ----------
    topic : str
        Topic of JointState messages; '' for none.
    demonstration : Demonstration
        Recorded positions of the gripper.
    timed : TimedPath
        Replayed path.
    lead : float
        Time from the begin of the trajectory to that of the path, in s.

    """

    def __init__(self, topic: str, demonstration: Demonstration, timed: TimedPath,
                 lead: float):
        self._topic = topic if demonstration.gripper_names else ''
        self._demonstration, self._timed, self._lead = demonstration, timed, lead
        self._path_times: JointStream | None = None
        self._before: float | None = None  # number of the trajectory before the replay

    def connect(self, recorder: Recorder) -> None:
        """Wait for path times; raise `StateError` without them."""
        if not self._topic:
            return
        self._recorder, stream = recorder, recorder.record_path_time()
        if not recorder.wait(lambda: len(stream), _DISCOVERY):
            raise StateError(f'no path time received within {_DISCOVERY:g} s on {stream.topic}, '
                             'which the gripper follows: use a controller of this version')
        self._path_times = stream

    def begin(self) -> None:
        """Publish from the beginning of the next trajectory on."""
        if self._path_times is not None:
            self._before = float(self._path_times.newest(PATH).effort[-1, 0])

    def update(self) -> None:
        """Publish the present position; called many times per second."""
        if self._path_times is None or self._before is None:
            return
        newest = self._path_times.newest(PATH)
        del self._path_times.messages[:-1]
        if newest.effort[-1, 0] == self._before:
            return
        now = np.interp(newest.position[-1, 0] - self._lead, self._timed.times,
                        self._timed.recorded)
        self._recorder.publish_joints(
            self._topic, self._demonstration.gripper_names,
            [np.interp(now, self._demonstration.times, each)
             for each in self._demonstration.gripper.T])
