"""Table of the control laws: the function of each, and its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robodyn_ros.control.laws import (
    adaptive, cartesian_impedance, computed_torque, feedforward_pd, gravity_compensation,
    joint_impedance, operational_space, rates)


@dataclass(frozen=True)
class Law:
    """
    A law, and its inputs.

    Attributes
    ----------
    function : callable
        `law(arm, x)`, see `control.laws`.
    rates : callable
        Function of `laws.rates`: rates of its feedback.
    gains : tuple of str
        Fields of `Gains` that it takes.
    integrates : bool
        Whether it has an integral term and disturbance compensation.
    springs : bool
        Whether it is a joint impedance.
    shapes : bool
        Whether it shapes inertia, with the external torque as an input.
    adapts : bool
        Whether it estimates a payload.
    task_gains : tuple of str
        Fields of `TaskGains` that it takes, as `x.task`. A law with task gains is Cartesian: it
        returns its terms, and the numbers of a `TaskReport`.

    """

    function: Callable
    rates: Callable
    gains: tuple[str, ...]
    integrates: bool = False
    springs: bool = False
    shapes: bool = False
    adapts: bool = False
    task_gains: tuple[str, ...] = ()

    @property
    def cartesian(self) -> bool:
        """Return whether the law controls a link, not joints."""
        return bool(self.task_gains)


FLOATING = Law(gravity_compensation.gravity_compensation, rates.of_joints,
               gravity_compensation.GAINS)
TRACKING = {
    'computed_torque': Law(computed_torque.computed_torque, rates.of_joints,
                           computed_torque.GAINS, True),
    'feedforward_pd': Law(feedforward_pd.feedforward_pd, rates.of_joints, feedforward_pd.GAINS,
                          True),
    'joint_impedance': Law(joint_impedance.joint_impedance, rates.of_springs,
                           joint_impedance.GAINS, springs=True),
    'shaped_impedance': Law(joint_impedance.shaped_impedance, rates.of_shaped_springs,
                            joint_impedance.SHAPED_GAINS, springs=True, shapes=True),
    'adaptive': Law(adaptive.adaptive, rates.of_joints, adaptive.GAINS, adapts=True),
    'cartesian_impedance': Law(cartesian_impedance.cartesian_impedance, rates.of_task_springs, (),
                               task_gains=cartesian_impedance.TASK_GAINS),
    'operational_space': Law(operational_space.operational_space, rates.of_task, (),
                             task_gains=operational_space.TASK_GAINS),
}
