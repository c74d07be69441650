"""
The fault campaign of real processes, of the arms that come with the package.

`python -m tools.campaign` in a checkout; compiled runs of any arm: `robodyn montecarlo --faults`.
"""
