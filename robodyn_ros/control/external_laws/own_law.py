"""
A law of one's own, run with care.

Whatever it does wrong comes back as a text. In Python nothing can interrupt it: a law that never
returns hangs the controller, which is what the guard is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import inspect
from pathlib import Path
import traceback

import numpy as np

from robodyn_ros.control.external_laws.protocol import LawState
from robodyn_ros.control.external_laws.stopwatch import Stopwatch
from robodyn_ros.control.terms import ABSURD_TORQUE, Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import near_matches, ParameterError
from robodyn_ros.trajectory import Reference

TERMS = {term.name.lower(): term for term in Term if term < Term.LIMIT}
NO_TERMS = 'it returns no terms: nothing would carry the arm; return gravity at least'
_TRIALS = 5     # of a law before it gets an arm
_USUAL = 1e-3   # s between two cycles of these


class OwnLawRunner:
    """
    Asks a law, and looks at what it says.

    Parameters
    ----------
    name : str
        What the user calls it.
    law : OwnLaw
        Made with the dynamics of the robot.
    dynamics : Dynamics
        The robot.
    deadline : float
        Seconds that an answer may take.

    Attributes
    ----------
    rows : (10, nv) array
        The last answer, rows as in `Term`.

    Raises
    ------
    ParameterError
        A trial has shown that it cannot be used: it is asked for the torque of the arm at rest in
        the middle of its range, so that all it needs is compiled before there is an arm to hold.

    """

    def __init__(self, name: str, law, dynamics: Dynamics, deadline: float):
        n = dynamics.nv
        self.name, self._law, self._deadline = name, law, deadline
        self._joints = dynamics.model.joint_names
        self._file = source_of(type(law))
        self._stopwatch = Stopwatch()
        self.rows = np.zeros((len(TERMS), n))
        self._arrays = np.zeros((3, n))
        self._reference = Reference.zeros(n)
        self._state = LawState(*map(_read_only, self._arrays))
        self._shown = Reference(*map(_read_only, self._reference.arrays))
        self._try(dynamics)

    def ask(self, begins: bool, now: float, dt: float, state, reference: Reference) -> str:
        """Answer, and take over first if it `begins`; arguments and result as for `answer`."""
        return (begins and self.start(now, dt, state, reference)) or self.answer(
            now, dt, state, reference)

    def start(self, now: float, dt: float, state, reference: Reference) -> str:
        """Let it take over; arguments and result as for `answer`."""
        self._show(now, dt, state, reference)
        return self._run(self._begin)

    def answer(self, now: float, dt: float, state, reference: Reference) -> str:
        """
        Let it fill `rows`.

        Parameters
        ----------
        now, dt : float
            Time, and seconds since the cycle before.
        state : tuple of (nv,)
            Position, velocity, and torque of known external wrenches.
        reference : Reference
            What is asked of the joints.

        Returns
        -------
        problem : str
            Why there is no answer that can be used; '' if there is one.

        """
        self._show(now, dt, state, reference)
        return self._run(self._ask)

    def _begin(self) -> str:
        start = getattr(self._law, 'start', None)
        if start is not None:
            start(self._state, self._shown)
        return ''

    def _ask(self) -> str:
        terms = self._law.terms(self._state, self._shown)
        if not isinstance(terms, Mapping):
            return (f'terms returned {type(terms).__name__}; it must return a mapping of term '
                    'names to torques')
        self.rows.fill(0.0)
        for name, torque in terms.items():
            if problem := self._take(name, torque):
                return problem
        return ''

    def _take(self, name, torque) -> str:
        term = TERMS.get(name)
        if term is None:
            return f'there is no term {name!r}: {near_matches(name, TERMS)}'
        values, row = np.asarray(torque, dtype=np.float64), self.rows[term]
        if values.shape != row.shape:
            return (f'term {name!r} has shape {values.shape}; give one number per joint, '
                    f'{row.shape}')
        row[:] = values
        if not np.abs(values).max() < ABSURD_TORQUE:
            j = int(np.argmin(np.abs(values) < ABSURD_TORQUE))
            return f"term {name!r} is {values[j]:g} for joint '{self._joints[j]}'"
        return ''

    def _run(self, act: Callable[[], str]) -> str:
        self._stopwatch.start()
        try:
            problem = act()
        except (Exception, SystemExit) as error:
            return f'own law {self.name}: {told(error, self._file)}'
        took = self._stopwatch.seconds(self._deadline)
        if not problem and took > self._deadline:
            problem = (f'it took {1e3 * took:.3g} ms, own_law_deadline is '
                       f'{1e3 * self._deadline:.3g} ms')
        return f'own law {self.name}: {problem}' if problem else ''

    def _show(self, now: float, dt: float, state, reference: Reference) -> None:
        self._state.time, self._state.dt = now, dt
        for array, values in zip(self._arrays, state):
            array[:] = values
        self._reference.assign(reference)

    def _try(self, dynamics: Dynamics) -> None:
        model, nothing = dynamics.model, np.zeros(dynamics.nv)
        middle = 0.5 * (np.maximum(model.lower, -np.pi) + np.minimum(model.upper, np.pi))
        case = (_USUAL, (middle, nothing, nothing), Reference.at_rest(middle))
        deadline, self._deadline = self._deadline, np.inf  # the first call may compile
        problem = self.start(0.0, *case) or self.answer(0.0, *case)
        self._deadline = deadline
        if not problem:
            # one of them is in time, unless the law itself is too slow
            problem = min((self.answer(_USUAL * k, *case) for k in range(_TRIALS)), key=len)
        if not problem and not self.rows.any() and dynamics.gravity(middle).any():
            problem = f'own law {self.name}: {NO_TERMS}'
        if problem:
            raise ParameterError(f'{problem}; this was a trial with the arm at rest',
                                 law=self.name)


def source_of(kind: type) -> str:
    """Return the file of a class, '' if there is none."""
    try:
        return inspect.getsourcefile(kind) or ''
    except TypeError:
        return ''


def told(error: BaseException, file: str) -> str:
    """Return what went wrong, and in which line; of `file` if it went through that one."""
    frames = traceback.extract_tb(error.__traceback__)
    frame = ([each for each in frames if each.filename == file] or frames)[-1]
    return (f'{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno}, '
            f'in {frame.name})')


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
