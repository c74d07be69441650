"""The `robodyn` command: one file per sub-command, each with `add_arguments` and `run`."""
