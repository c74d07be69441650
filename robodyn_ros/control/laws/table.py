"""
Table of the control laws: functions, inputs and rates, and the terms that they have in common.

Common terms stand beside those of the law, see `terms.rows_within_limits`; their sum is in
`control.cycle`. External laws have their own, see `steps.torque`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robodyn_ros.control import friction
from robodyn_ros.control.gains import Gains, TaskGains
from robodyn_ros.control.laws import (
    adaptive, cartesian_impedance, computed_torque, feedforward_pd, gravity_compensation,
    joint_impedance, operational_space)
from robodyn_ros.control.laws.arm import Arm
from robodyn_ros.control.terms import rows_within_limits, Term
from robodyn_ros.dynamics.usual_inertia import MIN_INERTIA


def of_joints(gains: Gains, _task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of gains that act on accelerations."""
    return gains.kp, gains.kd


def of_springs(gains: Gains, _task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of joint impedances for the typical inertia of each joint."""
    return _spring(gains, gains.inertia)


def of_shaped_springs(gains: Gains, _task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of joint impedances for the requested inertia of each joint."""
    return _spring(gains, gains.apparent_inertia)


def of_task(_gains: Gains, task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of operational_space: of the link, then of the posture."""
    return (np.concatenate((task.kp, task.posture_kp)),
            np.concatenate((task.kd, task.posture_kd)))


def of_task_springs(gains: Gains, task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of cartesian_impedance: of the typical link mass, then of the posture."""
    inertia = np.maximum(gains.inertia, MIN_INERTIA)
    kp = task.stiffness * task.mobility
    kd = task.damping * task.mobility + 2.0 * task.damping_ratio * np.sqrt(kp)
    return (np.concatenate((kp, task.posture_stiffness / inertia)),
            np.concatenate((kd, task.posture_damping / inertia)))


def fastest(kp: np.ndarray, kd: np.ndarray) -> tuple[float, float]:
    """Return the largest kd and kp / kd (1/s); joints without damping are ignored."""
    damped = kd > 0.0
    ratio = np.divide(kp, kd, out=np.zeros_like(kd), where=damped)
    return float(kd.max()), float(ratio.max())


def _spring(gains: Gains, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    m = np.maximum(inertia, MIN_INERTIA)
    return gains.stiffness / m, np.array(joint_impedance.damping(gains, m)) / m


# --- the laws ------------------------------------------------------------------------------------

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


FLOATING = Law(gravity_compensation.gravity_compensation, of_joints,
               gravity_compensation.GAINS)
TRACKING = {
    'computed_torque': Law(computed_torque.computed_torque, of_joints,
                           computed_torque.GAINS, True),
    'feedforward_pd': Law(feedforward_pd.feedforward_pd, of_joints, feedforward_pd.GAINS,
                          True),
    'joint_impedance': Law(joint_impedance.joint_impedance, of_springs,
                           joint_impedance.GAINS, springs=True),
    'shaped_impedance': Law(joint_impedance.shaped_impedance, of_shaped_springs,
                            joint_impedance.SHAPED_GAINS, springs=True, shapes=True),
    'adaptive': Law(adaptive.adaptive, of_joints, adaptive.GAINS, adapts=True),
    'cartesian_impedance': Law(cartesian_impedance.cartesian_impedance, of_task_springs, (),
                               task_gains=cartesian_impedance.TASK_GAINS),
    'operational_space': Law(operational_space.operational_space, of_task, (),
                             task_gains=operational_space.TASK_GAINS),
}


# --- terms of the torque -------------------------------------------------------------------------

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
            terms[term] = [x.feedback_scale[0] * torque for torque in terms[term]]
    return [*rows_within_limits(tree.nv, terms, x.limit), *report]


def floating_terms(tree, runtime, x):
    """Return the rows of gravity compensation for its arguments by name, over scalars."""
    arm = Arm(tree, runtime, x.armature, x.gravity_scale)
    return rows_within_limits(tree.nv, {**FLOATING.function(arm, x), Term.EFFORT: x.effort})
