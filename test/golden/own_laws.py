"""Laws of a user that fail after a while, for golden logs."""

import time

import numpy as np

_FAILS = 20  # cycles after it was started


class _Law:
    """A spring with damper and gravity torque."""

    def __init__(self, dynamics):
        self.dynamics, self.cycles = dynamics, 0

    def start(self, state, reference):
        """Begin to count."""
        self.cycles = 0

    def terms(self, state, reference):
        """Return gravity torque and feedback, or fail."""
        self.cycles += 1
        M = self.dynamics.mass_matrix(state.q)
        terms = {'gravity': self.dynamics.gravity(state.q), 'feedback': M @ (
            400.0 * (reference.q - state.q) + 40.0 * (reference.qd - state.qd))}
        return self.fail(terms) if self.cycles >= _FAILS else terms


class Raises(_Law):
    """Fails by an exception."""

    def fail(self, terms):
        """Raise."""
        raise ValueError('a defect')


class NotANumber(_Law):
    """Fails by a torque that is not a number."""

    def fail(self, terms):
        """Return NaN for a joint."""
        terms['feedback'][2] = np.nan
        return terms


class Wrong(_Law):
    """Fails by an answer of another kind, whenever it was started."""

    _begun = 0

    def start(self, state, reference):
        """Choose what to do wrong."""
        super().start(state, reference)
        self._begun += 1

    def fail(self, terms):
        """Return what is no answer."""
        return (list(terms), {**terms, 'gravitiy': terms['gravity']},
                {**terms, 'inertia': np.zeros(2)})[self._begun % 3]


class Slow(_Law):
    """Fails by taking too long."""

    def fail(self, terms):
        """Wait."""
        time.sleep(0.06)
        return terms
