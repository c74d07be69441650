"""Measurement of the loops of many arms whose cycles run in a compiled loop, as in a node."""

from __future__ import annotations

from copy import copy

from numpy.typing import NDArray

from robodyn_ros.control.arm.controller import ArmController


class RolloutMeasurement:
    """
    Measures the loops of some arms.

    Parameters
    ----------
    control : ArmController
        Controller whose cycle they run. Its memory, program and design are those of one arm after
        the other, and its own again in the end.
    count : int
        Number of arms.

    Attributes
    ----------
    designs : list of Design
        Design of each arm, with its loops once they are measured.

    """

    def __init__(self, control: ArmController, count: int):
        self._control = control
        self._loops = [copy(control.loop) for _ in range(count)]
        for each in self._loops:
            each.begin()
        self.designs = [control.design] * count

    def update(self, memories: NDArray, programs: NDArray, ends: bool = False) -> None:
        """Continue the measurements, or end them; memories, programs: (N, ...), in place."""
        control = self._control
        own = control.design, control.loop
        blocks = [control.host.values[name] for name in ('memory', 'program')]
        kept = [each.copy() for each in blocks]
        for row, loop in enumerate(self._loops):
            if loop.running:
                control.continue_as(self.designs[row], loop)
                for block, given in zip(blocks, (memories, programs)):
                    block[:] = given[row]
                if ends:
                    loop.stop()
                else:
                    control.update_loop(wait=True)
                for block, given in zip(blocks, (memories, programs)):
                    given[row] = block
                self.designs[row] = control.design
        control.continue_as(*own)
        for block, values in zip(blocks, kept):
            block[:] = values
