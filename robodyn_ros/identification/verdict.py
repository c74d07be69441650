"""Judgement of an identification, joint by joint: whether its result may be used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.identification.estimate import Estimate

MAX_RESIDUAL = 0.3  # largest residual of the held-back torque of a joint
_MAX_NOISE = 0.9     # the same where it is noise of the efforts
_NOISE = 2.5         # number of successive errors per independent one up to which they are noise
_EXACT = 0.01        # residual below which models count as equally good
_ALIKE = 1.1         # ratio of residuals up to which models count as equally good
_UNIT = 2.0          # ratio of effort and torque that no error of masses explains


def validation_failures(names: Sequence[str], found: Estimate) -> list[str]:
    """
    Return the reasons why results must not be used, one for each joint; [] if all pass.

    A joint fails if more than 30 % of its held-back torque are not explained (90 % where the
    residual is noise, as of a light wrist), if the URDF explains it better, or if its efforts are
    in another unit, which nothing that was estimated accounts for: also where only the scale of
    the other joints was found.

    Parameters
    ----------
    names : sequence of str
        Names of the joints, in model order.
    found : Estimate
        Result of an identification.

    """
    if not np.isfinite(found.held_back).any():
        return ['no motion in the held-back part of the recording: record longer']
    ratio = unexplained_ratios(found)
    scales = found.joints.get('scale', [])
    known = [abs(each.value) for each in scales if each.margin]
    currents = bool(known) and bool(_strange(np.array(known)).all())
    reasons = []
    most = np.where(found.correlation > _NOISE, MAX_RESIDUAL, _MAX_NOISE)
    for j, (name, residual, urdf, unit, bound) in enumerate(
            zip(names, found.held_back, found.urdf, ratio, most)):
        if np.isfinite(unit):
            reasons.append(
                f'joint {name!r}: the efforts are {unit:.3g} times the torque of the URDF: '
                'currents or counts of the driver, or masses that the URDF lacks; give the driver '
                'its torque constant (--estimate friction,scale measures the factor), or add the '
                'load to the URDF')
        elif currents and not scales[j].margin and np.isfinite(residual):
            reasons.append(
                f'joint {name!r}: the scale of its efforts is not determined, its friction hides '
                f'the torque of the URDF, and those of other joints are {min(known):.3g} to '
                f'{max(known):.3g}: give the driver its torque constant')
        elif residual > bound:
            reasons.append(
                f'joint {name!r}: {100.0 * residual:.3g} % of the held-back torque are not '
                f'explained, more than {100.0 * bound:g} %: check the stamps of the '
                'recording (are they even?), the unit of its efforts, and the URDF')
        elif residual > max(_ALIKE * urdf, _EXACT):
            reasons.append(
                f'joint {name!r}: the URDF is more accurate, {100.0 * urdf:.3g} % of the '
                f'held-back torque instead of {100.0 * residual:.3g} %')
    return reasons


def unexplained_ratios(found: Estimate) -> np.ndarray:
    """
    Return the ratio of effort and torque of the joints whose efforts have another unit, (nv,).

    NaN where there is no doubt. Inertias that are estimated explain a ratio as wrong masses,
    unless that of all joints is far from 1.
    """
    ratio = np.abs(found.effort_ratio)
    strange = _strange(ratio)
    if found.payload or 'scale' in found.joints or (
            found.base and not strange[np.isfinite(ratio)].all()):
        strange[:] = False
    return np.where(strange, ratio, np.nan)


def _strange(ratio: np.ndarray) -> np.ndarray:
    """Return which ratios of effort and torque no error of masses explains."""
    return (ratio > _UNIT) | (ratio < 1.0 / _UNIT)
