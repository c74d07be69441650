"""A page in the browser that shows an arm, and lets a person push it; knows nothing of ROS."""
