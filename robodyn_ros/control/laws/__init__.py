"""
The control laws, a file each, in the words of their textbooks.

A law is a function `law(arm, x)` over scalars: `arm` tells the terms of the equation of motion,
`x` holds the measured state `q, qd`, the reference `q_ref, qd_ref, qdd_ref`, the gains that the
law names, and what else every law gets (see `control.law`). It returns the terms of the torque,
without those that all laws have: friction along the reference, known external wrenches, and the
effort that comes with a trajectory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robodyn_ros.control.laws import (
    computed_torque, feedforward_pd, gravity_compensation, joint_impedance)


@dataclass(frozen=True)
class Law:
    """
    A law, and what it needs.

    Attributes
    ----------
    function : callable
        See above.
    gains : tuple of str
        Fields of `Gains` that it gets.
    integrates : bool
        Whether it has an integral term, and compensates disturbances.
    springs : bool
        Whether it is a joint impedance.

    """

    function: Callable
    gains: tuple[str, ...]
    integrates: bool = False
    springs: bool = False


FLOATING = Law(gravity_compensation.gravity_compensation, gravity_compensation.GAINS)
TRACKING = {
    'computed_torque': Law(computed_torque.computed_torque, computed_torque.GAINS, True),
    'feedforward_pd': Law(feedforward_pd.feedforward_pd, feedforward_pd.GAINS, True),
    'joint_impedance': Law(joint_impedance.joint_impedance, joint_impedance.GAINS,
                           springs=True),
    'shaped_impedance': Law(joint_impedance.shaped_impedance, joint_impedance.SHAPED_GAINS,
                            springs=True),
}
