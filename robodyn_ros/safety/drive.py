"""
Command of drives, which may have a stiffness and a damping of their own.

A drive makes the torque effort + kp (position - q) + kd (velocity - qd). The effort that it gets
is the wanted torque less the share of these gains, so that the whole is that torque at the state
which it answers; between two states, and in silence, the gains act at once.

Gains that are commanded act about a reference, where there is one; otherwise they are 0. Without
commanded gains the position is that of the state, in which a spring adds nothing, and the velocity
is 0: a damping that the drive always has is given as `kd`, and compensated.

The last command is repeated for ever by a drive that gets no other. With commanded gains the joint
then comes to rest where kp (position - q) + effort carries it: from where it was, at most
(|torque - g| + kd |qd|) / (kp - k) away, with its gravity torque g and the stiffness k = |dg/dq|
by which that may fall on the way. Below that stiffness nothing holds it.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.blocks import block, joints, scalar, size, unpack
from robodyn_ros.dynamics.jit.flags import flag, no, when
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import nearest
from robodyn_ros.model.per_joint import COMMAND


@block
class Program:
    kp: list = joints('N m/rad', 'Stiffness of the drive.')
    kd: list = joints('N m s/rad', 'Damping of the drive.')
    commanded: float = scalar('', 'Flag: gains are commanded; otherwise the drive has a damping '
                              'kd, and any stiffness.')
    last: float = scalar('', 'Flag: no other command may follow: the gains hold the arm where it '
                         'is, and nothing of the effort is of its motion.')
    scale: list = joints('', 'Effort of the command by torque.')
    quantum: list = joints('N m', 'Steps of torque that the drive makes; 0: none.')


@block
class State:
    q: list = joints('rad', 'Position.')
    qd: list = joints('rad/s', 'Velocity.')


def command(torque, state, reference, follows, p):
    """
    Return the command of a torque, see `COMMAND`.

    Parameters
    ----------
    torque : list
        Wanted torque, in N m or N.
    state, reference : State
        The state that it answers; where commanded gains act about.
    follows : scalar
        Flag: there is a reference.
    p : Program
        Drives.

    """
    zero = [0.0] * len(torque)
    last = flag(p.last)
    guided = flag(p.commanded) & flag(follows) & no(last)
    position, velocity = when(guided, [reference.q, reference.qd], [state.q, zero])
    kp, kd = when(guided | flag(p.commanded) & last, [p.kp, p.kd], [zero, zero])
    damping, speed = when(flag(p.commanded), kd, p.kd), when(last, zero, state.qd)
    share = [k * (to - q) + d * (wanted - qd) for k, d, to, wanted, q, qd in zip(
        kp, damping, position, velocity, state.q, speed)]
    effort = [scale * when(step, step * nearest((whole - part) / when(step, step, 1.0)),
                           whole - part)
              for whole, part, step, scale in zip(torque, share, p.quantum, p.scale)]
    return [effort, position, velocity, kp, kd]


def torque_of(rows: np.ndarray, q: np.ndarray, qd: np.ndarray, p) -> np.ndarray:
    """
    Return the torque that drives make of a command in a state, (nv,), in N m or N.

    Parameters
    ----------
    rows : (5, nv) array
        The command, see `COMMAND`.
    q, qd : (nv,) array
        State, in rad or m and per s.
    p : namespace
        Arrays as of `Program`.

    """
    effort, position, velocity, kp, kd = rows
    damping = kd if p.commanded else p.kd
    return effort / p.scale + kp * (position - q) + damping * (velocity - qd)


def without_reference(count: int) -> Function:
    """Return `command` over arrays for so many joints: torque, state, drives -> command."""
    n = {'joints': count}

    def body(torque, state, p):
        at = unpack(State, state, n)
        return flatten(command(torque, at, at, 0.0, unpack(Program, p, n)))

    return Function(body, {'torque': count, 'state': size(State, n), 'drive': size(Program, n)},
                    {'command': len(COMMAND) * count}, cache=machine.default_cache())
