"""Parameters of external laws: control law plugin and linear feedback."""

from __future__ import annotations

from types import SimpleNamespace

from robodyn_ros.control import LinearBounds, load_own_law
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.nodes.parameters import Parameter

EXTERNAL_LAW_PARAMETERS = (
    Parameter('own_law', 'string', '', 'Control law of the mode own_law: module:function '
              '(compiled), module:Class (Python), or the name of an entry point in the group '
              'robodyn_ros.control_laws.', read_only=True),
    Parameter('own_law_deadline', 'double', 5e-4, 'Longest computation time of own_law; a longer '
              'one stops the arm.', 's', minimum=1e-5, maximum=1.0, read_only=True),
    Parameter('linear_feedback.timeout', 'double', 0.1, 'Time for which a message on '
              '~/linear_feedback is valid.', 's', minimum=0.001, maximum=1.0),
    Parameter('linear_feedback.largest_error', 'double', 0.3, 'Largest difference between the '
              'position in a message and the measured one.', 'rad or m', minimum=0.0,
              maximum=10.0),
    Parameter('linear_feedback.largest_torque', 'double', 1.5, 'Largest torque of a message at '
              'the measured state, as a multiple of the effort limits; above 1 it is clamped.',
              minimum=0.0, maximum=100.0),
    Parameter('linear_feedback.largest_growth', 'double', 5.0, 'Largest growth rate of a mode of '
              'the linear model under the gains of a message; 0 for damped modes.', '1/s',
              minimum=0.0, maximum=1000.0),
)


def own_law_from(values: SimpleNamespace, dynamics: Dynamics):
    """Return the control law of the user, None if there is none; raise as `load_own_law`."""
    if not values.own_law:
        return None
    return load_own_law(values.own_law, dynamics, values.own_law_deadline)


def linear_from(values: SimpleNamespace) -> LinearBounds:
    """Return the bounds of linear feedback."""
    return LinearBounds(
        values.linear_feedback_timeout, values.linear_feedback_largest_error,
        values.linear_feedback_largest_torque, values.linear_feedback_largest_growth)
