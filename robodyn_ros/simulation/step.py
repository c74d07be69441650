"""
One step of a simulated arm, as one kernel.

Motors and gears give the torque (`actuator`); an integrator moves the rigid bodies
(`integrators`); friction and stops are evaluated at the end of the step (`contacts`).

The step first assumes that every joint keeps sticking, slipping or touching its stop. Only if the
solution is not consistent with that, contacts are found by trial.
"""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.dynamics.jit.trace import select
from robodyn_ros.simulation.actuator import Gears, motor_torque
from robodyn_ros.simulation.contacts import JointContacts
from robodyn_ros.simulation.integrators import INTEGRATORS

# A state beyond these is not finite in practice. The positions leave room for continuous joints,
# whose angle is never wrapped.
MAX_POSITION = 1e9
MAX_VELOCITY = 1e5
_MAX_TORQUE = 1e150


class State(NamedTuple):
    """Rows of the state, one number per joint; a last number is 1 while the state is finite."""

    position: list
    velocity: list
    acceleration: list
    applied: list
    gap: list
    gap_rate: list
    friction: list
    stop: list
    bristle: list


class Constants(NamedTuple):
    """Rows of the constants, one number per joint; a last number is the duration of the step."""

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
    stiffness: list
    spring_damping: list


def state_size(nv: int) -> int:
    """Return the length of a state."""
    return len(State._fields) * nv + 1


def constants_size(nv: int) -> int:
    """Return the length of the constants."""
    return len(Constants._fields) * nv + 1


def plant_step(tree, runtime, state, torque, external, constants, integrator='midpoint',
               friction=True, stops=True, backlash=True, elastic=False):
    """
    Return the state at the end of a step; if it is not finite, the old one with 0 at its end.

    Parameters
    ----------
    tree, runtime
        Rigid bodies, see `algorithms`.
    state, constants : list
        Rows as in `State` and `Constants`, one after the other, and the last number.
    torque, external : list
        Commands of the motors; joint torques of external wrenches.
    integrator : str
        Name in `INTEGRATORS`.
    friction, stops, backlash, elastic : bool
        Whether any joint has dry friction, stops, gears with backlash, or is elastic; the
        equations omit what no joint has.

    """
    n, joints = tree.nv, range(tree.nv)
    s, c, dt = State(*_rows(state[:-1], n)), Constants(*_rows(constants[:-1], n)), constants[-1]
    applied = [motor_torque(torque[i], s.applied[i], c.effort_limit[i], c.blend[i])
               for i in joints]
    gears = Gears(applied, s.gap, s.gap_rate, c, dt, elastic) if backlash or elastic else None
    force, inertia = (gears.force, gears.inertia) if gears else (applied, c.armature)
    force = [force[i] + external[i] for i in joints]
    M, bias, position = INTEGRATORS[integrator](
        tree, runtime, s.position, s.velocity, s.acceleration, force, inertia, dt)
    step = JointContacts(M, [force[i] - bias[i] for i in joints], s, c, dt, friction, stops)
    contacts, qdd, v = step.resolve()
    gap, gap_rate = gears.gap_after(qdd) if gears else ([0.0] * n, [0.0] * n)
    after = State(position(qdd), v, qdd, applied, gap, gap_rate, *step.torques(contacts, v))
    return _if_good(state[-1], state, after, torque)


def _if_good(good, before, after, torque):
    """Return the state after the step, or the one before it if the new one is out of range."""
    for values, bound in ((after.position, MAX_POSITION), (after.velocity, MAX_VELOCITY),
                          (torque, _MAX_TORQUE)):
        # NaN compares as not positive
        good = select(bound * bound - sum((x * x for x in values), 0.0), good, 0.0)
    flat = [value for row in after for value in row]
    return [*(select(good, new, old) for new, old in zip(flat, before)), good]


def _rows(values, n):
    """Return a flat list as rows of n numbers."""
    return [values[k * n:(k + 1) * n] for k in range(len(values) // n)]
