"""Programs of the maintainers, which run in a checkout."""
