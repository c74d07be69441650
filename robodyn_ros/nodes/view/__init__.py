"""What a page that shows an arm has to do with ROS, and markers for RViz."""
