"""
Own law in Python, run with checks.

Any error of the law is returned as a text. Python code cannot be interrupted: a law that does not
return blocks the controller; the guard then takes over.
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
NO_TERMS = 'it returns no terms: the arm would fall; return gravity at least'
_TRIALS = 5     # calls of a law before it controls an arm
_USUAL = 1e-3   # s between two of these calls


class OwnLawRunner:
    """
    Calls an own law and checks its results.

    Parameters
    ----------
    name : str
        Name for messages.
    law : OwnLaw
        Law, constructed with the dynamics of the robot.
    dynamics : Dynamics
        The robot.
    deadline : float
        Largest duration of a call in s.

    Attributes
    ----------
    rows : (10, nv) array
        Terms of the last call, rows as in `Term`.

    Raises
    ------
    ParameterError
        A trial failed: the law is called for the arm at rest in the middle of its range, which
        also compiles all that it uses before it controls an arm.

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
        self._given_reference = Reference(*map(_read_only, self._reference.arrays))
        self._test(dynamics)

    def start_or_evaluate(self, begins: bool, now: float, dt: float, state,
                          reference: Reference) -> str:
        """Call `start` if the law `begins`, then `evaluate`; arguments and result as for that."""
        return (begins and self.start(now, dt, state, reference)) or self.evaluate(
            now, dt, state, reference)

    def start(self, now: float, dt: float, state, reference: Reference) -> str:
        """Call `start` of the law; arguments and result as for `evaluate`."""
        self._set_inputs(now, dt, state, reference)
        return self._run(self._begin)

    def evaluate(self, now: float, dt: float, state, reference: Reference) -> str:
        """
        Compute `rows`.

        Parameters
        ----------
        now, dt : float
            Time, and seconds since the last cycle.
        state : tuple of (nv,)
            Position, velocity, and torque of known external wrenches.
        reference : Reference
            Reference of the joints.

        Returns
        -------
        problem : str
            Reason for not using the result; '' if it is used.

        """
        self._set_inputs(now, dt, state, reference)
        return self._run(self._evaluate)

    def _begin(self) -> str:
        start = getattr(self._law, 'start', None)
        if start is not None:
            start(self._state, self._given_reference)
        return ''

    def _evaluate(self) -> str:
        terms = self._law.terms(self._state, self._given_reference)
        if not isinstance(terms, Mapping):
            return (f'terms returned {type(terms).__name__}; it must return a mapping of term '
                    'names to torques')
        self.rows.fill(0.0)
        for name, torque in terms.items():
            if problem := self._set_term(name, torque):
                return problem
        return ''

    def _set_term(self, name, torque) -> str:
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

    def _run(self, call: Callable[[], str]) -> str:
        self._stopwatch.start()
        try:
            problem = call()
        except (Exception, SystemExit) as error:
            return f'own law {self.name}: {error_text(error, self._file)}'
        duration = self._stopwatch.seconds(self._deadline)
        if not problem and duration > self._deadline:
            problem = (f'it took {1e3 * duration:.3g} ms, own_law_deadline is '
                       f'{1e3 * self._deadline:.3g} ms')
        return f'own law {self.name}: {problem}' if problem else ''

    def _set_inputs(self, now: float, dt: float, state, reference: Reference) -> None:
        self._state.time, self._state.dt = now, dt
        for array, values in zip(self._arrays, state):
            array[:] = values
        self._reference.assign(reference)

    def _test(self, dynamics: Dynamics) -> None:
        model, nothing = dynamics.model, np.zeros(dynamics.nv)
        middle = 0.5 * (np.maximum(model.lower, -np.pi) + np.minimum(model.upper, np.pi))
        case = (_USUAL, (middle, nothing, nothing), Reference.at_rest(middle))
        deadline, self._deadline = self._deadline, np.inf  # the first call may compile
        problem = self.start(0.0, *case) or self.evaluate(0.0, *case)
        self._deadline = deadline
        if not problem:
            # the shortest text: one call is in time unless the law itself is too slow
            problem = min((self.evaluate(_USUAL * k, *case) for k in range(_TRIALS)), key=len)
        if not problem and not self.rows.any() and dynamics.gravity(middle).any():
            problem = f'own law {self.name}: {NO_TERMS}'
        if problem:
            raise ParameterError(f'{problem}; this was a trial with the arm at rest',
                                 law=self.name)


def source_of(kind: type) -> str:
    """Return the source file of a class, '' if there is none."""
    try:
        return inspect.getsourcefile(kind) or ''
    except TypeError:
        return ''


def error_text(error: BaseException, file: str) -> str:
    """Return the error with its line; the innermost line of `file` if it is in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    frame = ([each for each in frames if each.filename == file] or frames)[-1]
    return (f'{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno}, '
            f'in {frame.name})')


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
