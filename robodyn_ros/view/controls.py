"""The buttons and sliders of the person at the page who may command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.view.moves import plan_move
from robodyn_ros.view.orders import Ask, Carry, Order, Pause, Reset, Step
from robodyn_ros.view.snapshot import Snapshot

if TYPE_CHECKING:
    import viser

MOST_PAYLOAD = 5.0   # kg, at the end of the slider
_FREE = np.pi        # rad or m: ends of the slider of a joint without limits
_MOVED = 1e-3        # rad or m that a slider follows
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
    tip : str
        Link that carries the payload.
    order : callable
        Takes the orders.
    snapshot : Snapshot
        How things are now.

    """

    def __init__(self, client: viser.ClientHandle, dynamics: Dynamics,
                 poses: Mapping[str, np.ndarray], tip: str, order: Callable[[Order], None],
                 snapshot: Snapshot):
        self._client, self._gui, self._dynamics = client, client.gui, dynamics
        self._poses, self._tip, self._order = poses, tip, order
        self._snapshot, self._touched = snapshot, False
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
        """Where the sliders are, (nv,); None while nobody has moved them."""
        return np.array([slider.value for slider in self._sliders]) if self._touched else None

    def show(self, snapshot: Snapshot) -> None:
        """Follow the arm."""
        self._snapshot = snapshot
        self._simulator.visible = snapshot.simulated
        if not self._touched:
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
            orders = {'pause': Pause(True), 'step': Step(), 'run': Pause(False)}
            pause.on_click(lambda _: self._order(orders[pause.value]))
            gui.add_button('Reset the arm', color='gray').on_click(
                lambda _: self._order(Reset()))

    def _add_payload(self) -> None:
        gui = self._gui
        with gui.add_folder('Payload'):
            mass = gui.add_slider('kg', 0.0, MOST_PAYLOAD, 0.1, 0.0,
                                  hint=f'A point mass at the origin of {self._tip}.')
            told = gui.add_checkbox('controller knows', True)
        for each in (mass, told):
            each.on_update(lambda _: self._order(Carry(self._tip, mass.value, told.value)))

    def _add_motion(self) -> None:
        gui, model = self._gui, self._dynamics.model
        with gui.add_folder('Move'):
            pose = gui.add_dropdown('pose', ('', *self._poses))
            self._speed = gui.add_slider('speed (%)', 5, 100, 5, 30)
            gui.add_button('Go').on_click(lambda _: self._go())
            self._sliders = [self._add_joint(name, *ends) for name, *ends in zip(
                model.joint_names, model.lower.tolist(), model.upper.tolist())]
        pose.on_update(lambda _: self._choose(pose.value))
        self._set_sliders(_asked(self._snapshot))

    def _add_joint(self, name: str, lower: float, upper: float):
        lower, upper = max(lower, -_FREE), min(upper, _FREE)
        slider = self._gui.add_slider(name, lower, max(upper, lower + _MOVED), _MOVED,
                                      min(max(0.0, lower), upper))
        slider.on_update(lambda event: self._touch(event.client is not None))
        return slider

    def _touch(self, by_hand: bool) -> None:
        self._touched |= by_hand

    def _choose(self, name: str) -> None:
        if name in self._poses:
            self._set_sliders(self._poses[name])
            self._touched = True

    def _set_sliders(self, q: np.ndarray) -> None:
        for slider, value in zip(self._sliders, q.tolist()):
            value = min(max(value, slider.min), slider.max)
            if abs(value - slider.value) > _MOVED:
                slider.value = value

    def _go(self) -> None:
        goal = self.goal
        if goal is None:
            self.tell('Move', 'Choose a pose or move the sliders first.', False)
            return
        snapshot = self._snapshot
        try:
            self._order(plan_move(self._dynamics, _asked(snapshot), goal,
                                  0.01 * self._speed.value, snapshot.controlled))
            self._touched = False
        except RobodynError as error:
            self.tell('Move', str(error), False)


def _asked(snapshot: Snapshot) -> np.ndarray:
    """Return where the joints are asked to be, or are."""
    return snapshot.q if snapshot.reference is None else snapshot.reference
