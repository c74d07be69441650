"""Bridges: an arm whose vendor has a library, as joint states and effort commands of ROS."""
