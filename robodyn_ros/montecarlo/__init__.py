"""Many simulated arms under the control cycle of a real one, with and without faults."""

from robodyn_ros.montecarlo.results import simulate_faults
from robodyn_ros.montecarlo.study import Job
from robodyn_ros.montecarlo.tracking import simulate

__all__ = ['Job', 'simulate', 'simulate_faults']
