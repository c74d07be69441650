"""
Tracking gains that depend on where the arm is.

At some configurations the natural frequency is multiplied by a factor; in between, factors are
blended with weights that fall off as exp(-distance^2 / 2 width^2) and sum to one. So a factor is
never outside those that are given.

What a varying frequency does to stability, for an error with e'' + kd f e' + kp f^2 e = 0: counted
in the time that runs as f does, it is e'' + (kd + f'/f^2) e' + kp e = 0, which has constant
stiffness and dies out as long as its damping stays positive. The factor is therefore changed by
no more than kd f^2 / 2 per second, and by no more than 1 per second, so that feedback goes over
slowly, too. The integral gain stays; it has to be stable with the least factor.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.gains import Gains
from robodyn_ros.control.settings import GainSchedule
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel


class ScheduledGains:
    """
    A gain schedule of one arm, checked.

    Parameters
    ----------
    model : RobotModel
        The arm.
    schedule : GainSchedule
        See there.

    Attributes
    ----------
    table : namespace
        The schedule as `steps.schedule` reads it: rows and factors, lists of nv numbers each;
        continuous, flags of joints that are one angle; sharpness, 1 / (2 width^2).

    Raises
    ------
    ParameterError
        Lengths that do not fit, or a value that is not positive.

    """

    def __init__(self, model: RobotModel, schedule: GainSchedule):
        rows, factors = _checked(model, schedule)
        self.table = SimpleNamespace(
            rows=rows.tolist(), factors=factors.tolist(),
            continuous=np.asarray(model.continuous, dtype=bool).tolist(),
            sharpness=float(0.5 / schedule.width ** 2))
        self._factors, self._joint_names = factors, model.joint_names

    def check(self, gains: Gains) -> None:
        """
        Check gains that are used where the factor is 1.

        Raises
        ------
        ParameterError
            An integral gain is too high for the least factor, naming the joint.

        """
        if not len(self._factors):
            return
        least = self._factors.min(axis=0)
        stable = (gains.ki == 0.0) | (gains.ki < gains.kp * gains.kd * least ** 3)
        if not stable.all():
            j = int(np.argmin(stable))
            raise ParameterError(
                f"ki of joint '{self._joint_names[j]}' is {gains.ki[j]:g}: where gain_schedule "
                f'takes the frequency down to {least[j]:g} of its value, the error dies out only '
                f'below {gains.kp[j] * gains.kd[j] * least[j] ** 3:.4g}; lower it, or raise the '
                'factor', parameter='ki', joint=self._joint_names[j])


def _checked(model: RobotModel, schedule: GainSchedule) -> tuple[np.ndarray, np.ndarray]:
    """Return configurations and factors, (k, nv) each; raises `ParameterError`."""
    nv = model.nv
    rows, factors = (np.array(values, dtype=float).ravel()
                     for values in (schedule.configurations, schedule.factors))
    count, rest = divmod(rows.size, nv)
    if rest:
        raise ParameterError(
            f'gain_schedule.configurations has {rows.size} values; give {nv} for '
            f'each configuration: {", ".join(model.joint_names)}',
            parameter='gain_schedule.configurations')
    if factors.size not in (count, count * nv):
        raise ParameterError(
            f'gain_schedule.factors has {factors.size} values for {count} configurations; give '
            f'one for each of them, or {nv}', parameter='gain_schedule.factors')
    factors = np.broadcast_to(factors.reshape(count, -1) if count else np.ones((0, nv)),
                              (count, nv))
    return rows.reshape(count, nv), factors
