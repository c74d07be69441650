"""How the arm answers a torque."""

from __future__ import annotations

from collections.abc import Callable

from robodyn_ros.dynamics import Dynamics, kernels


def response(tree, runtime, q, armature, torque):
    """Return the accelerations that joint torques above the weight cause at rest: M^-1 torque."""
    M = kernels.add_to_diagonal(kernels.mass_matrix(tree, runtime, q), armature)
    return kernels.solve(M, list(torque))


def compile_response(dynamics: Dynamics) -> Callable:
    """Return `response(q, armature, torque, out=None)` of one robot, compiled."""
    nv = dynamics.nv
    kernel = dynamics.kernel(response, dict.fromkeys(('q', 'armature', 'torque'), nv), (nv,),
                             'response')
    return kernel.builtin('response', response.__doc__)
