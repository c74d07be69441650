"""
Steps of the control cycle: pure functions over scalars, one per file.

A step declares its part of the memory (`Memory`) and of the program (`Program`) as blocks, and
returns its next memory. It computes on floats; on symbols it is traced, and compiled as a part of
the cycle.
"""
