"""
Integrators of the rigid bodies for one step, without friction and stops.

Each is a function `(tree, runtime, q, qd, qdd, force, inertia, dt)` of the state, the last
acceleration, the joint forces of this step and the inertias of the motors. It returns

- M and b of `M qdd = force - b`, to which friction and stops are added (see `step`);
- a function of the acceleration of the step that returns the position at its end.

The velocity at the end is always `qd + dt qdd`.
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms import add_to_diagonal, bias, forward_dynamics, mass_matrix


def midpoint(tree, runtime, q, qd, qdd, force, inertia, dt):
    """
    Evaluate M and the bias at the middle of the step; position with the half a dt^2 term.

    Second order. The velocity at the middle is predicted with the last acceleration.
    """
    joints = range(tree.nv)
    middle = [q[i] + 0.5 * dt * qd[i] for i in joints]
    velocity = [qd[i] + 0.5 * dt * qdd[i] for i in joints]
    M = add_to_diagonal(mass_matrix(tree, runtime, middle), inertia)
    return (M, bias(tree, runtime, middle, velocity),
            lambda a: [q[i] + dt * (qd[i] + 0.5 * dt * a[i]) for i in joints])


def semi_implicit_euler(tree, runtime, q, qd, qdd, force, inertia, dt):
    """Evaluate M and the bias at the start, position with the new velocity; as MuJoCo's Euler."""
    M = add_to_diagonal(mass_matrix(tree, runtime, q), inertia)
    return (M, bias(tree, runtime, q, qd),
            lambda a: [x + dt * (v + dt * y) for x, v, y in zip(q, qd, a)])


def rk4(tree, runtime, q, qd, qdd, force, inertia, dt):
    """Use the mean acceleration of the classical Runge-Kutta method; fourth order."""
    joints = range(tree.nv)

    def acceleration(q, qd):
        return forward_dynamics(tree, runtime, q, qd, force, inertia)

    def moved(values, rates, duration):
        return [values[i] + duration * rates[i] for i in joints]

    v1, a1 = qd, acceleration(q, qd)
    v2 = moved(qd, a1, 0.5 * dt)
    a2 = acceleration(moved(q, v1, 0.5 * dt), v2)
    v3 = moved(qd, a2, 0.5 * dt)
    a3 = acceleration(moved(q, v2, 0.5 * dt), v3)
    v4 = moved(qd, a3, dt)
    a4 = acceleration(moved(q, v3, dt), v4)
    free = [(a1[i] + 2.0 * (a2[i] + a3[i]) + a4[i]) / 6.0 for i in joints]
    shift = [dt / 6.0 * (v1[i] + 2.0 * (v2[i] + v3[i]) + v4[i]) for i in joints]
    M = add_to_diagonal(mass_matrix(tree, runtime, q), inertia)
    # b such that `M free = force - b`
    b = [force[i] - sum(M[i][j] * free[j] for j in joints) for i in joints]
    return M, b, lambda a: [q[i] + shift[i] + 0.5 * dt * dt * (a[i] - free[i]) for i in joints]


INTEGRATORS = {'midpoint': midpoint, 'semi_implicit_euler': semi_implicit_euler, 'rk4': rk4}
