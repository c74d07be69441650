"""The buttons and sliders of the person at the page who may command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError, sentence
from robodyn_ros.model import RobotModel
from robodyn_ros.view.due import Due
from robodyn_ros.view.moves import plan_move
from robodyn_ros.view.page_commands import Ask, Carry, Order, Pause, Reset, Step
from robodyn_ros.view.payload import check_payload
from robodyn_ros.view.snapshot import Snapshot

if TYPE_CHECKING:
    import viser

MOST_PAYLOAD = 5.0   # kg, at the end of the slider
_FREE = np.pi        # rad or m: a slider goes so far where its joint has no limit
_MOVED = 1e-3        # rad or m that a slider follows
_COMPLAIN = 2.0      # s between two words about a slider that is dragged too far
_SERVICES = (('Hold', 'hold', None), ('Float', 'float', None), ('Stop', 'stop', 'red'),
             ('Reset fault', 'reset_fault', 'gray'))


class Controls:
    """
    A panel for one client.

    Parameters
    ----------
    client : ClientHandle
        Who may command.
    dynamics : Dynamics
    poses : mapping of str to (nv,) array
        To choose from.
    order : callable
        Takes the orders.
    snapshot : Snapshot
        How things are now.
    carried : Carry
        The payload so far, and the link that it is on.

    Attributes
    ----------
    carried : Carry
        The payload that was asked for last.

    """

    def __init__(self, client: viser.ClientHandle, dynamics: Dynamics,
                 poses: Mapping[str, np.ndarray], order: Callable[[Order], None],
                 snapshot: Snapshot, carried: Carry):
        self._client, self._gui, self._dynamics = client, client.gui, dynamics
        self._poses, self._order = poses, order
        self._snapshot, self.carried = snapshot, carried
        self._lock, self._goal, self._complain = threading.Lock(), None, Due(_COMPLAIN)
        panel = self._gui.add_panel()
        with panel.add_tab('Control'):
            self._add_services()
            self._add_simulator()
            self._add_payload()
            self._add_motion()
        panel.dock_left()
        panel.set_width(300)

    @property
    def client_id(self) -> int:
        """Of the client."""
        return self._client.client_id

    @property
    def goal(self) -> np.ndarray | None:
        """Where the arm is to go next, (nv,); None while nobody has chosen anything."""
        return self._goal

    def show(self, snapshot: Snapshot) -> None:
        """Follow the arm."""
        self._snapshot = snapshot
        self._simulator.visible = self._payload.visible = snapshot.simulated
        with self._lock:
            if self._goal is None:
                self._set_sliders(_asked(snapshot))

    def tell(self, title: str, text: str, good: bool) -> None:
        """Show a message for some seconds."""
        self._client.add_notification(title, text, color='teal' if good else 'red',
                                      auto_close_seconds=4.0 if good else 15.0)

    def _add_services(self) -> None:
        for label, service, color in _SERVICES:
            button = self._gui.add_button(label, color=color)
            button.on_click(lambda _, service=service: self._order(Ask(service)))

    def _add_simulator(self) -> None:
        gui = self._gui
        self._simulator = gui.add_folder('Simulator', visible=self._snapshot.simulated)
        with self._simulator:
            gui.add_markdown('Drag a link with the mouse to pull it.')
            pause = gui.add_button_group('time', ('pause', 'step', 'run'))
            page_commands = {'pause': Pause(True), 'step': Step(), 'run': Pause(False)}
            pause.on_click(lambda _: self._order(page_commands[pause.value]))
            gui.add_button('Reset the arm', color='gray').on_click(
                lambda _: self._order(Reset()))

    def _add_payload(self) -> None:
        gui, now = self._gui, self.carried
        self._payload = gui.add_folder('Payload', visible=self._snapshot.simulated)
        with self._payload:
            mass = gui.add_slider('kg', 0.0, MOST_PAYLOAD, 0.1, now.mass,
                                  hint=f'A point mass at the origin of {now.link}.')
            told = gui.add_checkbox('controller knows', now.told)
        for each in (mass, told):
            each.on_update(lambda _: self._carry(mass.value, told.value))

    def _carry(self, mass: float, told: bool) -> None:
        tip = self.carried.link
        mass = float(np.clip(np.nan_to_num(mass), 0.0, MOST_PAYLOAD))  # it may have been typed
        try:
            check_payload(self._dynamics, self._snapshot.q, tip, mass)
        except RobodynError as error:
            if self._complain.now(time.monotonic()):
                self.tell('Payload', f'{sentence(str(error))} It stays at '
                          f'{self.carried.mass:g} kg', False)
            return
        self.carried = Carry(tip, mass, told)
        self._order(self.carried)

    def _add_motion(self) -> None:
        gui, model = self._gui, self._dynamics.model
        with gui.add_folder('Move'):
            self._pose = gui.add_dropdown('pose', ('', *self._poses))
            self._speed = gui.add_slider('speed (%)', 5, 100, 5, 30)
            gui.add_button('Go').on_click(lambda _: self._go())
            gui.add_button('Withdraw', color='gray').on_click(lambda _: self._want(None))
            ends = zip(*slider_ends(model, _asked(self._snapshot)))
            self._sliders = [self._add_joint(j, *each) for j, each in enumerate(ends)]
        self._pose.on_update(self._choose)

    def _add_joint(self, j: int, lower: float, now: float, upper: float):
        slider = self._gui.add_slider(self._dynamics.model.joint_names[j], lower, upper, _MOVED,
                                      now)

        @slider.on_update
        async def take(event) -> None:  # not a plain function: those may come out of order
            if event.client is None or not np.isfinite(slider.value):
                return
            with self._lock:
                goal = _asked(self._snapshot) if self._goal is None else self._goal
                self._goal = np.where(np.arange(len(goal)) == j, slider.value, goal)
            self._pose.value = ''
        return slider

    def _choose(self, event) -> None:
        if event.client is not None:
            self._want(self._poses.get(self._pose.value))

    def _want(self, goal: np.ndarray | None) -> None:
        """Take a goal for all joints, or none."""
        if goal is None:
            self._pose.value = ''
        with self._lock:
            self._goal = goal
            self._set_sliders(_asked(self._snapshot) if goal is None else goal)

    def _set_sliders(self, q: np.ndarray) -> None:
        for slider, value in zip(self._sliders, q.tolist()):
            value = min(max(value, slider.min), slider.max)
            if abs(value - slider.value) > _MOVED:
                slider.value = value

    def _go(self) -> None:
        goal, snapshot = self._goal, self._snapshot
        if goal is None or snapshot.fault:
            self.tell('Move', f'Reset the fault first: {snapshot.fault}' if snapshot.fault else
                      'Choose a pose or move the sliders first.', False)
            return
        try:
            self._order(plan_move(self._dynamics, _asked(snapshot), goal,
                                  0.01 * self._speed.value, snapshot.controlled))
            self._want(None)
        except RobodynError as error:
            self.tell('Move', str(error), False)


def _asked(snapshot: Snapshot) -> np.ndarray:
    """Return where the joints are asked to be, or are."""
    return snapshot.q if snapshot.reference is None else snapshot.reference


def slider_ends(model: RobotModel, q: np.ndarray) -> tuple[list[float], ...]:
    """Return lower end, value and upper end of the slider of each joint, the arm being at `q`."""
    inside = np.clip(q, model.lower, model.upper)
    lower = np.where(np.isfinite(model.lower), model.lower, inside - _FREE)
    upper = np.where(np.isfinite(model.upper), model.upper, inside + _FREE)
    upper = np.maximum(upper, lower + _MOVED)
    return lower.tolist(), inside.tolist(), upper.tolist()
