"""Interface of the controllers of a `FaultLoop`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from numpy.typing import NDArray

from robodyn_ros.dynamics.coupled_rollout import StatefulFunction


class Controller(Protocol):
    """
    Interface of a controller: a function in machine code, called for states and their absence.

    Attributes
    ----------
    key : str or None
        Key of its code.
    memory, program : array
        Memory of a controller that has not begun, and its program.

    """

    key: str | None
    memory: NDArray
    program: NDArray

    @property
    def function(self) -> StatefulFunction:
        """Return the function."""

    def argument(self, given) -> list:
        """
        Return the argument of the function, as scalars.

        given: namespace of `begins`, `received` and `waits` (flags of the kind of call),
        `arrival`, `stamp` and `clock` (s), `q`, `qd`, `effort`.
        """

    def sends(self, observed):
        """
        Return the flag that the torque of a state, or of a state that is missing, is sent.

        observed: values of the next memory, see `StatefulFunction`.
        """

    def faulted(self, observed):
        """Return the code of the fault that is latched, 0 for none; observed: as for `sends`."""

    def use_path(self, rows: Sequence) -> None:
        """Use a table of trajectories."""

    def on_floats(self, rows: Sequence, argument: list, memory: list, program: list) -> tuple:
        """Return torque and next memory, computed in Python."""
