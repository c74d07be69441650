"""Computation time of the control law, and picture of the loops that a controller measured."""

from __future__ import annotations

from collections.abc import Mapping
import math
from pathlib import Path
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.control import ControlLaw, make_gains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.inspection.timing import Budget, Call, interleaved_times, quartiles
from robodyn_ros.inspection.workspace import reach, usable_limits
from robodyn_ros.picture import colour, picture
from robodyn_ros.safety.loop_margin import gain_margin, phase_margin
from robodyn_ros.trajectory import Reference

_POINTS = 400
_SPAN = 0.1, 30.0  # of the natural frequency

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


def open_loop(frequency: ArrayLike, kp: float, kd: float, delay: float, gain: float = 1.0
              ) -> NDArray:
    """
    Return the open loop of a joint, gain (kd s + kp) e^(-s T) / s^2, as complex numbers.

    Parameters
    ----------
    frequency : (n,) array_like
        rad/s.
    kp, kd : float
        1/s^2 and 1/s.
    delay : float
        T from torque to velocity, s.
    gain : float
        Inertia of the model over that at high frequency.

    """
    s = 1j * np.asarray(frequency, dtype=float)
    return gain * (kd * s + kp) * np.exp(-s * delay) / s ** 2


def draw(path: Path, loops: Mapping[str, Mapping[str, float]]) -> None:
    """Draw gain and phase over frequency, measured, and without delay as in the model (dashed)."""
    with picture(path, 2, 1, sharex=True, figsize=(8.0, 7.0), layout='constrained') as (_, axes):
        above, below = axes
        for k, (name, loop) in enumerate(loops.items()):
            kp, kd, delay, gain = (loop[each] for each in ('kp', 'kd', 'delay', 'gain'))
            wn = math.sqrt(gain * kp)
            w = wn * np.geomspace(*_SPAN, _POINTS)
            margins = (wn, 0.5 * gain * kd / wn, delay)
            label = (f'{name}: {1e3 * delay:.1f} ms, {math.degrees(phase_margin(*margins)):.0f} '
                     f'deg, {20.0 * math.log10(gain_margin(*margins)):.0f} dB')
            for style, response in (('-', open_loop(w, kp, kd, delay, gain)),
                                    ('--', open_loop(w, kp, kd, 0.0))):
                phase = np.degrees(np.unwrap(np.angle(response)))
                given = {'color': colour(k), 'linestyle': style,
                         'label': label if style == '-' else None}
                above.loglog(w / math.tau, np.abs(response), **given)
                turns = 360.0 * round(phase[0] / 360.0 + 0.5)
                below.semilogx(w / math.tau, phase - turns, **given)
            if loop['resonance']:
                above.axvline(loop['resonance'], color=colour(k), linestyle=':')
        above.axhline(1.0, color='black', linewidth=0.8)
        below.axhline(-180.0, color='black', linewidth=0.8)
        below.set_ylim(-360.0, -60.0)
        above.set_title('Open loop of each joint: delay, phase and gain margin')
        above.set_ylabel('gain')
        below.set_ylabel('phase (deg)')
        below.set_xlabel('frequency (Hz); dashed: without delay; dotted: first resonance')
        above.legend(fontsize=9)
