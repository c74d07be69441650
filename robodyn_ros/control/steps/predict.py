"""Prediction of the state where none was received: forward dynamics under the torques sent."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import wrenches
from robodyn_ros.dynamics.algorithms import forward_dynamics, gravity
from robodyn_ros.dynamics.jit.blocks import block, joints
from robodyn_ros.dynamics.jit.flags import all_finite, all_of, no, when
from robodyn_ros.dynamics.jit.flow import choose, iterate
from robodyn_ros.dynamics.jit.trace import floor, maximum, sqrt
from robodyn_ros.dynamics.jit.vectors import added, difference, magnitudes

_STEP = 2e-3    # s, at most
_LONGEST_STEP = 0.2  # s for which one torque determines the state
_FAR = 0.3      # rad or m from the reference; a tracking arm is closer
_CREEP = 1e-3   # rad/s or m/s below which dry friction counts as viscous


@block
class Memory:
    q: list = joints('rad', 'Position: predicted, or measured where a state was received.')
    qd: list = joints('rad/s', 'Velocity, likewise.')


def predict_state(body, flags, state, m, p):
    """
    Return the memory with the measured or predicted state, and -J^T w of the known wrenches there.

    Between two states the prediction is used until they are silent, `stale.hold` after the newest;
    from then on until they return, however long that takes: of an arm that is brought to rest.
    """
    external = wrenches.update(m.external, p.external, flags.now, flags.dt)
    wrench_torque = wrenches.torque(body, when(flags.fresh, state.q, m.predicted.q),
                                    external.wrench)
    predicted = choose(flags.fresh, [
        lambda: update(body, m.predicted, when(
            flags.silent, difference(m.sent, wrench_torque), added(m.sent, m.observer.external)),
            flags.dt, body.robot.longest_pause),
        lambda: Memory(state.q, state.qd)])
    near = plausible(predicted, flags.dt, m.q)
    predicted = when(near | no(flags.between), predicted, Memory(m.q, m.qd))
    return replace(m, external=external, predicted=predicted), when(
        flags.silent, wrench_torque, wrenches.torque(body, predicted.q, external.wrench))


def update(body, m, torque, dt, longest_pause):
    """Return the state after a torque has acted for `dt` seconds."""
    g = body.gains
    count = -floor(-dt / _STEP)
    h = dt / maximum(count, 1.0)

    def step(state):
        return body.rows('predict', *state, torque, g.viscous, g.coulomb, g.armature,
                         g.safe_gravity_scale, [h])

    q, qd = iterate(count, step, [m.q, m.qd], limit=int(longest_pause / _STEP) + 1)
    return Memory(q, qd)


def plausible(m, dt, place):
    """
    Return whether a prediction is plausible, after a step of `dt`.

    place: the last measured position, or in a silence the reference. The torque determines the
    state for a short time only, least of all far from there, where brakes may hold the arm. A
    joint that moves no mass in the model yields no finite numbers.
    """
    near = [each < _FAR for each in magnitudes(difference(m.q, place))]
    return usable(m, dt) & all_of(near)


def usable(m, dt):
    """Return whether a prediction is finite, and the step not too long."""
    return no(dt > _LONGEST_STEP) & all_finite(m.qd)


def state_after(tree, runtime, q, qd, torque, viscous, coulomb, armature, safe_gravity_scale, dt):
    """Return position and velocity after a step, as in `simulation.integrators.midpoint`."""
    every, h = range(tree.nv), dt[0]
    middle = [q[i] + 0.5 * h * qd[i] for i in every]
    g = gravity(tree, runtime, middle)
    drag = [viscous[i] + coulomb[i] / sqrt(qd[i] * qd[i] + _CREEP * _CREEP) for i in every]
    # the driver compensates the part of gravity that the controller leaves out
    force = [torque[i] + (1.0 - safe_gravity_scale[i]) * g[i] - drag[i] * qd[i] for i in every]
    # friction at the end of the step: stable for any
    inertia = [armature[i] + h * drag[i] for i in every]

    def midpoint(qdd):
        halfway = [qd[i] + 0.5 * h * qdd[i] for i in every]
        return forward_dynamics(tree, runtime, middle, halfway, force, inertia)

    # a loop, as code for the second acceleration would be as long as that for the first
    qdd = iterate(when(h > 0.0, 2.0, 0.0), midpoint, [0.0] * tree.nv, limit=2)
    v = [qd[i] + h * qdd[i] for i in every]
    return [[q[i] + 0.5 * h * (qd[i] + v[i]) for i in every], v]
