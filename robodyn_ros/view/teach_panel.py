"""Buttons to record the arm while it is guided by hand, and to replay the recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.teaching import JointLimits, recorded_timing
from robodyn_ros.view.feasibility import move_duration
from robodyn_ros.view.page_commands import CallService, Follow, PageCommand
from robodyn_ros.view.snapshot import Snapshot

if TYPE_CHECKING:
    import viser

_VELOCITY, _TORQUE, _ACCELERATION = 0.9, 0.8, 10.0  # of the limits; rad/s^2 or m/s^2
_APPROACH = 0.1  # of the velocity limits, on the way to the start
_LEAST = 0.5     # s, shortest recording


class TeachPanel:
    """
    Records positions of the page's snapshots between two clicks.

    Parameters
    ----------
    gui : GuiApi
        Where to add the buttons.
    dynamics : Dynamics
        Dynamics of the arm.
    send : callable
        Called with each command.
    notify : callable
        Called with title, text and whether it is good news.

    Attributes
    ----------
    records : bool
        Whether a recording is under way.

    """

    def __init__(self, gui: viser.GuiApi, dynamics: Dynamics, send: Callable[[PageCommand], None],
                 notify: Callable[[str, str, bool], None]):
        self._dynamics, self._send, self._notify = dynamics, send, notify
        self.records = False
        self._rows: list[tuple[float, np.ndarray]] = []
        self._snapshot: Snapshot | None = None
        with gui.add_folder('Teach'):
            for label, act in (('Record by hand', self._record), ('End recording', self.end),
                               ('Replay', self._replay)):
                gui.add_button(label).on_click(lambda _, act=act: act())

    def add(self, snapshot: Snapshot) -> None:
        """Add a state to the recording that is under way."""
        self._snapshot = snapshot
        if self.records and (not self._rows or snapshot.time > self._rows[-1][0]):
            self._rows.append((snapshot.time, snapshot.q.copy()))

    def end(self) -> None:
        """End the recording; the arm holds."""
        if self.records:
            self.records = False
            self._send(CallService('hold'))
            self._notify('Teach', f'{self._seconds:.1f} s recorded', True)

    @property
    def _seconds(self) -> float:
        return self._rows[-1][0] - self._rows[0][0] if self._rows else 0.0

    def _record(self) -> None:
        self._rows, self.records = [], True
        self._send(CallService('float'))

    def _replay(self) -> None:
        if self.records or self._seconds < _LEAST or self._snapshot is None:
            self._notify('Teach', 'Record a motion first, and end the recording.', False)
            return
        try:
            self._send(self._planned(self._snapshot))
        except RobodynError as error:
            self._notify('Teach', str(error), False)

    def _planned(self, snapshot: Snapshot) -> Follow:
        """Return the approach and the recorded motion as one trajectory."""
        model = self._dynamics.model
        times = np.array([time for time, _ in self._rows])
        rows = np.clip([q for _, q in self._rows], model.lower, model.upper)
        limits = JointLimits(
            _VELOCITY * model.velocity_limit, np.full(model.nv, _ACCELERATION),
            _TORQUE * model.effort_limit, model.damping, model.friction, np.zeros(model.nv))
        timed = recorded_timing(times - times[0], rows, self._dynamics, limits)
        here = snapshot.q if snapshot.reference is None else snapshot.reference
        lead = move_duration(model, timed.positions[0] - here, _APPROACH)
        assert timed.accelerations is not None
        return Follow(tuple(model.joint_names), lead + timed.times, timed.positions,
                      timed.velocities, timed.accelerations)
