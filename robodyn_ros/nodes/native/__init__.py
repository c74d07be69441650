"""The loop of the controller in machine code: between the handles that rclpy has made."""
