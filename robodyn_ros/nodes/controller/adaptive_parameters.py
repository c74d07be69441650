"""Parameters of what the controller learns, and of gains that depend on where the arm is."""

from __future__ import annotations

from types import SimpleNamespace

from robodyn_ros.control.adaptive.adaptation import AdaptationSettings
from robodyn_ros.control.gain_schedule import GainSchedule
from robodyn_ros.nodes.parameter import Parameter

ADAPTIVE_PARAMETERS = (
    Parameter('adaptive.link', 'string', '', 'Link that holds the payload which the mode adaptive '
              'learns; empty: the tip.', read_only=True),
    Parameter('adaptive.rate', 'double', 5.0, 'How fast the mode adaptive learns; 0: not at all.',
              'kg s/(N m rad)', minimum=0.0, maximum=1000.0),
    Parameter('adaptive.sliding', 'double_array', (), 'How fast the error of the mode adaptive '
              'dies out; below kd, empty: a quarter of it.', '1/s', minimum=0.0, maximum=500.0,
              per_joint=True),
    Parameter('adaptive.largest_mass', 'double', 8.0, 'That can be learned; leave room for what '
              'sits away from the link, see adaptive.size.', 'kg', minimum=0.001, maximum=1000.0),
    Parameter('adaptive.size', 'double', 0.15, 'About how far the payload reaches from the origin '
              'of its link.', 'm', minimum=0.001, maximum=10.0),
    Parameter('adaptive.dead_zone', 'double', 0.01, 'Error of velocity, that of position times '
              'adaptive.sliding included, that is noise and teaches nothing.', 'rad/s or m/s',
              minimum=0.0, maximum=10.0),
)
SCHEDULE_PARAMETERS = (
    Parameter('gain_schedule.configurations', 'double_array', (), 'Configurations of the arm, one '
              'after the other, at which natural_frequency has a factor of its own; empty: the '
              'gains are the same everywhere.', 'rad or m', read_only=True),
    Parameter('gain_schedule.factors', 'double_array', (), 'On natural_frequency, one for each of '
              'these configurations, or one for each of their positions.',
              minimum=0.01, maximum=100.0, read_only=True),
    Parameter('gain_schedule.width', 'double', 0.5, 'Distance over which a configuration has its '
              'say.', 'rad or m', minimum=0.001, maximum=100.0, read_only=True),
)


def adaptation_from(values: SimpleNamespace) -> AdaptationSettings:
    """Return how a payload is learned."""
    return AdaptationSettings(
        values.adaptive_link, values.adaptive_rate, values.adaptive_largest_mass,
        values.adaptive_size, values.adaptive_dead_zone)


def schedule_from(values: SimpleNamespace) -> GainSchedule:
    """Return how the gains depend on where the arm is."""
    return GainSchedule(values.gain_schedule_configurations, values.gain_schedule_factors,
                        values.gain_schedule_width)
