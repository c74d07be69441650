"""The guard node: holds the arm when the controller falls silent."""
