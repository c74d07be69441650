"""The guard node: holds the arm when its controller falls silent."""
