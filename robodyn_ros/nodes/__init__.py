"""
Nodes of ROS 2, and what they share.

Which thread does what:

controller/    main thread: callbacks, periodic tasks (`node`), and the loop where Python has it
               (`control_loop`); a thread of machine code: the native loop (`native`), or a process
               of ros2_control (`shared`)
trajectories/  of the controller, in its main thread; long ones are read and checked in a thread
native/        the loops in machine code of controller and simulator, on the handles of rclpy
guard/         one thread, in a process of its own
simulator/     one thread that steps the arm, or a native loop
view/          one thread for a page, which has threads of its own
"""
