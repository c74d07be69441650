"""Parameters of the payload adaptation and of the gain schedule."""

from __future__ import annotations

from types import SimpleNamespace

from robodyn_ros.control.adaptive.adaptation import AdaptationSettings
from robodyn_ros.control.gain_schedule import GainSchedule
from robodyn_ros.nodes.parameter import Parameter

ADAPTIVE_PARAMETERS = (
    Parameter('adaptive.link', 'string', '', 'Link of the payload that the mode adaptive '
              'estimates; empty: the tip.', read_only=True),
    Parameter('adaptive.rate', 'double', 5.0, 'Adaptation rate of the mode adaptive; 0: no '
              'adaptation.', 'kg s/(N m rad)', minimum=0.0, maximum=1000.0),
    Parameter('adaptive.sliding', 'double_array', (), 'Decay rate Lambda of the position error in '
              'the mode adaptive (Slotine and Li); below kd, empty: a quarter of it.', '1/s',
              minimum=0.0, maximum=500.0, per_joint=True),
    Parameter('adaptive.largest_mass', 'double', 8.0, 'Upper bound of the estimated mass, with a '
              'margin for a payload away from the origin of the link, see adaptive.size.', 'kg',
              minimum=0.001, maximum=1000.0),
    Parameter('adaptive.size', 'double', 0.15, 'Approximate extent of the payload from the origin '
              'of its link.', 'm', minimum=0.001, maximum=10.0),
    Parameter('adaptive.dead_zone', 'double', 0.01, 'Dead zone of the adaptation: velocity error '
              'plus adaptive.sliding times position error that is taken for noise.',
              'rad/s or m/s', minimum=0.0, maximum=10.0),
)
SCHEDULE_PARAMETERS = (
    Parameter('gain_schedule.configurations', 'double_array', (), 'Configurations of the gain '
              'schedule, one after the other; empty: the gains are the same everywhere.',
              'rad or m', read_only=True),
    Parameter('gain_schedule.factors', 'double_array', (), 'Factors of natural_frequency, one for '
              'each of these configurations, or one for each of their positions.',
              minimum=0.01, maximum=100.0, read_only=True),
    Parameter('gain_schedule.width', 'double', 0.5, 'Distance over which the influence of a '
              'configuration decays.', 'rad or m', minimum=0.001, maximum=100.0, read_only=True),
)


def adaptation_from(values: SimpleNamespace) -> AdaptationSettings:
    """Return the settings of the adaptation."""
    return AdaptationSettings(
        values.adaptive_link, values.adaptive_rate, values.adaptive_largest_mass,
        values.adaptive_size, values.adaptive_dead_zone)


def schedule_from(values: SimpleNamespace) -> GainSchedule:
    """Return the gain schedule."""
    return GainSchedule(values.gain_schedule_configurations, values.gain_schedule_factors,
                        values.gain_schedule_width)
