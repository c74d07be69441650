"""Parameters of what is plausible of the states that are measured."""

from __future__ import annotations

import math
from types import SimpleNamespace

from robodyn_ros.control.settings import PlausibilitySettings, VELOCITY_SOURCES
from robodyn_ros.nodes.parameters import Parameter

PLAUSIBILITY_PARAMETERS = (
    Parameter('velocity_source', 'string', 'auto', 'Source of the velocities. auto: the joint '
              'states, or an estimate from positions where they have none or disagree with '
              'positions. measured: the joint states alone. estimated: positions alone.',
              choices=VELOCITY_SOURCES, read_only=True),
    Parameter('velocity_filter', 'double', 0.005, 'Time constant of estimated velocities, at '
              'least one period of the states. They are late by twice as much, and feedback is '
              'lowered to what that permits; a shorter one lets more of the resolution of the '
              'encoders through.', 's', minimum=1e-4, maximum=0.1, read_only=True),
    Parameter('plausibility.motion', 'double', 0.005, 'Motion from which on velocities are '
              'compared with positions: above resolution and noise, here three steps of an '
              'encoder of 12 bits. .inf: no comparison.', 'rad or m', minimum=1e-6,
              maximum=math.inf, read_only=True),
    Parameter('plausibility.velocity_lag', 'double', 0.025, 'Lag of measured velocities that is '
              'no disagreement: that of a filter in the driver, for example. At least 2.5 periods '
              'of the states.', 's', minimum=1e-3, maximum=1.0, read_only=True),
    Parameter('plausibility.repeated', 'double', 0.005, 'Motion that states may hide which repeat '
              'position and velocity of all joints: from there on they count as silence. .inf: '
              'they always count.', 'rad or m', minimum=1e-6, maximum=math.inf, read_only=True),
    Parameter('overspeed', 'double', 1.2, 'Part of its velocity limit from which on a joint is '
              'too fast: it is braked, and a fault is latched. Above the overshoot of usual '
              'gains. .inf: never.', minimum=1.01, maximum=math.inf, read_only=True),
    Parameter('overspeed_time', 'double', 0.02, 'Time for which a joint may be too fast; two '
              'states where it exceeds its limit by twice as much.', 's', minimum=1e-3,
              maximum=1.0, read_only=True),
)


def plausibility_from(values: SimpleNamespace) -> PlausibilitySettings:
    """Return what the parameters ask for."""
    return PlausibilitySettings(
        values.velocity_source, values.velocity_filter, values.plausibility_motion,
        values.plausibility_velocity_lag, values.plausibility_repeated, values.overspeed,
        values.overspeed_time)
