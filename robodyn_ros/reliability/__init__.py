"""Every fault that an arm may suffer, many times, and what becomes of it; and a long run."""
