"""One arm under control: what is requested of its cycle, checked before, and what it reports."""
