"""
Steps of the control cycle: pure functions over scalars, a file for each.

A step declares the part of the memory that it keeps (`Memory`) and the part of the program that it
obeys (`Program`) as blocks, and returns its next memory. On floats it computes; on symbols it is
traced, and compiled as a part of the cycle.
"""
