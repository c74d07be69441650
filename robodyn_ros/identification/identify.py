"""Identification of a recording, with the cutoff frequency that its noise admits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.identification.dry_friction import DryFriction
from robodyn_ros.identification.equations import Excerpt, excerpt
from robodyn_ros.identification.estimate import Estimate, estimate
from robodyn_ros.identification.recording import Recording

_POOR = 0.05      # mean residual of the held-back torque above which lower cutoffs are tried
_BETTER = 0.7     # ratio of residuals from which on a lower cutoff is the better one
_LOWEST = 2.0     # Hz, lowest cutoff to try
_FACTOR = 0.5


class Identified(NamedTuple):
    """
    Result of an identification.

    Attributes
    ----------
    data : Excerpt
        Equations.
    found : Estimate
        Estimates.
    remark : str
        Why the cutoff frequency was lowered, or which one to try; '' if there is no reason to.

    """

    data: Excerpt
    found: Estimate
    remark: str


def identify(dynamics: Dynamics, recording: Recording, groups: Collection[str],
             cutoff: float | None = None, period: float | None = None,
             dry: DryFriction | None = None, tick: Callable[[str], None] = lambda text: None,
             **options) -> Identified:
    """
    Return the estimate of a recording.

    Where the held-back torque is not explained well, lower cutoff frequencies are tried. One that
    mends it is used, or is named if a cutoff is given.

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
    def attempt(at: float | None) -> tuple[Excerpt, Estimate]:
        data = excerpt(dynamics, recording, at, period, dry)
        return data, estimate(dynamics, data, groups, **options)

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
    if best is first:
        return Identified(*first, '')
    before, after = (f'{100.0 * mean_residual(each[1]):.3g} %' for each in (first, best))
    high, low = (f'{each[0].filters.position:.3g}' for each in (first, best))
    if cutoff is not None:
        return Identified(*first, f'{before} of the held-back torque are not explained, and '
                          f'{after} with --cutoff {low}: noise of the positions is likely')
    return Identified(*best, f'the cutoff was lowered from {high} to {low} Hz: {after} of the '
                      f'held-back torque are not explained instead of {before}')


def mean_residual(found: Estimate) -> float:
    """Return the mean relative residual of the held-back torque; NaN without data."""
    held_back = found.held_back[np.isfinite(found.held_back)]
    return float(held_back.mean()) if len(held_back) else float('nan')
