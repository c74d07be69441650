"""The `robodyn` command: one file or package for each sub-command, and shared modules."""
