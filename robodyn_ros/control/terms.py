"""Terms of the torque: rows, feedback within the effort limits, report of a Cartesian law."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, select
from robodyn_ros.dynamics.jit.vectors import difference, sums

ABSURD_TORQUE = 1e9  # N m or N that no motor has
# smallest part of the feedback: an overloaded joint must not disable the feedback of the others
MIN_SHARE = 0.1
_TINY = 1e-300  # keeps the quotient defined without feedback
SIZE = 20


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


SUMMANDS = tuple(Term)[:Term.TOTAL]  # rows of a law
_REDUCED = (Term.FEEDBACK, Term.INTEGRAL, Term.NULL_SPACE)  # by saturation


def rows_within_limits(nv, terms, limit=None):
    """
    Return the rows of `SUMMANDS`, over scalars; the feedback is reduced so that motors suffice.

    Parameters
    ----------
    nv : int
        Number of joints.
    terms : mapping of Term to list
        Terms of a law.
    limit : list, optional
        Effort limits for the feedback, see `within_limits`.

    """
    rows = [list(terms.get(term, [0.0] * nv)) for term in SUMMANDS]
    if limit:
        wanted = sums([rows[term] for term in _REDUCED])
        rest = sums([row for term, row in zip(SUMMANDS, rows) if term not in _REDUCED])
        rows[Term.LIMIT] = difference(within_limits(wanted, rest, limit), wanted)
    return rows


def rows_of(terms):
    """Return a list of all terms as rows, see `Term`."""
    n = len(terms) // len(Term)
    return [terms[k * n:(k + 1) * n] for k in range(len(Term))]


# --- saturation of the feedback ------------------------------------------------------------------

def within_limits(feedback, rest, limit):
    """
    Return the feedback, reduced by a common factor so that no motor saturates.

    Limiting each joint separately would change the direction of the feedback: a saturated joint
    would then accelerate the others, and a large error would end in a violent oscillation.
    Joints whose limit is exceeded without feedback are ignored; their torque is limited later.
    """
    part = 1.0
    for b, r, most in zip(feedback, rest, limit):
        room = most - select(b, r, -r)
        part = minimum(part, select(most - absolute(r), room / maximum(absolute(b), _TINY), 1.0))
    part = maximum(part, MIN_SHARE)
    return [part * b for b in feedback]


# --- report of a Cartesian law -------------------------------------------------------------------

class TaskReport:
    """
    Views of the numbers that a Cartesian law returns after its terms; of its last call.

    6-vectors are linear first, in the axes of the gains.

    Parameters
    ----------
    numbers : (20,) array
        Output of the laws.

    Attributes
    ----------
    pose_error : (6,) array
        p_ref - p, and twice the vector part of the quaternion of R_ref R^T: about the angle.
    twist_error : (6,) array
        Twist of the reference minus that of the link.
    wrench : (6,) array
        Wrench of the feedback on the link, in N and N m, before saturation and feedback scale.

    """

    def __init__(self, numbers: np.ndarray):
        self.pose_error, self.twist_error, self.wrench = numbers[:6], numbers[6:12], numbers[12:18]
        self._rest = numbers[18:]

    @property
    def manipulability(self) -> float:
        """Return the manipulability: typically 0.05 to 1, 0 in a singularity."""
        return float(self._rest[0])

    @property
    def dissipated(self) -> float:
        """Return the power dissipated by the dampers of cartesian_impedance, in W."""
        return float(self._rest[1])
