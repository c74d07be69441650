"""Buttons and sliders for the client that may send commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError, sentence
from robodyn_ros.model import RobotModel
from robodyn_ros.teaching import JointLimits, recorded_timing
from robodyn_ros.view.feasibility import check_payload, move_duration, plan_move
from robodyn_ros.view.snapshot import (
    CallService, Follow, PageCommand, Pause, Reset, SetPayload, Snapshot, Step)
from robodyn_ros.view.throttle import Throttle

if TYPE_CHECKING:
    import viser

_VELOCITY, _TORQUE, _ACCELERATION = 0.9, 0.8, 10.0  # of the limits; rad/s^2 or m/s^2
_APPROACH = 0.1  # of the velocity limits, on the way to the start
_LEAST = 0.5     # s, shortest recording
MAX_PAYLOAD = 5.0    # kg, end of the slider
_FREE = np.pi        # rad or m; range of the slider to each side if its joint has no limits
_MOVED = 1e-3        # rad or m; smallest change of a slider
_NOTIFY = 2.0        # s between two notifications about an excessive payload
# the one that must be found at once is the first, and the only one of its colour
_SERVICES = (('Stop', 'stop', 'red'), ('Hold', 'hold', 'gray'), ('Float', 'float', 'gray'),
             ('Pause motion', 'pause', 'gray'), ('Resume motion', 'resume', 'gray'),
             ('Reset fault', 'reset_fault', 'gray'))


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


class Controls:
    """
    Panel of one client.

    Parameters
    ----------
    client : ClientHandle
        Client that may send commands.
    dynamics : Dynamics
    poses : mapping of str to (nv,) array
        Poses of the menu.
    send : callable
        Called with each command.
    snapshot : Snapshot
        Present state.
    payload : SetPayload
        Present payload and its link.

    Attributes
    ----------
    payload : SetPayload
        Last requested payload.
    teaching : TeachPanel
        Recording by hand.

    """

    def __init__(self, client: viser.ClientHandle, dynamics: Dynamics,
                 poses: Mapping[str, np.ndarray], send: Callable[[PageCommand], None],
                 snapshot: Snapshot, payload: SetPayload):
        self._client, self._gui, self._dynamics = client, client.gui, dynamics
        self._poses, self._send = poses, send
        self._snapshot, self.payload = snapshot, payload
        self._lock, self._throttle = threading.Lock(), Throttle(_NOTIFY)
        self._goal: np.ndarray | None = None
        panel = self._gui.add_panel()
        with panel.add_tab('Control'):
            self._add_services()
            self._add_simulator()
            self._add_payload()
            self.teaching = TeachPanel(self._gui, dynamics, send, self.notify)
            self._add_motion()
        panel.dock_left()
        panel.set_width(340)

    @property
    def client_id(self) -> int:
        """Id of the client."""
        return self._client.client_id

    @property
    def goal(self) -> np.ndarray | None:
        """Goal of the next motion, (nv,); None if none is chosen."""
        return self._goal

    def show(self, snapshot: Snapshot) -> None:
        """Show the state of the arm."""
        self._snapshot = snapshot
        self._simulator.visible = self._payload_folder.visible = snapshot.simulated
        with self._lock:
            if self._goal is None:
                self._set_sliders(_reference(snapshot))

    def notify(self, title: str, text: str, good: bool) -> None:
        """Show a notification for some seconds."""
        self._client.add_notification(title, text, color='teal' if good else 'red',
                                      auto_close_seconds=4.0 if good else 15.0)

    def _add_services(self) -> None:
        for label, service, color in _SERVICES:
            button = self._gui.add_button(label, color=color)
            button.on_click(lambda _, service=service: self._send(CallService(service)))

    def _add_simulator(self) -> None:
        gui = self._gui
        self._simulator = gui.add_folder('Simulator', visible=self._snapshot.simulated)
        with self._simulator:
            gui.add_markdown('Drag a link with the mouse to apply a force.')
            pause = gui.add_button_group('time', ('pause', 'step', 'run'))
            page_commands: dict[str, PageCommand] = {
                'pause': Pause(True), 'step': Step(), 'run': Pause(False)}
            pause.on_click(lambda _: self._send(page_commands[pause.value]))
            gui.add_button('Reset the arm', color='gray').on_click(
                lambda _: self._send(Reset()))

    def _add_payload(self) -> None:
        gui, now = self._gui, self.payload
        self._payload_folder = gui.add_folder('Payload', visible=self._snapshot.simulated)
        with self._payload_folder:
            mass = gui.add_slider('kg', 0.0, MAX_PAYLOAD, 0.1, now.mass,
                                  hint=f'A point mass at the origin of {now.link}.')
            reported = gui.add_checkbox('report to controller', now.reported)
        for each in (mass, reported):
            each.on_update(lambda _: self._set_payload(mass.value, reported.value))

    def _set_payload(self, mass: float, reported: bool) -> None:
        tip = self.payload.link
        mass = float(np.clip(np.nan_to_num(mass), 0.0, MAX_PAYLOAD))  # typed values have no bounds
        try:
            check_payload(self._dynamics, self._snapshot.q, tip, mass)
        except RobodynError as error:
            if self._throttle.ready(time.monotonic()):
                self.notify('Payload', f'{sentence(str(error))} It stays at '
                            f'{self.payload.mass:g} kg', False)
            return
        self.payload = SetPayload(tip, mass, reported)
        self._send(self.payload)

    def _add_motion(self) -> None:
        gui, model = self._gui, self._dynamics.model
        with gui.add_folder('Move'):
            self._pose = gui.add_dropdown('pose', ('', *self._poses))
            self._speed = gui.add_slider('speed (%)', 5, 100, 5, 30)
            gui.add_button('Go').on_click(lambda _: self._go())
            gui.add_button('Clear', color='gray').on_click(lambda _: self._set_goal(None))
            ends = zip(*slider_ends(model, _reference(self._snapshot)))
            self._sliders = [self._add_joint(j, *each) for j, each in enumerate(ends)]
        self._pose.on_update(self._choose)

    def _add_joint(self, j: int, lower: float, now: float, upper: float):
        slider = self._gui.add_slider(self._dynamics.model.joint_names[j], lower, upper, _MOVED,
                                      now)

        @slider.on_update
        async def update(event) -> None:  # a coroutine, as plain functions may run out of order
            if event.client is None or not np.isfinite(slider.value):
                return
            with self._lock:
                goal = _reference(self._snapshot) if self._goal is None else self._goal
                self._goal = np.where(np.arange(len(goal)) == j, slider.value, goal)
            self._pose.value = ''
        return slider

    def _choose(self, event) -> None:
        if event.client is not None:
            self._set_goal(self._poses.get(self._pose.value))

    def _set_goal(self, goal: np.ndarray | None) -> None:
        """Set the goal of all joints, or clear it."""
        if goal is None:
            self._pose.value = ''
        with self._lock:
            self._goal = goal
            self._set_sliders(_reference(self._snapshot) if goal is None else goal)

    def _set_sliders(self, q: np.ndarray) -> None:
        for slider, value in zip(self._sliders, q.tolist()):
            value = min(max(value, slider.min), slider.max)
            if abs(value - slider.value) > _MOVED:
                slider.value = value

    def _go(self) -> None:
        goal, snapshot = self._goal, self._snapshot
        if goal is None or snapshot.fault:
            self.notify('Move', f'Reset the fault first: {snapshot.fault}' if snapshot.fault else
                        'Choose a pose or move the sliders first.', False)
            return
        try:
            self._send(plan_move(self._dynamics, _reference(snapshot), goal,
                                 0.01 * self._speed.value, snapshot.controlled))
            self._set_goal(None)
        except RobodynError as error:
            self.notify('Move', str(error), False)


def _reference(snapshot: Snapshot) -> np.ndarray:
    """Return the reference, or the measured positions if there is none; (nv,)."""
    return snapshot.q if snapshot.reference is None else snapshot.reference


def slider_ends(model: RobotModel, q: np.ndarray) -> tuple[list[float], ...]:
    """Return lower end, value and upper end of the slider of each joint, for an arm at `q`."""
    inside = np.clip(q, model.lower, model.upper)
    lower = np.where(np.isfinite(model.lower), model.lower, inside - _FREE)
    upper = np.where(np.isfinite(model.upper), model.upper, inside + _FREE)
    upper = np.maximum(upper, lower + _MOVED)
    return lower.tolist(), inside.tolist(), upper.tolist()
