"""The controller node: its cycle, what it hears and says, how it starts and leaves."""
