"""The control cycle and the dynamics of an arm, for use without Python."""
