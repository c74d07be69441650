"""Send a motion to the controller that is running, and record it."""

from __future__ import annotations

from collections.abc import Callable
import math
import time
from types import TracebackType

import numpy as np

from robodyn_ros.control.settings import Mode
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.recorder import Recorder, Stream
from robodyn_ros.trajectory.tracker import REACHED

_HEARD = 20.0    # s until somebody must be heard
_BEGIN = 3.0     # s in which the motion must begin, or was refused
_STILL = 0.5     # s of rest that are recorded after it
_SILENT = 5.0    # s without a word of the controller after which it is given up
_TOLD = 5.0      # s in which the controller tells how it ended; it does so every second
_MOVES = 1e-4    # rad/s or m/s asked for by a controller that follows


class Sender:
    """
    A recorder beside a running controller, alive in a `with` block.

    Parameters
    ----------
    model : RobotModel
    everything : bool
        Whether to record all that belongs into a bag.
    tick : callable
        Called many times per second while waiting.

    Attributes
    ----------
    began : bool
        Whether the arm was set in motion.

    """

    def __init__(self, model: RobotModel, everything: bool, tick: Callable[[], None]):
        self._model = model
        self._recorder = Recorder(tick, everything)
        self.began = False
        self._count, self._heard, self._rested = 0, math.inf, math.inf

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._recorder.close()

    @property
    def recorded(self) -> list[Stream]:
        """All topics that were recorded."""
        return self._recorder.recorded

    def meet(self) -> None:
        """Wait for the arm and its controller; raise `StateError` if they are not there."""
        recorder = self._recorder
        if not recorder.wait(lambda: recorder.states and recorder.references, _HEARD):
            what = 'controller' if recorder.states else 'joint states'
            raise StateError(f'no {what} heard within {_HEARD:g} s: start it, on '
                             'this ROS_DOMAIN_ID')

    def make(self, points: tuple[np.ndarray, ...]) -> None:
        """
        Send points and wait until they are over, however slowly time passes for the arm.

        Raises
        ------
        StateError
            No joint states or no controller is heard, or it does not begin, or breaks off.

        """
        self.meet()
        recorder = self._recorder
        recorder.send(self._model.joint_names, *points)
        if not recorder.wait(self._moves, _BEGIN):
            raise StateError(f'the controller does not begin the motion; {self._reason()}')
        self.began, self._heard = True, time.monotonic()
        recorder.wait(self._is_over, math.inf)
        reason = self._reason()
        if reason != REACHED:
            raise StateError(f'the motion was not made to its end; {reason}')

    def _moves(self) -> bool:
        newest = self._recorder.references.newest(self._model.joint_names)
        return bool(np.abs(newest.velocity).max() > _MOVES)

    def _is_over(self) -> bool:
        """Return whether the reference has come to rest, or nothing is heard of it any more."""
        now, count = time.monotonic(), len(self._recorder.references)
        if count > self._count:
            self._count, self._heard = count, now
            self._rested = math.inf if self._moves() else min(self._rested, now)
        return now - self._rested > _STILL or now - self._heard > _SILENT

    def _reason(self) -> str:
        """Return what the controller tells of its last motion, or its fault."""
        told = self._recorder.diagnostics
        told.clear()

        def controller() -> dict[str, str]:
            return next((values for name, values in reversed(told)
                         if name.endswith('controller')), {})

        self._recorder.wait(lambda: controller().get('mode') not in (None, Mode.TRACK.value),
                            _TOLD)
        if fault := controller().get('fault'):
            return f'fault: {fault}; remove its cause and call the service ~/reset_fault'
        return controller().get('last motion') or 'the log of the controller says why'
