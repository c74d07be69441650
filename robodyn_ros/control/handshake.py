"""
The handshake before an arm is taken over: what it reports at rest must fit its weight.

A driver that adds gravity itself, a sign, a unit, or the mounting: these mistakes show in the
effort of the resting arm, before they can throw it. Pure: numbers in, a finding out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.model import RobotModel

STANDARD_GRAVITY = 9.81
_SIZE = 0.1       # share by which a gravity that was found may differ from the standard one
_TURNED = 0.1     # rad by which a mounting must differ to be a finding
_USUAL = 0.1      # how far a constant ratio must be from 1 to be a finding
_HEAVIEST = 0.5   # of the arm's own mass: more is no forgotten payload


@dataclass(frozen=True, eq=False)
class RestingArm:
    """
    What is known about an arm at rest.

    Attributes
    ----------
    model : RobotModel
        Names of joints, and gravity.
    measured : (nv,) array
        Effort that the arm reports, N m or N; NaN where it does not.
    weight : (nv,) array
        g(q).
    unit_weights : (3, nv) array
        g(q) under gravity of 1 m/s^2 along x, y, and z of the base.
    load : (nv,) array
        What 1 kg at the tip adds to g(q).
    tip : str
        Link that is taken for the tip.
    tolerance : (nv,) array
        Difference that friction and noise may make.

    """

    model: RobotModel
    measured: np.ndarray
    weight: np.ndarray
    unit_weights: np.ndarray
    load: np.ndarray
    tip: str
    tolerance: np.ndarray

    @property
    def told(self) -> np.ndarray:
        """Return the indices of the joints that report an effort."""
        return np.flatnonzero(np.isfinite(self.measured))

    def fits(self, expected) -> bool:
        """Whether the measured effort is what is expected."""
        return not self.misfits(expected).size

    def misfits(self, expected) -> np.ndarray:
        """Return the indices of the joints whose effort is not what is expected."""
        told = self.told
        away = np.abs(self.measured - np.asarray(expected))[told] > self.tolerance[told]
        return told[away]


def contradiction(arm: RestingArm, driver_compensates_gravity: bool = False) -> str:
    """
    Return what contradicts the model, with the likely cause and a remedy; '' if nothing does.

    A driver that compensates gravity may report what its motors give (the weight), or only what
    it was asked for (nothing): both are in order then.
    """
    if arm.fits(arm.weight) or (driver_compensates_gravity and arm.fits(0.0 * arm.weight)):
        return ''
    wrong = arm.misfits(arm.weight)
    j = wrong[np.argmax((np.abs(arm.measured - arm.weight) / (arm.tolerance + 1e-12))[wrong])]
    name, torque = arm.model.joint_names[j], arm.measured[j]
    return (f"joint '{name}' reports {torque:.2f} at rest, but the model says that its weight "
            f'takes {arm.weight[j]:.2f} (tolerance {arm.tolerance[j]:.2f}, N m or N); '
            f'{_cause(arm)}. If that is as it should be, set handshake: false')


def unusable(arm: RestingArm) -> str:
    """Return why the arm cannot be checked, '' if it can."""
    missing = [name for name, effort in zip(arm.model.joint_names, arm.measured)
               if not np.isfinite(effort)]
    if missing:
        return f'no effort is reported for {", ".join(missing)}'
    return ''


def _cause(arm: RestingArm) -> str:
    for explain in (_nothing, _flipped):
        if cause := explain(arm):
            return cause
    # with few joints, or a wide tolerance, more than one may explain it
    causes = [cause for explain in (_ratio, _payload, _mounting) if (cause := explain(arm))]
    return '; or '.join(causes) or (
        'neither a sign, a unit, a payload at the tip nor the mounting explains it: compare '
        'masses and joint axes of the URDF with the arm, and order and names of its joints')


def _nothing(arm: RestingArm) -> str:
    if not arm.fits(0.0 * arm.weight):
        return ''
    return ('likely the driver compensates gravity itself: then set driver_compensates_gravity: '
            'true, or gravity would be there twice; or the brakes carry the arm: release them '
            'first')


def _flipped(arm: RestingArm) -> str:
    wrong = arm.misfits(arm.weight)
    turned = arm.weight.copy()
    turned[wrong] *= -1.0
    if not arm.fits(turned):
        return ''
    heavy = np.abs(arm.weight[arm.told]) > arm.tolerance[arm.told]
    if len(wrong) > 1 and len(wrong) == np.count_nonzero(heavy):
        return ('likely the sign of all efforts is flipped (the driver tells the load instead of '
                'what the motors give), or gravity points the wrong way')
    return (f'likely the sign of {_names(arm, wrong)} is flipped: the joint axis in the URDF '
            'points the other way than in the driver')


def _ratio(arm: RestingArm) -> str:
    told = arm.told
    weight, measured = arm.weight[told], arm.measured[told]
    # several joints must agree on it
    if np.count_nonzero(np.abs(weight) > arm.tolerance[told]) < 2 or not weight.any():
        return ''
    ratio = float(weight @ measured / (weight @ weight))
    scaled = max(abs(ratio), 1.0)
    fits = np.all(np.abs(measured - ratio * weight) <= scaled * arm.tolerance[told])
    if not fits or abs(ratio - 1.0) < _USUAL or ratio == 0.0:
        return ''
    if abs(ratio - 2.0) < 2.0 * _USUAL:
        return ('likely gravity is there twice: both the driver and somebody else add it, or the '
                'masses in the URDF are half of the real ones')
    return (f'it is {ratio:.3g} times the weight in all joints: likely another unit, such as '
            'motor current, torque before the gear, or a percentage; the driver must tell N m at '
            'the joint')


def _payload(arm: RestingArm) -> str:
    told = arm.told
    scale = 1.0 / (arm.tolerance[told] + 1e-12)
    load, rest = arm.load[told] * scale, (arm.measured - arm.weight)[told] * scale
    if not load.any():
        return ''
    mass = float(load @ rest / (load @ load))
    own = float(arm.model.mass.sum())
    if not 0.0 < mass < _HEAVIEST * own or not arm.fits(arm.weight + mass * arm.load):
        return ''
    return (f"likely a payload is missing in the model: about {mass:.2g} kg at link '{arm.tip}' "
            'explain it; add it to the URDF, or publish it on ~/payload')


def _mounting(arm: RestingArm) -> str:
    told = arm.told
    scale = 1.0 / (arm.tolerance[told] + 1e-12)
    columns, rest = (arm.unit_weights[:, told] * scale).T, arm.measured[told] * scale
    # a gravity is three numbers: less than four joints would always find one
    if len(told) < 4 or np.linalg.matrix_rank(columns, tol=1e-3 * np.abs(columns).max()) < 3:
        return ''
    gravity = np.linalg.lstsq(columns, rest, rcond=None)[0]
    size = np.linalg.norm(gravity)
    if abs(size / STANDARD_GRAVITY - 1.0) > _SIZE or not arm.fits(gravity @ arm.unit_weights):
        return ''
    angle = _angle(gravity, arm.model.gravity)
    if angle < _TURNED:
        return ''
    found = ', '.join(f'{x:.2f}' for x in gravity)
    return (f'likely the arm is mounted another way: gravity ({found}) in the base frame, '
            f'{np.degrees(angle):.0f} degrees from the parameter gravity, explains it')


def _angle(a, b) -> float:
    sizes = np.linalg.norm(a) * np.linalg.norm(b)
    return float(np.arccos(np.clip(a @ b / sizes, -1.0, 1.0))) if sizes else np.pi


def _names(arm: RestingArm, joints: Sequence[int]) -> str:
    return ', '.join(f"'{arm.model.joint_names[j]}'" for j in joints)
