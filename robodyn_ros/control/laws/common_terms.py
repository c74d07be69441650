"""
Terms of the torque that all laws have in common, beside those of the law itself.

They are summed by `terms.compose`. External laws have their own: `steps.torque`.
"""

from __future__ import annotations

from robodyn_ros.control import friction
from robodyn_ros.control.laws.arm import Arm
from robodyn_ros.control.laws.table import FLOATING, Law
from robodyn_ros.control.terms import compose, Term


def tracking_terms(law: Law, tree, runtime, x, frame=None):
    """Return the rows of a tracking law for its arguments by name, then its report."""
    arm = Arm(tree, runtime, x.armature, x.gravity_scale, frame)
    own, report = law.function(arm, x) if law.cartesian else (law.function(arm, x), [])
    # terms common to all laws, then those of this one
    terms = {Term.FRICTION: friction.friction(
        x.qd_ref, x.viscous, x.coulomb, x.stiction, x.stribeck_velocity, x.friction_width),
        Term.EXTERNAL: x.external, Term.EFFORT: x.effort, **own}
    for term in (Term.FEEDBACK, Term.NULL_SPACE):
        if term in terms:
            terms[term] = [x.authority[0] * torque for torque in terms[term]]
    return [*compose(tree.nv, terms, x.limit), *report]


def floating_terms(tree, runtime, x):
    """Return the rows of gravity compensation for its arguments by name, over scalars."""
    arm = Arm(tree, runtime, x.armature, x.gravity_scale)
    return compose(tree.nv, {**FLOATING.function(arm, x), Term.EFFORT: x.effort})
