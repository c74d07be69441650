"""The `robodyn` command: one folder per sub-command, and what several of them need."""
