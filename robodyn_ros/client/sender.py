"""Execution of a motion by the running controller, with recording."""

from __future__ import annotations

from collections.abc import Callable
import math
import time
from types import TracebackType

import numpy as np

from robodyn_ros.client.recorder import Recorder, Stream
from robodyn_ros.control.mode import Mode
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.controller.report import loop_lines, measures_loop
from robodyn_ros.trajectory import ResultCode

_DISCOVERY = 20.0   # s until joint states and references must arrive
_BEGIN = 6.0        # s until the motion must begin
_ANSWER = 2.5       # s until diagnostics show that a motion has arrived
_STILL = 0.5        # s of rest recorded after the motion
_SILENT = 5.0       # s without references after which the execution has failed
_DIAGNOSTICS = 5.0  # s to wait for diagnostics, which are published every second
_MEASURED = 20.0    # s to wait for the measurement of the loop
_MOVES = 1e-4       # rad/s or m/s above which the reference moves
# in diagnostics
_ACCEPTED, _REFUSED = 'trajectories accepted', 'trajectories refused'
_UNMET, _LAST = 'unmet goal tolerance', 'last motion'
# results of a trajectory whose reference has reached its last point
_COMPLETE = (ResultCode.SUCCESSFUL.name, ResultCode.GOAL_TOLERANCE_VIOLATED.name)


class Sender:
    """
    A recorder that sends a motion to the running controller; used in a `with` block.

    Parameters
    ----------
    model : RobotModel
    everything : bool
        Whether to record all topics of a bag.
    tick : callable
        Called many times per second while waiting.
    enclave : str
        SROS 2 enclave with the keys; '' for none.
    namespace : str
        Namespace of the arm and its controller.

    Attributes
    ----------
    recorder : Recorder
    moved : bool
        Whether the reference has moved.

    """

    def __init__(self, model: RobotModel, everything: bool, tick: Callable[[], None],
                 enclave: str = '', namespace: str = ''):
        self._model = model
        self.recorder = Recorder(tick, everything, enclave, namespace)
        # of the time before the motion, from diagnostics
        self._accepted: str | None = None  # numbers of motions accepted,
        self._refused: str | None = None  # and refused
        self._points: tuple[np.ndarray, ...] = ()
        self._last: str | None = None     # end of the motion before
        self.restart()

    def restart(self) -> None:
        """Discard all that was recorded, before another motion."""
        for stream in self.recorder.recorded:
            stream.messages.clear()
        self.moved = False
        self._count, self._received, self._rested, self._sent = 0, math.inf, math.inf, math.inf
        self._end, self._repeated = 0, math.inf

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.recorder.close()

    @property
    def recorded(self) -> list[Stream]:
        """All topics that were recorded."""
        return self.recorder.recorded

    def wait_for_controller(self) -> None:
        """Wait for joint states and references; raise `StateError` if there are none."""
        self.recorder.require_messages({
            'joint states': self.recorder.states,
            'references of a controller': self.recorder.references}, _DISCOVERY)

    def wait_for_loop(self) -> None:
        """Wait until the controller has measured the loop, or cannot."""
        self.recorder.diagnostics.clear()
        self.recorder.wait(lambda: not measures_loop(self._newest()), _MEASURED)

    def loop(self) -> list[str]:
        """Return what the controller found when it measured the loop, as lines."""
        return loop_lines(self._wait_for_diagnostics())

    def execute(self, points: tuple[np.ndarray, ...]) -> str:
        """
        Send points and wait until the motion is over; the clock of the arm may run slowly.

        After Ctrl-C the arm holds where it is.

        Returns
        -------
        shortfall : str
            Goal tolerance that the arm does not meet at the last point, '' if it does.

        Raises
        ------
        StateError
            No joint states or references arrive, or the motion does not begin, or is interrupted.

        """
        self.wait_for_controller()
        before = self._wait_for_diagnostics()
        self._accepted, self._refused = before.get(_ACCEPTED), before.get(_REFUSED)
        self._last = before.get(_LAST)
        newest = self.recorder.references.newest(self._model.joint_names)
        self._end = int(newest.stamp[0] + 1e9 * points[0][-1])
        self._points = points
        self.recorder.send_motion(self._model.joint_names, *points)
        self._sent = self._received = self._repeated = time.monotonic()
        try:
            self.recorder.wait(self._is_over, math.inf)
        except KeyboardInterrupt:  # the controller would go on
            self.recorder.call('hold')
            raise
        if not self.moved:
            raise StateError(f'the controller does not begin the motion; {self._refusal()}')
        return _shortfall(self._wait_for_diagnostics())

    def _is_over(self) -> bool:
        """Return whether the reference has come to rest, does not move, or no longer arrives."""
        now, count = time.monotonic(), len(self.recorder.references)
        if count > self._count:
            # a motion that was ended at once may lie between two polls
            unseen = 1 if self.moved else count - self._count
            self._count, self._received = count, now
            newest = self.recorder.references.newest(self._model.joint_names, unseen)
            speeds = np.abs(newest.velocity).max(axis=1)
            moves = bool(speeds[-1] > _MOVES)
            if not self.moved and speeds.max() > _MOVES:
                self.moved = True
                self.recorder.diagnostics.clear()  # of the time before
            values = self._newest()
            tracks = values.get('mode', Mode.TRACK.value) == Mode.TRACK.value
            # a motion may rest on its way, and be paused there
            paused = values.get('speed along the path', '').startswith('0 %')
            over = not tracks or newest.stamp[-1] >= self._end and not paused
            self._rested = (min(self._rested, now) if self.moved and over and not moves
                            else math.inf)
        return (now - self._rested > _STILL or now - self._received > _SILENT
                or not self.moved and self._is_refused(now))

    def _is_refused(self, now: float) -> bool:
        """Return whether the motion was refused, or has not begun in time."""
        values = self._newest()
        # a controller that has not discovered this node yet, while it was discovered, gets nothing
        if (_ACCEPTED in values and values[_ACCEPTED] == self._accepted
                and values.get(_REFUSED) == self._refused and now - self._repeated > _ANSWER):
            self.recorder.send_motion(self._model.joint_names, *self._points)
            self._repeated = now
        # at the first point already, the arm rests during the approach
        waits = values.get('mode') == Mode.TRACK.value and not values.get(_UNMET)
        return values.get(_REFUSED) != self._refused or now - self._sent > _BEGIN and not waits

    def _refusal(self) -> str:
        """Return why a motion was refused, or ended before the arm moved."""
        values = self._wait_for_diagnostics()
        reason = values.get('fault', '')
        if values.get(_REFUSED) != self._refused:
            reason = values.get('last refusal', '')
        elif not reason and values.get(_LAST) != self._last:
            reason = values.get(_LAST, '')
        return reason or 'see its log'

    def _wait_for_diagnostics(self) -> dict[str, str]:
        """Return the next diagnostics of the controller; empty if none arrive."""
        self.recorder.diagnostics.clear()
        self.recorder.wait(lambda: bool(self._newest()), _DIAGNOSTICS)
        return self._newest()

    def _newest(self) -> dict[str, str]:
        """Return the newest diagnostics of the controller."""
        return next((values for name, values in reversed(self.recorder.diagnostics)
                     if name == f'{self.recorder.controller}: controller'), {})


def _shortfall(values: dict[str, str]) -> str:
    """Return the goal tolerance that is not met; raise if the motion is not complete."""
    end = values.get(_LAST) or 'see the log of the controller'
    if fault := values.get('fault'):
        end = f'fault: {fault}; remove its cause and call the service ~/reset_fault'
    unmet, result = values.get(_UNMET, ''), values.get('last result')
    if fault or not (unmet or result in _COMPLETE):
        raise StateError(f'the motion is not complete; {end}')
    return '' if result == ResultCode.SUCCESSFUL.name else unmet or end
