"""
The control laws, one per file, in the notation of their textbooks.

A law is a function `law(arm, x)` over scalars: `arm` returns the terms of the equation of motion,
`x` holds the measured state `q, qd`, the reference `q_ref, qd_ref, qdd_ref`, the gains that the
law names, and further inputs (see `control.law`). It returns the terms of the torque, without
those common to all laws: friction along the reference, known external wrenches, and the effort of
a trajectory. `laws.table` lists them.
"""
