"""Computation time of the control law of an arm on this machine."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from robodyn_ros.cli.bench.timing import Budget, Call, interleaved_times, quartiles
from robodyn_ros.cli.check.workspace import reach, usable_limits
from robodyn_ros.control import ControlLaw, make_gains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.trajectory import Reference

_BUDGET = Budget(total=0.2)


class LoopCost(NamedTuple):
    """
    Computation time of the torques of one cycle, without ROS.

    Attributes
    ----------
    what : str
        Name of the timed function.
    microseconds : float
        Median time of a call, in us.
    ready : float
        Time until it was compiled, or loaded from the cache, in s.

    """

    what: str
    microseconds: float
    ready: float


def measure(dynamics: Dynamics) -> LoopCost:
    """Return the cost of the computed-torque law; of inverse dynamics if gains are impossible."""
    begin = time.perf_counter()
    try:
        what, call = 'computed-torque law, all terms', law_call(dynamics)
    except RobodynError:  # gains need mass at every joint
        names = {'dyn': dynamics, 'q': _middle(dynamics), 'zero': np.zeros(dynamics.nv)}
        what, call = 'inverse dynamics', Call('dyn.inverse_dynamics(q, zero, zero)', names)
    call.result()
    ready = time.perf_counter() - begin
    seconds = interleaved_times([call.timer()], _BUDGET)
    return LoopCost(what, 1e6 * quartiles(seconds[:, 0])[1], ready)


def law_call(dynamics: Dynamics) -> Call:
    """
    Return a call of the law in the middle of the position limits.

    Raises
    ------
    RobodynError
        Gains cannot be made for this robot.

    """
    q = _middle(dynamics)
    law = ControlLaw(dynamics, make_gains(dynamics), effort_limit=usable_limits(dynamics.model))
    return Call('law.follow(q, zero, reference)', {
        'law': law, 'q': q, 'zero': np.zeros(dynamics.nv), 'reference': Reference.at_rest(q)})


def _middle(dynamics: Dynamics) -> np.ndarray:
    low, high = reach(dynamics.model)
    return 0.5 * (low + high)
