"""What a cycle is given of the arm."""

from __future__ import annotations

from robodyn_ros.control.blocks import block, joints, scalar

# kinds of cycle: a state has come; a torque is due between two; silence; look at requests only
FROM_STATE, BETWEEN, SILENT, REQUESTS = map(float, range(4))


@block
class State:
    kind: float = scalar('', 'Kind of cycle: 0 state, 1 between states, 2 silence, 3 requests.')
    now: float = scalar('s', 'Time of the law.')
    cause: float = scalar('', 'Number of the text that names the cause of a silence.')
    q: list = joints('rad', 'Measured position.')
    qd: list = joints('rad/s', 'Measured velocity.')
    effort: list = joints('N m', 'Measured effort; not a number where there is none.')
