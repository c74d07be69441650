"""
Covariance of estimates whose residuals are neither white nor equally large everywhere.

Residuals are large where joints reverse, alike in successive equations, and in several joints at
once. What they do to the estimates is seen when blocks of time are left out in turn. With the
score s_b and the information H_b of block b, the information H of all data and of the prior P,

    z_b - z = (H - H_b)^-1 s_b,    cov z = (B - 1) / B sum_b (z_b - z) (z_b - z)^T + H^-1 P H^-1.

Sources: Kuensch, The jackknife and the bootstrap for general stationary observations, 1989 (blocks
of time); Bell and McCaffrey, Bias reduction in standard errors for linear regression with
multi-stage samples, 2002 (without a block the estimate is unbiased, unlike its residuals).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.identification.equations import Equations
from robodyn_ros.identification.fit import Fit, linearized

_PERIODS = 2.5      # least length of a block, in periods of the cutoff of the equations
_BLOCKS = (10, 40)  # fewest and most blocks


def block_covariance(fit: Fit, joints: list[Equations], cutoff: float) -> NDArray:
    """
    Return the covariance of a solution by the block jackknife, (p, p).

    Parameters
    ----------
    fit : Fit
        Solution.
    joints : list of Equations
        Its equations.
    cutoff : float
        Cutoff frequency of the equations (Hz).

    """
    residuals, derivative = linearized(fit, joints)
    times = np.concatenate([joint.times for joint in joints])
    begin, duration = times.min(), max(np.ptp(times), 1e-9)
    count = int(np.clip(duration * cutoff / _PERIODS, *_BLOCKS))
    block = np.minimum((count * (times - begin) / duration).astype(int), count - 1)
    prior = np.diag(fit.spread ** -2.0)
    information = derivative.T @ derivative + prior
    changes = []
    for each in np.unique(block):
        own = derivative[block == each]
        changes.append(np.linalg.solve(information - own.T @ own,
                                       own.T @ residuals[block == each]))
    inverse = np.linalg.inv(information)
    number = len(changes)
    return ((number - 1) / number * np.transpose(changes) @ np.array(changes)
            + inverse @ prior @ inverse)
