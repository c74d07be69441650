"""
One step of a simulated arm, as one kernel.

Semi-implicit. What a joint feels of itself (friction, stops) is taken at the end of the step:
`f+ = f + df/dqd qdd dt`, which goes to the left side of the equation as a diagonal. The step is
then stable however stiff a stop and however light a wrist is:

    (M + A + dt (D + d + dt k)) qdd = tau + J^T w - C qd - g - (D + d) qd - k (x + dt qd)
    qd+ = qd + dt qdd
    q+  = q + dt qd + dt^2/2 qdd

with armature A, drag D, and for a joint that meets a stop, from which it is x away (beyond it
where positive), stiffness k and damping d.

M, C and g are those of the middle of the step, `q + dt/2 qd`, at the velocity there. Without
friction the step is then of second order, and energy stays (within 1e-5 for a swinging pendulum
at 1 kHz); with M, C and g of its beginning a pendulum of 0.8 Hz doubles its energy in a minute.
"""

from __future__ import annotations

from robodyn_ros.dynamics.kernels import forward_dynamics
from robodyn_ros.dynamics.trace import maximum, minimum
from robodyn_ros.simulation import friction, stops

# arguments after q, qd, torque and external: one number per joint, but for `step`
CONSTANTS = ('effort_limit', 'damping', 'friction', 'armature', 'lower', 'upper',
             'stop_stiffness', 'stop_damping')
# rows of the result
POSITION, VELOCITY, ACCELERATION, APPLIED, FRICTION, STOP = range(6)
ROWS = 6


def plant_step(tree, runtime, q, qd, torque, external, effort_limit, damping, coulomb, armature,
               lower, upper, stiffness, stop_damping, step):
    """Return position, velocity, acceleration, and applied, friction and stop torques."""
    dt, joints = step[0], range(tree.nv)
    applied = [maximum(-effort_limit[i], minimum(torque[i], effort_limit[i])) for i in joints]
    D = [friction.drag(qd[i], damping[i], coulomb[i]) for i in joints]
    force = [applied[i] + external[i] - D[i] * qd[i] for i in joints]
    inertia = [armature[i] + dt * D[i] for i in joints]
    middle = [q[i] + 0.5 * dt * qd[i] for i in joints]
    # where the joints would go if there were no stops tells which of these they meet, and how
    # fast they are in the middle of the step
    free = forward_dynamics(tree, runtime, middle, qd, force, inertia)
    v = [qd[i] + dt * free[i] for i in joints]
    halfway = [qd[i] + 0.5 * dt * free[i] for i in joints]
    depth = [stops.penetration(q[i] + dt * v[i], lower[i], upper[i]) for i in joints]
    x = [depth[i] - dt * v[i] for i in joints]
    k, d = stiffness, stop_damping
    # twice, because a stop that others relieve would pull
    for _ in range(2):
        touch = [stops.pushes(depth[i], x[i] + dt * v[i], v[i], k[i], d[i]) for i in joints]
        k = [touch[i] * k[i] for i in joints]
        d = [touch[i] * d[i] for i in joints]
        qdd = forward_dynamics(
            tree, runtime, middle, halfway,
            [force[i] - d[i] * qd[i] - k[i] * (x[i] + dt * qd[i]) for i in joints],
            [inertia[i] + dt * (d[i] + dt * k[i]) for i in joints])
        v = [qd[i] + dt * qdd[i] for i in joints]
    return [
        [q[i] + dt * (qd[i] + 0.5 * dt * qdd[i]) for i in joints], v, qdd, applied,
        [-D[i] * v[i] for i in joints],
        [-d[i] * v[i] - k[i] * (x[i] + dt * v[i]) for i in joints]]
