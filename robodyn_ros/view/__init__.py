"""A page in the browser that shows an arm and drags the links of a simulated one, without ROS."""
