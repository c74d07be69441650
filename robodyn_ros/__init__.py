"""
Rigid-body dynamics of a URDF robot, and ROS 2 nodes that control and simulate it.
"""
