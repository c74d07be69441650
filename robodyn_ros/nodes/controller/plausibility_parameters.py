"""Parameters of the plausibility of measured states."""

from __future__ import annotations

import math
from types import SimpleNamespace

from robodyn_ros.control.settings import PlausibilitySettings, VELOCITY_SOURCES
from robodyn_ros.nodes.parameters import Parameter

PLAUSIBILITY_PARAMETERS = (
    Parameter('velocity_source', 'string', 'auto', 'Source of the velocities. auto: the joint '
              'states, or an estimate from positions where they have none or disagree with '
              'positions. measured: only the joint states. estimated: only positions.',
              choices=VELOCITY_SOURCES, read_only=True),
    Parameter('velocity_filter', 'double', 0.005, 'Time constant of estimated velocities, at '
              'least one period of the states. Their delay is twice as long, and feedback is '
              'lowered accordingly; a shorter time passes more quantization noise of the '
              'encoders.', 's', minimum=1e-4, maximum=0.1, read_only=True),
    Parameter('plausibility.motion', 'double', 0.005, 'Smallest motion after which velocities are '
              'compared with positions: above resolution and noise, here three steps of a '
              '12-bit encoder. .inf: no comparison.', 'rad or m', minimum=1e-6,
              maximum=math.inf, read_only=True),
    Parameter('plausibility.velocity_lag', 'double', 0.025, 'Accepted lag of measured velocities, '
              'for example of a filter in the driver. At least 2.5 periods of the states.', 's',
              minimum=1e-3, maximum=1.0, read_only=True),
    Parameter('plausibility.repeated', 'double', 0.005, 'Possible motion after which states that '
              'repeat position and velocity of all joints count as silence. .inf: they never do.',
              'rad or m', minimum=1e-6, maximum=math.inf, read_only=True),
    Parameter('overspeed', 'double', 1.2, 'Multiple of its velocity limit above which a joint is '
              'too fast: it is braked, and a fault is latched. Above the overshoot of usual '
              'gains. .inf: never.', minimum=1.01, maximum=math.inf, read_only=True),
    Parameter('overspeed_time', 'double', 0.02, 'Time for which a joint may be too fast; two '
              'states if it exceeds its limit by twice as much.', 's', minimum=1e-3,
              maximum=1.0, read_only=True),
)


def plausibility_from(values: SimpleNamespace) -> PlausibilitySettings:
    """Return the plausibility settings."""
    return PlausibilitySettings(
        values.velocity_source, values.velocity_filter, values.plausibility_motion,
        values.plausibility_velocity_lag, values.plausibility_repeated, values.overspeed,
        values.overspeed_time)
