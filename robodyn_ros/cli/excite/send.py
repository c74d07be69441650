"""Send a motion to the controller that is running, and record it."""

from __future__ import annotations

from collections.abc import Callable
import math
import time
from types import TracebackType

import numpy as np

from robodyn_ros.control.mode import Mode
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.recorder import Recorder, Stream
from robodyn_ros.trajectory import ResultCode

_HEARD = 20.0    # s until somebody must be heard
_BEGIN = 3.0     # s in which the motion must begin
_STILL = 0.5     # s of rest that are recorded after it
_SILENT = 5.0    # s without a word of the controller after which it is given up
_TOLD = 5.0      # s in which the controller publishes diagnostics; it does so every second
_MOVES = 1e-4    # rad/s or m/s asked for by a controller that follows
_REFUSED, _UNMET = 'trajectories refused', 'unmet goal tolerance'  # in diagnostics
# results of a trajectory whose reference has come to its last point
_MADE = (ResultCode.SUCCESSFUL.name, ResultCode.GOAL_TOLERANCE_VIOLATED.name)


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
    enclave : str
        Of SROS 2, whose keys to use; '' for none.

    Attributes
    ----------
    began : bool
        Whether the arm was set in motion.

    """

    def __init__(self, model: RobotModel, everything: bool, tick: Callable[[], None],
                 enclave: str = ''):
        self._model = model
        self._recorder = Recorder(tick, everything, enclave)
        self.began = False
        self._count, self._heard, self._rested, self._sent = 0, math.inf, math.inf, math.inf
        self._refused: str | None = None  # number of refusals before, from diagnostics

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

    def make(self, points: tuple[np.ndarray, ...]) -> str:
        """
        Send points and wait until they are over, however slowly time passes for the arm.

        Returns
        -------
        shortfall : str
            Goal tolerance that the arm does not meet at the last point, '' if it does.

        Raises
        ------
        StateError
            No joint states or no controller is heard, or it does not begin, or breaks off.

        """
        self.meet()
        self._refused = self._fresh().get(_REFUSED)
        self._recorder.send(self._model.joint_names, *points)
        self._sent = self._heard = time.monotonic()
        self._recorder.wait(self._is_over, math.inf)
        if not self.began:
            raise StateError(f'the controller does not begin the motion; {self._refusal()}')
        return _shortfall(self._fresh())

    def _is_over(self) -> bool:
        """Return whether the reference has come to rest, does not move, or is silent."""
        now, count = time.monotonic(), len(self._recorder.references)
        if count > self._count:
            self._count, self._heard = count, now
            newest = self._recorder.references.newest(self._model.joint_names)
            moves = bool(np.abs(newest.velocity).max() > _MOVES)
            self.began |= moves
            self._rested = min(self._rested, now) if self.began and not moves else math.inf
        return (now - self._rested > _STILL or now - self._heard > _SILENT
                or not self.began and self._is_refused(now))

    def _is_refused(self, now: float) -> bool:
        """Return whether the motion was refused, or is not about to begin."""
        values = self._newest()
        # an arm that stands where the motion begins is at rest during the approach
        waits = values.get('mode') == Mode.TRACK.value and not values.get(_UNMET)
        return values.get(_REFUSED) != self._refused or now - self._sent > _BEGIN and not waits

    def _refusal(self) -> str:
        """Return why the controller refused the trajectory."""
        values = self._fresh()
        return (values.get('last refusal', '') if values.get(_REFUSED) != self._refused else ''
                ) or 'its log may say why'

    def _fresh(self) -> dict[str, str]:
        """Return values that the controller publishes from now on; empty if it does not."""
        self._recorder.diagnostics.clear()
        self._recorder.wait(lambda: bool(self._newest()), _TOLD)
        return self._newest()

    def _newest(self) -> dict[str, str]:
        """Return the last values that the controller has published."""
        return next((values for name, values in reversed(self._recorder.diagnostics)
                     if name.endswith('controller')), {})


def _shortfall(values: dict[str, str]) -> str:
    """Return which goal tolerance is not met; raise if the motion was not made to its end."""
    end = values.get('last motion') or 'the log of the controller says why'
    if fault := values.get('fault'):
        end = f'fault: {fault}; remove its cause and call the service ~/reset_fault'
    unmet, result = values.get(_UNMET, ''), values.get('last result')
    if fault or not (unmet or result in _MADE):
        raise StateError(f'the motion was not made to its end; {end}')
    return '' if result == ResultCode.SUCCESSFUL.name else unmet or end
