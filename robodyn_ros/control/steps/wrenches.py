"""Known external wrenches: low-pass filtered, and compensated."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, numbers, scalar
from robodyn_ros.dynamics.jit.flags import any_above, any_of, equal, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import minimum
from robodyn_ros.dynamics.jit.vectors import magnitudes, zeros

_TIME_CONSTANT = 0.02  # s of the filter
_NEGLIGIBLE = 1e-6     # N or N m below which a wrench that timed out is removed


@block
class Program:
    wrench: list = numbers('wrenches', 'N, N m', 'Force and moment on each body at its origin, in '
                           'its axes.')
    end: list = numbers('bodies', 's', 'Time of the law until which each is valid.')
    clear: float = scalar('', 'Number of the last request to remove all of them at once.')


@block
class Memory:
    wrench: list = numbers('wrenches', 'N, N m', 'Wrenches, low-pass filtered.')
    clear: float = scalar('', 'Last removal that was handled.')


def requested(m, p):
    """Return the memory after the requests of the program."""
    new = no(equal(m.clear, p.clear))
    return Memory(when(new, zeros(m.wrench), m.wrench), p.clear)


def cleared(m):
    """Return the memory without wrenches."""
    return Memory(zeros(m.wrench), m.clear)


def present(p, now):
    """Return the wrenches that are valid at a time, and whether there is one."""
    counts = [end > now for end in p.end]
    wrenches = [when(flag, p.wrench[6 * i:6 * i + 6], [0.0] * 6)
                for i, flag in enumerate(counts)]
    return [x for row in wrenches for x in row], any_of(counts)


def update(m, p, now, dt):
    """Return the filtered wrenches after `dt` seconds."""
    target, some = present(p, now)
    rate = minimum(dt / _TIME_CONSTANT, 1.0)
    wrench = [w + (t - w) * rate for w, t in zip(m.wrench, target)]
    over = no(some) & no(any_above(magnitudes(wrench), _NEGLIGIBLE))
    return Memory(when(over, zeros(wrench), wrench), m.clear)


def torque(body, q, wrenches):
    """Return -sum J^T w: the joint torques that compensate wrenches."""
    some = any_above(magnitudes(wrenches), 0.0)
    return choose(some, [lambda: zeros(q), lambda: body.part('wrench_torques', q, wrenches)])


def known_torque(body, q, p, since):
    """Return J^T w of the wrenches that were valid since a time, without filter."""
    wrenches, _ = present(p, since)
    return [-each for each in torque(body, q, wrenches)]
