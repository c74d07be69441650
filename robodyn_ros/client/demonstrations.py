"""Demonstrations: recorded from the floating arm, and a gripper that follows their replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import signal
import time
from typing import Protocol

import numpy as np

from robodyn_ros.client.recorder import JointStream, PATH, Recorder, Stream
from robodyn_ros.control.mode import Mode
from robodyn_ros.exceptions import StateError
from robodyn_ros.teaching import Demonstration, TimedPath
from robodyn_ros.teaching.demonstration import LONGEST

_DISCOVERY = 20.0  # s until joint states and references must arrive
_SILENT = 2.0      # s without joint states that end the recording
# Ctrl-C, a request to end, and a closed terminal: the arm must not be left floating
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATH_TIMES = 5.0  # s until path times must arrive


class Lines(Protocol):
    """What the user enters: the lines since the last call, and whether there is no more input."""

    ended: bool

    def poll(self) -> list[str]:
        """Return the lines since the last call."""


class HandGuiding:
    """
    Recorder of an arm that floats.

    Parameters
    ----------
    gripper : str
        Topic of the joint states of a gripper; '' for none.
    tick : callable
        Called many times per second while waiting.
    tell : callable
        Called with a line for each waypoint.
    enclave : str
        SROS 2 enclave with the keys; '' for none.
    namespace : str
        Namespace of the arm and its controller.

    Attributes
    ----------
    joint_names : tuple of str
        Joints of the controller.

    """

    def __init__(self, gripper: str, tick: Callable[[], None], tell: Callable[[str], None],
                 enclave: str = '', namespace: str = ''):
        self._tell = tell
        self._recorder = Recorder(tick, enclave=enclave, namespace=namespace)
        self._gripper: JointStream | None = self._recorder.record(gripper) if gripper else None
        self.joint_names: tuple[str, ...] = ()
        self._marks: list[int] = []  # stamps in ns
        self._begun, self._count, self._received = False, 0, 0.0

    @property
    def recorded(self) -> Sequence[Stream]:
        """Return the recorded topics."""
        own = (self._recorder.states, self._recorder.references)
        return own if self._gripper is None else (*own, self._gripper)

    def close(self) -> None:
        """End ROS."""
        self._recorder.close()

    def wait_for_arm(self) -> None:
        """Wait for joint states, references and gripper; raise `StateError` without them."""
        recorder, gripper = self._recorder, self._gripper
        recorder.require_messages({
            'joint states': recorder.states, 'references of a controller': recorder.references,
            **({f'positions of the gripper on {gripper.topic}': gripper} if gripper is not None
               else {})},
            _DISCOVERY)
        self.joint_names = recorder.references.joint_names

    def record(self, keys: Lines, duration: float) -> None:
        """
        Let the arm float and record it until q is entered, then hold, also after an error.

        Parameters
        ----------
        keys : Lines
            Input of the user.
        duration : float
            Longest time, in s; without it the recording also ends with the input.

        Raises
        ------
        StateError
            The controller refuses, has a fault or no longer floats, or is silent.

        """
        recorder = self._recorder
        before = {number: signal.signal(number, signal.default_int_handler) for number in _SIGNALS}
        try:
            recorder.call('float')
            for stream in self.recorded:
                stream.messages.clear()
            recorder.diagnostics.clear()
            self._begun, self._count, self._received = True, 0, time.monotonic()
            recorder.wait(lambda: self._is_over(keys, duration), duration)
        finally:
            for number in _SIGNALS:  # the hold is requested in any case
                signal.signal(number, signal.SIG_IGN)
            try:
                recorder.call('hold')
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    def _is_over(self, keys: Lines, duration: float) -> bool:
        """Mark waypoints; return whether the user ends the recording; raise as `record`."""
        states, now = self._recorder.states, time.monotonic()
        if len(states) > self._count:
            self._count, self._received = len(states), now
        elif now - self._received > _SILENT:
            raise StateError(f'the joint states have stopped for {_SILENT:g} s: look at the '
                             'driver')
        _, *reported = [values for name, values in self._recorder.diagnostics
                        if name == f'{self._recorder.controller}: controller'] or [{}]
        values = reported[-1] if reported else {}  # the first one may be of the time before
        if fault := values.get('fault'):
            raise StateError(f'the controller has a fault: {fault}; remove its cause and call the '
                             'service ~/reset_fault')
        if (mode := values.get('mode', Mode.FLOAT.value)) != Mode.FLOAT.value:
            raise StateError(f'the arm no longer floats, its mode is {mode}: '
                             f'{values.get("last motion") or "another client has changed it"}')
        for line in keys.poll():
            if line.lower().startswith('q'):
                return True
            newest = states.newest(self.joint_names)
            if len(newest.stamp):
                self._marks.append(int(newest.stamp[0]))
                self._tell(f'waypoint {len(self._marks)}: ' + ' '.join(
                    f'{q:.3f}' for q in newest.position[0]))
        return keys.ended and duration == float('inf')

    def demonstration(self, rate: float) -> Demonstration | None:
        """Return what was recorded, at a rate in Hz; None if that are less than two states."""
        if not self._begun:
            return None
        log = self._recorder.states.log(self.joint_names)
        stamps, first = np.unique(log.stamp, return_index=True)
        if len(stamps):  # after a jump of the stamps
            recent = stamps >= stamps[-1] - round(1e9 * LONGEST)
            stamps, first = stamps[recent], first[recent]
        if len(stamps) < 2:
            return None
        times = 1e-9 * (stamps - stamps[0])
        grid = np.arange(0.0, times[-1], 1.0 / rate)
        if len(grid) < 2:
            grid = times[[0, -1]]
        positions = log.position[first]
        marks = 1e-9 * (np.array(self._marks, dtype=np.int64) - stamps[0])
        rows = np.column_stack([np.interp(grid, times, each) for each in positions.T])
        return Demonstration(self.joint_names, grid, rows, np.clip(marks, 0.0, grid[-1]),
                             *self._gripper_rows(stamps[0], grid))

    def _gripper_rows(self, begin: int, grid: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        """Return names and positions of the gripper, at times in s after a stamp in ns."""
        if self._gripper is None or not len(self._gripper):
            return (), np.zeros(0)
        names = self._gripper.joint_names
        log = self._gripper.log(names)
        times = 1e-9 * (log.stamp - begin)
        return names, np.column_stack([np.interp(grid, times, each) for each in log.position.T])


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
        if not recorder.wait(lambda: len(stream), _PATH_TIMES):
            raise StateError(f'no path time received within {_PATH_TIMES:g} s on {stream.topic}, '
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
