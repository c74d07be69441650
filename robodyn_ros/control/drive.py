"""
Command of drives, which may have a stiffness and a damping of their own.

A drive makes the torque effort + kp (position - q) + kd (velocity - qd). The effort that it gets
is that of the cycle less the share of these gains, so that the whole is the torque of the cycle at
the state which it answers; between two states, and in silence, the gains act at once.

Gains that are commanded act about the reference, in modes that have one; otherwise they are 0.
Without commanded gains the position is that of the state, in which a spring adds nothing, and the
velocity is 0: a damping that the drive always has is given as `kd`, and compensated.

The last command is repeated for ever by a drive that gets no other. With commanded gains the joint
then comes to rest where kp (position - q) + effort carries it: from where it was, at most
(|torque - g| + kd |qd|) / (kp - k) away, with its gravity torque g and the stiffness k = |dg/dq|
by which that may fall on the way. Below that stiffness nothing holds it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robodyn_ros.control.blocks import Memory
from robodyn_ros.control.steps import modes
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.blocks import block, joints, scalar, size, unpack
from robodyn_ros.dynamics.jit.flags import any_of, equal, flag, when
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import nearest
from robodyn_ros.model.per_joint import COMMAND

_GUIDED = modes.HOLD, modes.TRACK, modes.STOP, modes.REACH  # modes with a reference


@block
class Program:
    kp: list = joints('N m/rad', 'Stiffness of the drive.')
    kd: list = joints('N m s/rad', 'Damping of the drive.')
    commanded: float = scalar('', 'Flag: gains are commanded; otherwise the drive has a damping '
                              'kd, and any stiffness.')
    scale: list = joints('', 'Effort of the command by torque.')
    quantum: list = joints('N m', 'Steps of torque that the drive makes; 0: none.')


def rounded(effort, p):
    """Return efforts in the unit of the command, in steps that the drive makes."""
    return [scale * when(step, step * nearest(value / when(step, step, 1.0)), value)
            for value, step, scale in zip(effort, p.quantum, p.scale)]


def command(torque, m, p):
    """
    Return the command of a torque, see `COMMAND`.

    Parameters
    ----------
    torque : list
        Torque of the cycle, in N m or N.
    m : blocks.Memory
        Memory after the cycle.
    p : Program
        Drives.

    """
    guided = flag(p.commanded) & any_of([equal(m.motion.mode, each) for each in _GUIDED])
    position, velocity, kp, kd = when(
        guided, [m.motion.reference.q, m.motion.reference.qd, p.kp, p.kd],
        [m.q, *([0.0] * len(torque) for _ in range(3))])
    damping = when(p.commanded, kd, p.kd)
    share = [k * (to - q) + d * (speed - qd) for k, d, to, speed, q, qd in zip(
        kp, damping, position, velocity, m.q, m.qd)]
    effort = [whole - part for whole, part in zip(torque, share)]
    return [rounded(effort, p), position, velocity, kp, kd]


def held(torque: np.ndarray, q: np.ndarray, p) -> np.ndarray:
    """
    Return the command that holds an arm in silence, see `COMMAND`: its torque, and gains about q.

    p: arrays as of `Program`.
    """
    n = len(q)
    gains = [p.kp, p.kd] if p.commanded else np.zeros((2, n))
    return np.array([rounded(torque.tolist(), p), q, np.zeros(n), *gains], dtype=float)


def function(dimensions: Mapping[str, int]) -> Function:
    """Return `command` over arrays: torque, memory, drive -> command, row by row."""
    def body(torque, m, p):
        return flatten(command(torque, unpack(Memory, m, dimensions),
                               unpack(Program, p, dimensions)))

    n = dimensions['joints']
    return Function(body, {'torque': n, 'memory': size(Memory, dimensions),
                           'drive': size(Program, dimensions)}, {'command': len(COMMAND) * n},
                    cache=machine.default_cache())
