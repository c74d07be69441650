"""ROS side of the page that shows an arm, and markers for RViz."""
