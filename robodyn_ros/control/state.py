"""What a cycle is given of the arm."""

from __future__ import annotations

from robodyn_ros.control.blocks import block, joints, scalar

# kinds of cycle: a state has come; a torque is due between two; silence; look at requests only.
# Or what `acceptance` makes one of these of: a state was received; none was; and a torque is due
FROM_STATE, BETWEEN, SILENT, REQUESTS, RECEIVED, WAITING, DUE = map(float, range(7))
COAST = 0.005  # s between torques while no state arrives


@block
class State:
    kind: float = scalar('', 'Kind of cycle: 0 state, 1 between states, 2 silence, 3 requests, '
                         '4 received, 5 waiting, 6 torque due.')
    now: float = scalar('s', 'Time of the law.')
    arrival: float = scalar('s', 'Time of the local clock, which is steady.')
    stamp: float = scalar('s', 'Stamp of the state; 0: it has none.')
    clock: float = scalar('s', 'Time of the clock of the stamps at its arrival.')
    permitted: float = scalar('', 'Flag: a torque may be sent.')
    unattended: float = scalar('', 'Flag: the process that supervises the cycle does not react.')
    cause: float = scalar('', 'Number of the text that names the cause of a silence.')
    q: list = joints('rad', 'Measured position.')
    qd: list = joints('rad/s', 'Measured velocity.')
    effort: list = joints('N m', 'Measured effort; not a number where there is none.')
