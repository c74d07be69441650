"""Terms of the torque."""

from __future__ import annotations

from enum import IntEnum

from robodyn_ros.control.feedback_scaling import within_limits
from robodyn_ros.dynamics.jit.vectors import difference, sums

ABSURD_TORQUE = 1e9  # N m or N that no motor has


class Term(IntEnum):
    """
    Rows of the torque of a law, in N m or N; TOTAL is the sum of the others.

    LIMIT is the change by saturation and supervision, see `ArmController.terms`.
    """

    INERTIA = 0
    CORIOLIS = 1
    GRAVITY = 2
    FRICTION = 3
    PAYLOAD = 4
    FEEDBACK = 5
    INTEGRAL = 6
    NULL_SPACE = 7
    EXTERNAL = 8
    EFFORT = 9
    LIMIT = 10
    TOTAL = 11


_REDUCED = (Term.FEEDBACK, Term.INTEGRAL, Term.NULL_SPACE)  # by saturation


def compose(nv, terms, limit=None):
    """
    Return all rows, over scalars.

    Parameters
    ----------
    nv : int
        Number of joints.
    terms : mapping of Term to list
        Terms of a law.
    limit : list, optional
        Effort limits for the feedback, see `within_limits`.

    """
    rows = [list(terms.get(term, [0.0] * nv)) for term in Term]
    if limit:
        wanted = sums([rows[term] for term in _REDUCED])
        rest = sums([row for term, row in zip(Term, rows) if term not in _REDUCED])
        rows[Term.LIMIT] = difference(within_limits(wanted, rest, limit), wanted)
    rows[Term.TOTAL] = sums(rows[:Term.TOTAL])
    return rows


def rows_of(terms):
    """Return a list of all terms as rows, see `Term`."""
    n = len(terms) // len(Term)
    return [terms[k * n:(k + 1) * n] for k in range(len(Term))]
