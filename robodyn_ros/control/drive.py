"""Commands of drives (`safety.drive`) for the torques of the cycle."""

from __future__ import annotations

from collections.abc import Mapping

from robodyn_ros.control.blocks import Memory
from robodyn_ros.control.steps import modes
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.blocks import size, unpack
from robodyn_ros.dynamics.jit.flags import any_of, equal
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import minimum
from robodyn_ros.model.per_joint import COMMAND
from robodyn_ros.safety import drive

_LONGEST = 0.05  # s, interval between commands
_GUIDED = modes.HOLD, modes.TRACK, modes.STOP, modes.REACH  # modes with a reference


def command(torque, m, p):
    """Return the command of a torque of the cycle after which the memory is `m`."""
    guided = any_of([equal(m.motion.mode, each) for each in _GUIDED])
    reference, h = m.motion.reference, 0.5 * minimum(m.feedback.usual, _LONGEST)
    ahead = drive.State([q + h * qd for q, qd in zip(reference.q, reference.qd)],
                        [qd + h * qdd for qd, qdd in zip(reference.qd, reference.qdd)])
    return drive.command(torque, m.predicted, reference, ahead, guided, p)


def function(dimensions: Mapping[str, int]) -> Function:
    """Return `command` over arrays: torque, memory, drive -> command, row by row."""
    def body(torque, m, p):
        return flatten(command(torque, unpack(Memory, m, dimensions),
                               unpack(drive.Program, p, dimensions)))

    n = dimensions['joints']
    return Function(body, {'torque': n, 'memory': size(Memory, dimensions),
                           'drive': size(drive.Program, dimensions)},
                    {'command': len(COMMAND) * n}, cache=machine.default_cache())
