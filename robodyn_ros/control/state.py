"""State of the arm as the input of a cycle."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar

# kinds of cycle: new state; torque due between two states; silence; requests only. `acceptance`
# derives one of these from the others: state received; no state; no state, and a torque is due
FROM_STATE, BETWEEN, SILENT, REQUESTS, RECEIVED, WAITING, DUE = map(float, range(7))
COAST = 0.005  # s between torques during silence


@block
class State:
    kind: float = scalar('', 'Kind of cycle: 0 state, 1 between states, 2 silence, 3 requests, '
                         '4 received, 5 waiting, 6 torque due.')
    now: float = scalar('s', 'Time of the law.')
    arrival: float = scalar('s', 'Time of the local steady clock.')
    stamp: float = scalar('s', 'Stamp of the state; 0: none.')
    clock: float = scalar('s', 'Time of the clock of the stamps at arrival.')
    permitted: float = scalar('', 'Flag: a torque may be sent.')
    unattended: float = scalar('', 'Flag: the process that supervises the cycle does not react.')
    cause: float = scalar('', 'Code of the text that names the cause of a silence.')
    q: list = joints('rad', 'Measured position.')
    qd: list = joints('rad/s', 'Measured velocity.')
    effort: list = joints('N m', 'Measured effort; not a number where none is reported.')
