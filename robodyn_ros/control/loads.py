"""Moved."""

from robodyn_ros.dynamics.loads import check_gravity, Loads, with_slots  # noqa: F401
