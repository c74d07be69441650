"""What maintainers do with compiled fault runs: millions, replays, searches for the worst."""
