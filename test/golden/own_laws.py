"""Law of a user that fails, for golden logs."""

from robodyn_ros.control.examples.scalar_law import stiffening
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.flags import when

_FAST = 0.1  # rad/s of the reference of the first joint, from which on it fails


def not_a_number(arm, x):
    """Return the terms of a law, and NaN for a joint while the reference is fast."""
    terms = stiffening(arm, x)
    wrong = when(x.qd_ref[0] > _FAST, float('nan'), terms[Term.FEEDBACK][2])
    return {**terms, Term.FEEDBACK: [*terms[Term.FEEDBACK][:2], wrong, *terms[Term.FEEDBACK][3:]]}
