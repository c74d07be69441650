"""Mean of the torques sent between two states."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import flag, when
from robodyn_ros.dynamics.jit.trace import maximum
from robodyn_ros.dynamics.jit.vectors import positive, zeros


@block
class Memory:
    impulse: list = joints('N m s', 'Integral of the torques sent since the last state.')
    elapsed: float = scalar('s', 'Time that it covers.')


def added(m, dt, torque):
    """Return the memory after a torque that acted for `dt` seconds."""
    return Memory([i + dt * t for i, t in zip(m.impulse, torque)], m.elapsed + dt)


def finished(m, dt, torque):
    """Return time and mean torque since the last state, the last torque included; new memory."""
    several = flag(m.elapsed)
    whole = added(m, maximum(dt, 0.0), torque)
    mean = [i / positive(whole.elapsed) for i in whole.impulse]
    return (when(several, whole.elapsed, dt), when(several, mean, torque),
            Memory(zeros(m.impulse), 0.0))
