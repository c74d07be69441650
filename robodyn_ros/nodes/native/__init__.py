"""Native loops of controller and simulator: threads of machine code on the handles of rclpy."""
