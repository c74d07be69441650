"""Computer that runs the controller: the recorded delays of its answers, and pauses."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.flags import no, when
from robodyn_ros.dynamics.jit.flow import lookup
from robodyn_ros.dynamics.jit.trace import select


def host_delay(f, on, begins, delays, step, time, dt, link):
    """
    Return the flag that the host runs in this step, the delay of its answer, and the next memory.

    The host is busy for the recorded delay of each step, times a factor. While it is, states are
    replaced by newer ones, as in a queue of one. A pause is one long delay.
    """
    factor = f.usual_delays + select(on, f.delays, 0.0)
    (recorded,) = lookup(delays, f.row + step, [0])
    delay = factor * recorded + select(begins, f.pause, 0.0)
    asleep = link.free > time + dt * (1.0 - 1e-9)
    waited = select(link.free > time, link.free - time, 0.0)
    answered = waited + delay
    too_late = answered > dt * (1.0 - 1e-9)
    runs = no(asleep | too_late)
    free = when(no(asleep) & too_late, time + answered, link.free)
    return runs, answered, link._replace(free=free)
