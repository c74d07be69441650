"""Live plots of the tracking error and of the torque terms of a joint."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.model import RobotModel
from robodyn_ros.view.snapshot import Snapshot

if TYPE_CHECKING:
    import viser

SECONDS = 10.0  # length of a plot
TERMS = ('gravity', 'inertia', 'coriolis', 'friction', 'payload', 'feedback', 'limit', 'total')
# colours that most people can distinguish
_COLORS = ('#3b82c4', '#e39a2d', '#2f9e5b', '#d64545', '#8b63c5', '#8c6248', '#d17ab5', '#5f6b76')
_HEIGHT = 150   # pixels
# decimals; uPlot searches for ticks endlessly on an axis from 0.1 to 0.10000000000000002
_DIGITS = 3
_LEAST = 0.1  # that the vertical axis shows on both sides: it is that of 0 to 100 for zeros


class Plot:
    """
    Lines over the last seconds.

    Parameters
    ----------
    gui : GuiApi
        Parent of the plot.
    names : sequence of str
        Names of the lines.

    """

    def __init__(self, gui: viser.GuiApi, names: tuple[str, ...]):
        self._history = History(len(names), SECONDS)
        axis = {'stroke': '#868e96', 'grid': {'stroke': '#8883', 'width': 1},
                'ticks': {'stroke': '#8883', 'width': 1}, 'font': '11px sans-serif'}
        lines = tuple({'label': name, 'stroke': _COLORS[k % len(_COLORS)], 'width': 1.5}
                      for k, name in enumerate(names))
        self._plot = gui.add_uplot(
            self._columns(), ({'label': 's'}, *lines), height=_HEIGHT, padding=(12, 16, 0, 0),
            scales={'x': {'time': False, 'auto': False, 'range': (-SECONDS, 0.0)},
                    'y': {'range': {'min': {'pad': 0.1, 'soft': -_LEAST, 'mode': 1},
                                    'max': {'pad': 0.1, 'soft': _LEAST, 'mode': 1}}}},
            axes=(axis, {**axis, 'size': 46}), legend={'show': True, 'live': False})

    def add(self, time: float, row: np.ndarray) -> None:
        """Add a point to each line."""
        self._history.add(time, np.round(np.nan_to_num(row), _DIGITS))

    def clear(self) -> None:
        """Delete all points."""
        self._history.clear()

    def draw(self) -> None:
        """Update the plot."""
        self._plot.data = self._columns()

    def _columns(self) -> tuple[np.ndarray, ...]:
        return tuple(np.nan_to_num(self._history.table()))


class Plots:
    """
    The tracking error of all joints, and the torque terms of a chosen joint.

    Parameters
    ----------
    gui : GuiApi
        Parent of the plots.
    model : RobotModel
    joint : str
        Joint whose terms are shown first.
    on_terms : callable
        Called with whether the terms are to be shown.

    """

    def __init__(self, gui: viser.GuiApi, model: RobotModel, joint: str,
                 on_terms: Callable[[bool], None]):
        self._model, self._on_terms = model, on_terms
        slides = np.array([unit == 'N' for unit in model.effort_units])
        unit = 'mm' if slides.all() else 'mrad | mm' if slides.any() else 'mrad'
        with gui.add_folder(f'Tracking error ({unit})'):
            self._error = Plot(gui, model.joint_names)
        with gui.add_folder('Terms of the torque'):
            self._show_terms = gui.add_checkbox(
                'show terms', False, hint='The controller publishes the terms only for '
                'subscribers, as publishing takes time.')
            self._joint = gui.add_dropdown('joint', model.joint_names, initial_value=joint)
            self._terms = Plot(gui, TERMS)
        self._show_terms.on_update(lambda _: self._on_terms(self._show_terms.value))
        self._joint.on_update(lambda _: self._terms.clear())

    def hide_terms(self) -> None:
        """Show no terms."""
        self._show_terms.value = False

    def add(self, snapshot: Snapshot) -> None:
        """Add a state to the plots."""
        if snapshot.reference is not None:
            self._error.add(snapshot.time, 1e3 * snapshot.error)
        chosen = self._joint.value  # not checked: any client can set it
        if snapshot.terms and chosen in self._model.joint_names:
            joint = self._model.joint_names.index(chosen)
            zero = np.zeros(self._model.nv)
            self._terms.add(snapshot.time, np.array(
                [snapshot.terms.get(name, zero)[joint] for name in TERMS]))

    def draw(self) -> None:
        """Update the plots."""
        self._error.draw()
        if self._show_terms.value:
            self._terms.draw()


class History:
    """
    Rows of numbers with their times, up to an age.

    Parameters
    ----------
    columns : int
        Number of columns.
    length : float
        Largest age in s.

    """

    def __init__(self, columns: int, length: float):
        self._columns, self._length = columns, length
        self._rows: deque[tuple[float, np.ndarray]] = deque()

    def add(self, time: float, row: np.ndarray) -> None:
        """Add a row, (columns,)."""
        self._rows.append((time, np.array(row, dtype=float)))
        while self._rows[0][0] < time - self._length:
            self._rows.popleft()

    def clear(self) -> None:
        """Delete all rows."""
        self._rows.clear()

    def table(self) -> np.ndarray:
        """Return times relative to the last, and rows; (1 + columns, n), n at least 1."""
        if not self._rows:
            return np.concatenate([[[0.0]], np.full((self._columns, 1), np.nan)])
        times = np.array([time for time, _ in self._rows])
        return np.vstack([times - times[-1], np.array([row for _, row in self._rows]).T])
