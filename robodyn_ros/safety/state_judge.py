"""Judgement of measured states outside of a cycle: `acceptance`, compiled, with its arrays."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.safety import acceptance, plausibility
from robodyn_ros.safety.acceptance import Age
from robodyn_ros.safety.events import text, TEXTS

_BLOCKS = (acceptance.State, acceptance.Memory, acceptance.Program)
# as in the settings of a controller; nothing is a fault
_USUAL = {'source': plausibility.AUTO, 'smoothing': 0.005, 'motion': 0.005, 'lag': 0.025,
          'repeated': 0.005, 'overspeed': np.inf, 'overspeed_time': 0.02}


class StateJudge:
    """
    Decides which states of an arm are used.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    usable : (nv,) array
        Effort limits, in N m or N.
    **numbers
        Fields of `acceptance.Program`: hold, stop, skew, slack; and of that of `plausibility`.

    Attributes
    ----------
    given : namespace
        State that is judged, see `acceptance.State`: q, qd and effort are written before.
    seen : namespace
        Memory, see `acceptance.Memory`: q and qd are those of the last state that was used.

    """

    def __init__(self, dynamics: Dynamics, usable: np.ndarray, **numbers: float):
        self._model, n = dynamics.model, dynamics.nv
        dimensions = {'joints': n}
        state, before, program = (np.zeros(blocks.size(cls, dimensions)) for cls in _BLOCKS)
        memory, self._rest = before.copy(), np.zeros(1 + n)  # (inactive, torque sent)
        body = acceptance.body_of(dimensions)
        function = dynamics.function(
            lambda _tree, *given: body(*given), {
                'state': state.size, 'memory': memory.size, 'program': program.size,
                'rest': 1 + n}, {'next': memory.size}, f'accept {n}', ('safety',))
        bound = function.bound(state, before, program, self._rest, memory)
        bound.feed(before, memory)
        self._run = bound.call
        self.given, self.seen, p = (blocks.views(cls, array, dimensions) for cls, array in zip(
            _BLOCKS, (state, memory, program)))
        acceptance.write_program(p, self._model, usable, False, **{**_USUAL, **numbers})
        acceptance.write_initial(self.seen)
        self._hold = float(p.hold)

    def judge(self, arrival: float, received: bool, sent: np.ndarray | None, stamp: float = 0.0,
              clock: float = 0.0) -> float:
        """
        Return the kind of cycle that follows, see `acceptance`.

        Parameters
        ----------
        arrival : float
            Time of a steady clock, s.
        received : bool
            Whether there is a state.
        sent : (nv,) array or None
            Torque that was sent last; None: the arm is not under control, and may be anywhere.
        stamp, clock : float
            Of the state, 0 if it has none; time of the clock of the stamps, s.

        """
        given = self.given
        given.kind[()] = acceptance.RECEIVED if received else acceptance.WAITING
        given.arrival[()], given.stamp[()], given.clock[()] = arrival, stamp, clock
        given.permitted[()] = 1.0
        self._rest[0], self._rest[1:] = sent is None, 0.0 if sent is None else sent
        self._run()
        return float(self.seen.kind)

    def age(self, now: float, because: str = '') -> Age:
        """Return how old the newest accepted state is; because: why messages cannot be read."""
        m = self.seen
        age = now - min(float(m.measured), now)
        if age < self._hold:
            return Age(True, age, '')
        why = m.problem if m.problem.code else m.remark
        return Age(False, age, text(TEXTS[float(why.code)], SimpleNamespace(
            **{**vars(why), 'time': age}), self._model, because))
