"""What the control law of an arm costs on this machine."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from robodyn_ros.cli.bench.timing import by_turns, Call, Effort, quartiles
from robodyn_ros.cli.check.workspace import reach, usable_limits
from robodyn_ros.control import ControlLaw, make_gains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.trajectory import Reference

_EFFORT = Effort(patience=0.2)


class LoopCost(NamedTuple):
    """
    Price of one torque, without ROS around it.

    Attributes
    ----------
    what : str
        What was timed.
    microseconds : float
        Median of a call.
    ready : float
        Seconds until it was compiled, or loaded from the cache.

    """

    what: str
    microseconds: float
    ready: float


def measure(dynamics: Dynamics) -> LoopCost:
    """Return the cost of the whole computed-torque law; of inverse dynamics if it has no gains."""
    begin = time.perf_counter()
    try:
        what, call = 'computed-torque law, all terms', law_call(dynamics)
    except RobodynError:  # a joint that moves no mass has no gains
        names = {'dyn': dynamics, 'q': _middle(dynamics), 'zero': np.zeros(dynamics.nv)}
        what, call = 'inverse dynamics', Call('dyn.inverse_dynamics(q, zero, zero)', names)
    call.result()
    ready = time.perf_counter() - begin
    seconds = by_turns([call.timer()], _EFFORT)
    return LoopCost(what, 1e6 * quartiles(seconds[:, 0])[1], ready)


def law_call(dynamics: Dynamics) -> Call:
    """
    Return a call of the law in the middle of the position limits.

    Raises
    ------
    RobodynError
        There are no gains for this robot.

    """
    q = _middle(dynamics)
    law = ControlLaw(dynamics, make_gains(dynamics), effort_limit=usable_limits(dynamics.model))
    return Call('law.follow(q, zero, reference)', {
        'law': law, 'q': q, 'zero': np.zeros(dynamics.nv), 'reference': Reference.at_rest(q)})


def _middle(dynamics: Dynamics) -> np.ndarray:
    low, high = reach(dynamics.model)
    return 0.5 * (low + high)
