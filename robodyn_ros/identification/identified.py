"""Identification of a recording, with the cutoff frequency that its noise admits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.identification.dry_friction import DryFriction, SHAPES
from robodyn_ros.identification.equations import excerpt, RegressionData
from robodyn_ros.identification.estimate import Estimate, estimate
from robodyn_ros.identification.recording import Recording

_POOR = 0.05      # mean residual of the held-back torque above which lower cutoffs are tried
_BETTER = 0.7     # ratio of residuals from which on a lower cutoff is the better one
_LOWEST = 2.0     # Hz, lowest cutoff to try
_FACTOR = 0.5
_GOOD = 0.01      # mean residual above which other models are tried


class Identified(NamedTuple):
    """
    Result of an identification.

    Attributes
    ----------
    data : RegressionData
        Equations.
    found : Estimate
        Estimates.
    remark : str
        Why the cutoff frequency was lowered, or which one or which other options to try; '' if
        there is no reason to.

    """

    data: RegressionData
    found: Estimate
    remark: str


def identify(dynamics: Dynamics, recording: Recording, groups: Collection[str],
             cutoff: float | None = None, period: float | None = None,
             dry: DryFriction | None = None, tick: Callable[[str], None] = lambda text: None,
             **options) -> Identified:
    """
    Return the estimate of a recording.

    Where the held-back torque is not explained well, lower cutoff frequencies are tried. One that
    mends it is used, or is named if a cutoff is given. Another shape of dry friction, or rotors,
    that explain much more are named.

    Parameters
    ----------
    dynamics, recording, cutoff, period, dry
        As for `excerpt`.
    groups
        As for `estimate`.
    tick : callable
        Called with a line about each further attempt.
    **options
        Further arguments of `estimate`.

    Raises
    ------
    RobodynError
        As `excerpt` and `estimate`.

    """
    def attempt(at: float | None, friction=dry, what=groups) -> tuple[RegressionData, Estimate]:
        data = excerpt(dynamics, recording, at, period, friction)
        return data, estimate(dynamics, data, what, **options)

    first = best = attempt(cutoff)
    while mean_residual(best[1]) > _POOR:
        lower = _FACTOR * best[0].filters.position
        if lower < _LOWEST:
            break
        tick(f'try a cutoff of {lower:.3g} Hz')
        try:
            other = attempt(lower)
        except ArgumentError:  # too few equations are left
            break
        if not mean_residual(other[1]) < _BETTER * mean_residual(best[1]):
            break
        best = other
    data, found = best if cutoff is None else first
    remarks = []
    if best is not first:
        before, after = (f'{100.0 * mean_residual(each[1]):.3g} %' for each in (first, best))
        high, low = (f'{each[0].filters.position:.3g}' for each in (first, best))
        remarks.append(
            f'the cutoff was lowered from {high} to {low} Hz: {after} of the held-back torque are '
            f'not explained instead of {before}' if cutoff is None else
            f'{before} of the held-back torque are not explained, and {after} with --cutoff '
            f'{low}: noise of the positions is likely')
    # of a cutoff that is too high, noise is the reason
    if mean_residual(found) > _GOOD and (cutoff is None or best is first):
        remarks += _better_model(data, found, groups, attempt, tick)
    return Identified(data, found, '; '.join(remarks))


def _better_model(data: RegressionData, found: Estimate, groups: Collection[str],
                  attempt: Callable[..., tuple[RegressionData, Estimate]],
                  tick: Callable[[str], None]) -> list[str]:
    """Return a remark about options that explain much more of the torque, if any do."""
    others: dict[str, tuple[DryFriction, Collection[str]]] = {}
    if 'friction' in groups:
        others = {f'--friction {shape}': (DryFriction(shape, data.dry.load), groups)
                  for shape in SHAPES[SHAPES.index(data.dry.shape) + 1:]}
    if 'armature' not in groups:
        more = [*groups, 'armature']
        others[f'--estimate {",".join(more)}'] = data.dry, more
    residuals = {}
    for option, (dry, what) in others.items():
        tick(f'try {option}')
        try:
            residuals[option] = mean_residual(attempt(data.filters.position, dry, what)[1])
        except ArgumentError:  # this model has no valid estimate
            continue
    now, best = mean_residual(found), min(residuals, key=lambda each: residuals[each], default='')
    if not best or not residuals[best] < _BETTER * now:
        return []
    return [f'{100.0 * now:.3g} % of the held-back torque are not explained, and '
            f'{100.0 * residuals[best]:.3g} % with {best}']


def mean_residual(found: Estimate) -> float:
    """Return the mean relative residual of the held-back torque; NaN without data."""
    held_back = found.held_back[np.isfinite(found.held_back)]
    return float(held_back.mean()) if len(held_back) else float('nan')
