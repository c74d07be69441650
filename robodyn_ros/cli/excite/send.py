"""Send a motion to the controller that is running, and record it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import numpy as np

from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.recorder import Recorder, Stream

_HEARD = 20.0    # s until somebody must be heard
_BEGIN = 3.0     # s in which the motion must begin, or was refused
_STILL = 0.5     # s of rest that are recorded after it
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

    """

    def __init__(self, model: RobotModel, everything: bool, tick: Callable[[], None]):
        self._model = model
        self._recorder = Recorder(tick, everything)

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._recorder.close()

    @property
    def recorded(self) -> list[Stream]:
        """All topics that were recorded."""
        return self._recorder.recorded

    def make(self, points: tuple[np.ndarray, ...]) -> None:
        """
        Send points and wait until they are over.

        Raises
        ------
        StateError
            No joint states or no controller is heard, or it does not begin.

        """
        recorder = self._recorder
        if not recorder.wait(lambda: recorder.states and recorder.references, _HEARD):
            what = 'controller' if recorder.states else 'joint states'
            raise StateError(f'no {what} heard within {_HEARD:g} s: start it, on '
                             'this ROS_DOMAIN_ID')
        recorder.send(self._model.joint_names, *points)
        if not recorder.wait(self._moves, _BEGIN):
            raise StateError('the controller does not begin the motion; its log says why')
        recorder.wait(timeout=float(points[0][-1]) + _STILL)

    def _moves(self) -> bool:
        newest = self._recorder.references.newest(self._model.joint_names)
        return bool(np.abs(newest.velocity).max() > _MOVES)
