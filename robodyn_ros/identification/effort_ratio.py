"""
Ratio of recorded efforts to the torques of the URDF, from which their unit is seen.

Gravity and inertia of the URDF give each recorded effort a part of known size. Friction, rotor and
offset are left free, as they are in no URDF:

    effort_j = ratio_j Y_j phi_URDF + viscous qd_j + Coulomb sign(qd_j) + armature qdd_j + offset.

Motor currents (A) and counts have ratios far from 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.identification.equations import Equations, JOINT_TERMS
from robodyn_ros.identification.statistics import correlated_samples

_FREE = [JOINT_TERMS.index(kind) - len(JOINT_TERMS)
         for kind in ('viscous', 'coulomb', 'armature', 'offset')]
_SURE = 5.0  # standard deviations by which a ratio must differ from 0


def effort_ratios(joints: list[Equations], parameters: NDArray) -> NDArray:
    """
    Return the ratio of each joint, (nv,); NaN where the data does not determine it.

    An offset that cannot be told from constant gravity is taken as 0.

    Parameters
    ----------
    joints : list of Equations
        Equations of each joint.
    parameters : (10 nb,) array
        Inertial parameters of the URDF.

    """
    ratios = np.full(len(joints), np.nan)
    for j, joint in enumerate(joints):
        columns = np.column_stack([joint.columns[:, :-len(JOINT_TERMS)] @ parameters,
                                   joint.columns[:, _FREE]])
        for used in (columns, columns[:, :-1]):
            ratio, deviation = _first_coefficient(used, joint)
            if np.abs(ratio) > _SURE * deviation:
                ratios[j] = ratio
                break
    return ratios


def _first_coefficient(columns: NDArray, joint: Equations) -> tuple[float, float]:
    """Return the first coefficient of a least-squares fit and its standard deviation."""
    size = np.linalg.norm(columns, axis=0)
    columns = columns[:, size > 0.0] / size[size > 0.0]
    count = columns.shape[1]
    if len(joint) <= count or not size[0] or np.linalg.matrix_rank(columns) < count:
        return 0.0, np.inf
    solution = np.linalg.lstsq(columns, joint.effort, rcond=None)[0]
    error = columns @ solution - joint.effort
    variance = (error @ error / (len(joint) - count) * correlated_samples(error, joint.segment)
                * np.linalg.inv(columns.T @ columns)[0, 0])
    return float(solution[0] / size[0]), float(np.sqrt(variance) / size[0])
