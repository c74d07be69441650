"""Gains of the Cartesian laws from design values, for the typical properties of the link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.control.settings import AXES, Settings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import joint_inertia, sampled_poses
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model.per_joint import not_negative

# parameters of the gains
TASK_PARAMETERS = (
    'armature', *(f'cartesian.{name}' for name in (
        'link', 'natural_frequency', 'damping_ratio', 'stiffness', 'damping', 'axes',
        'posture_frequency', 'posture_damping_ratio', 'singularity')))
_POSES = 128          # configurations for typical values
_NEGLIGIBLE = 1e-9    # of the typical value, below which a link cannot be moved


def make_task_gains(dynamics: Dynamics, settings: Settings | None = None) -> TaskGains:
    """
    Return the gains of the Cartesian laws of settings, by default of the usual ones.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    settings : Settings, optional
        The design values: `cartesian` and `armature`.

    Raises
    ------
    ParameterError
        A length or value is wrong, or the link does not move.

    """
    settings = settings or Settings()
    s, model = settings.cartesian, dynamics.model
    link = _moving(dynamics, s.link or model.tip)
    rotors = not_negative('armature', settings.armature, model)
    typical = TypicalLink.of(dynamics, link, rotors)
    wn = six('natural_frequency', s.natural_frequency)
    ratio = six('damping_ratio', s.damping_ratio)
    springs = six('stiffness', s.stiffness) if s.stiffness else wn ** 2 * typical.mass
    dampers = six('damping', s.damping) if s.damping else np.zeros(6)
    posture = not_negative('cartesian.posture_frequency', s.posture_frequency, model)
    posture_kd = 2.0 * posture * not_negative('cartesian.posture_damping_ratio',
                                              s.posture_damping_ratio, model)
    inertia = joint_inertia(dynamics) + rotors
    return TaskGains(
        link=link, stiffness=springs, damping=dampers,
        damping_ratio=0.0 * ratio if s.damping else ratio, kp=wn ** 2,
        kd=2.0 * ratio * wn, selected=springs + dampers > 0.0, controlled=wn > 0.0,
        axes=np.array(float(AXES.index(s.axes))), posture_kp=posture ** 2, posture_kd=posture_kd,
        posture_stiffness=posture ** 2 * inertia, posture_damping=posture_kd * inertia,
        reach=typical.reach, mobility=typical.mobility, singularity=np.array(s.singularity))


def six(name: str, value) -> np.ndarray:
    """
    Return a value as 6 numbers, linear first.

    Raises
    ------
    ParameterError
        The length is not 1 or 6.

    """
    values = np.array(value, dtype=np.float64)
    if values.size not in (1, 6):
        raise ParameterError(f'cartesian.{name} has {values.size} values; give one, or six: along '
                             'x, y, z, then about x, y, z', parameter=name)
    return np.full(6, values.item()) if values.size == 1 else values


def _moving(dynamics: Dynamics, link: str) -> str:
    """Return a link that some joint moves; raises `ParameterError` otherwise."""
    if dynamics.model.link(link).body < 0:
        raise ParameterError(f'cartesian link {link!r} belongs to the immovable base; name a link '
                             'that moves', parameter='link', link=link)
    return link


@dataclass(frozen=True, eq=False)
class TypicalLink:
    """
    Typical properties of a link, over sampled configurations; (6,) each, equal along all axes.

    Attributes
    ----------
    reach : (6,)
        Scale of the rows of the Jacobian to norm 1.
    mobility : (6,)
        Diagonal of J M^-1 J^T.
    mass : (6,)
        Geometric mean of 1 / (J M^-1 J^T)_ii, the effective mass with all other directions free,
        and of the diagonal of Lambda, with all of them constrained. They differ much for the
        light wrist of a heavy arm.

    """

    reach: np.ndarray
    mobility: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, dynamics: Dynamics, link: str, rotors: np.ndarray) -> TypicalLink:
        """Return the typical properties of a link."""
        poses = sampled_poses(dynamics.model, _POSES)
        # not batched: these kernels are compiled in any case
        J = np.array([dynamics.jacobian(q, link) for q in poses])
        M = np.array([dynamics.mass_matrix(q) for q in poses]) + np.diag(rotors)
        # the pseudo-inverse ignores joints that move no mass
        A = J @ np.linalg.pinv(M, rcond=_NEGLIGIBLE ** 2, hermitian=True) @ np.swapaxes(J, 1, 2)
        Lambda = np.linalg.pinv(A, rcond=_NEGLIGIBLE, hermitian=True)
        mobility = _by_kind(_diagonal(A).mean(axis=0))
        held = _by_kind(np.median(_diagonal(Lambda), axis=0))
        return cls(1.0 / np.sqrt(_by_kind((J ** 2).sum(axis=2).mean(axis=0))), mobility,
                   np.sqrt(held / mobility))


def _diagonal(matrices: np.ndarray) -> np.ndarray:
    return np.einsum('nii->ni', matrices)


def _by_kind(values: np.ndarray) -> np.ndarray:
    """Return the means over linear and over angular directions; 1 where all are negligible."""
    return np.repeat([kind[kind > _NEGLIGIBLE].mean() if np.any(kind > _NEGLIGIBLE) else 1.0
                      for kind in (values[:3], values[3:])], 3)
