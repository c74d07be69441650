"""
Command of drives, which may have a stiffness and a damping of their own.

A drive makes the torque effort + kp (position - q) + kd (velocity - qd). The effort that it gets
is the wanted torque less the share of these gains, so that the whole is that torque at the state
which it answers; between two states, and in silence, the gains act at once.

Gains that are commanded act about a reference, where there is one; otherwise they are 0. What is
commanded is the reference in the middle of the time until the next command: about a reference that
stands still meanwhile they would brake an arm that follows. Without commanded gains the position
is that of the state, in which a spring adds nothing, and the velocity is 0: a damping that the
drive always has is given as `kd`, and compensated.

The last command is repeated for ever by a drive that gets no other. With commanded gains the joint
then comes to rest where kp (position - q) + effort carries it: from where it was, at most
(|torque - g| + kd |qd|) / (kp - k) away, with its gravity torque g and the stiffness k = |dg/dq|
by which that may fall on the way. Below that stiffness nothing holds it.
"""

from __future__ import annotations

from bisect import bisect_left
import math

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.blocks import block, joints, scalar, size, unpack
from robodyn_ros.dynamics.jit.flags import flag, no, when
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import nearest
from robodyn_ros.dynamics.usual_inertia import sampled_poses
from robodyn_ros.model.per_joint import COMMAND

_POSES, _SHIFT = 32, 1e-4  # poses that are tried; rad or m of differences
_SMALL = 1e-3  # part of the largest stiffness of gravity that is none


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


def command(torque, state, reference, ahead, follows, p):
    """
    Return the command of a torque, see `COMMAND`.

    Parameters
    ----------
    torque : list
        Wanted torque, in N m or N.
    state, reference, ahead : State
        The state that it answers; the reference then, and in the middle of the time until the
        next command, which is where commanded gains act about.
    follows : scalar
        Flag: there is a reference.
    p : Program
        Drives.

    """
    zero = [0.0] * len(torque)
    commanded, last = flag(p.commanded), flag(p.last)
    guided = commanded & flag(follows) & no(last)
    position, velocity = when(guided, [ahead.q, ahead.qd], [state.q, zero])
    kp, kd = when(guided | commanded & last, [p.kp, p.kd], [zero, zero])
    damping, speed = when(commanded, kd, p.kd), when(last, zero, state.qd)
    to, wanted = when(guided, [reference.q, reference.qd], [state.q, zero])
    # where there is no gain, nothing depends on a state that is not finite
    share = [when(k, k * (r - q), 0.0) + when(d, d * (v - qd), 0.0)
             for k, d, r, v, q, qd in zip(kp, damping, to, wanted, state.q, speed)]
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


def falls_in_silence(dynamics: Dynamics, p, compensates: bool, silence: str) -> str:
    """
    Return why an arm that needs gravity torque falls when commands stop; '' if it does not.

    Where efforts alone are commanded and repeated, nothing can be done about it: also ''.

    Parameters
    ----------
    dynamics : Dynamics
        The arm.
    p : namespace
        Arrays as of `Program`.
    compensates : bool
        Whether the driver adds the gravity torque.
    silence : str
        What the drives do without commands: repeat the last one, damp, or disable the motors.

    """
    if silence == 'disable':
        return 'the drives disable the motors: the arm falls'
    if compensates:
        return ''
    if silence == 'damp':
        return 'the drives only damp: the arm sinks'
    if not p.commanded:
        return ''
    model = dynamics.model
    slopes = np.array([[dynamics.gravity(q + each) - dynamics.gravity(q)
                        for each in _SHIFT * np.eye(model.nv)]
                       for q in sampled_poses(model, _POSES)]) / _SHIFT
    slopes = 0.5 * (slopes + slopes.transpose(0, 2, 1))
    least = -_SMALL * np.abs(slopes).max()

    def holds(kp: float) -> bool:  # where all are raised to at least this
        return np.linalg.eigvalsh(np.diag(np.maximum(p.kp, kp)) + slopes).min() >= least

    if holds(0.0):
        return ''
    values, vectors = np.linalg.eigh(np.diag(p.kp) + slopes)
    j = int(np.argmax(np.abs(vectors[np.argmin(values[:, 0]), :, 0])))
    enough = math.ceil(-np.linalg.eigvalsh(slopes).min())
    return (f'the drives repeat the last command: drive_kp {p.kp[j]:.3g} of joint '
            f"'{model.joint_names[j]}' does not hold the arm against gravity; it stays with all "
            f'below {bisect_left(range(enough), True, key=holds)} raised to that')


def without_reference(count: int) -> Function:
    """Return `command` over arrays for so many joints: torque, state, drives -> command."""
    n = {'joints': count}

    def body(torque, state, p):
        at = unpack(State, state, n)
        return flatten(command(torque, at, at, at, 0.0, unpack(Program, p, n)))

    return Function(body, {'torque': count, 'state': size(State, n), 'drive': size(Program, n)},
                    {'command': len(COMMAND) * count}, cache=machine.default_cache())
