"""
One step of a simulated arm, as one kernel.

Motors and gears give the torque (`actuator`); the rigid bodies move as their integrator says
(`integrators`); friction and stops are taken at the end of the step (`contacts`).

A step first expects every joint to go on sticking, slipping or touching its stop as it did. Only
where the solution says otherwise, contacts are found by trial.
"""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.dynamics.jit.trace import select
from robodyn_ros.simulation.actuator import Gears, motor_torque
from robodyn_ros.simulation.contacts import JointContacts
from robodyn_ros.simulation.integrators import INTEGRATORS

# Beyond these a state is not one of an arm any more. The positions leave room for continuous
# joints, whose angle is never wrapped.
ABSURD_POSITION = 1e9
ABSURD_VELOCITY = 1e5
_ABSURD_TORQUE = 1e150


class State(NamedTuple):
    """Rows of the state, one number per joint; a last number is 1 while the state is good."""

    position: list
    velocity: list
    acceleration: list
    applied: list
    friction: list
    stop: list
    bristle: list
    gap: list
    gap_rate: list


class Constants(NamedTuple):
    """What the step takes of `JointPhysics`, one number per joint; a last one is its duration."""

    effort_limit: list
    blend: list
    armature: list
    damping: list
    friction: list
    stiction: list
    stribeck_velocity: list
    bristle_stiffness: list
    bristle_damping: list
    lower: list
    upper: list
    stop_stiffness: list
    stop_damping: list
    backlash: list
    gear_stiffness: list
    gear_damping: list


def state_size(nv: int) -> int:
    """Return the length of a state."""
    return len(State._fields) * nv + 1


def constants_size(nv: int) -> int:
    """Return the length of the constants."""
    return len(Constants._fields) * nv + 1


def plant_step(tree, runtime, state, torque, external, constants, integrator='midpoint',
               friction=True, stops=True, backlash=True):
    """
    Return the state at the end of a step; unchanged, but for its last number, if there is none.

    Parameters
    ----------
    tree, runtime
        The rigid bodies, see `algorithms`.
    state, constants : list
        Rows as in `State` and `Constants`, one after the other, and the number that follows.
    torque, external : list
        Commands of the motors; joint forces of what pushes the links.
    integrator : str
        Which of `INTEGRATORS`.
    friction, stops, backlash : bool
        Whether any joint has dry friction, stops, or gears with backlash; what no joint has is
        left out of the equations.

    """
    n, joints = tree.nv, range(tree.nv)
    s, c, dt = State(*_rows(state[:-1], n)), Constants(*_rows(constants[:-1], n)), constants[-1]
    applied = [motor_torque(torque[i], s.applied[i], c.effort_limit[i], c.blend[i])
               for i in joints]
    gears = Gears(applied, s.gap, s.gap_rate, c, dt) if backlash else None
    force, inertia = (gears.force, gears.inertia) if backlash else (applied, c.armature)
    force = [force[i] + external[i] for i in joints]
    M, bias, position = INTEGRATORS[integrator](
        tree, runtime, s.position, s.velocity, s.acceleration, force, inertia, dt)
    step = JointContacts(M, [force[i] - bias[i] for i in joints], s, c, dt, friction, stops)
    contacts, qdd, v = step.resolve()
    gap, gap_rate = gears.after(qdd) if backlash else ([0.0] * n, [0.0] * n)
    after = State(position(qdd), v, qdd, applied, *step.torques(contacts, v), gap, gap_rate)
    return _if_good(state[-1], state, after, torque)


def _if_good(good, before, after, torque):
    """Return the state after the step, or the one before it where that is no state."""
    for values, bound in ((after.position, ABSURD_POSITION), (after.velocity, ABSURD_VELOCITY),
                          (torque, _ABSURD_TORQUE)):
        # the square of what is not a number is below nothing
        good = select(bound * bound - sum((x * x for x in values), 0.0), good, 0.0)
    flat = [value for row in after for value in row]
    return [*(select(good, new, old) for new, old in zip(flat, before)), good]


def _rows(values, n):
    """Return the rows of n numbers that a flat list consists of."""
    return [values[k * n:(k + 1) * n] for k in range(len(values) // n)]
