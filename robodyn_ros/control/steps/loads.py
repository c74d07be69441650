"""
Loads: gravity and payloads, blended from one set to the next.

The numbers between two physical payloads are those of a physical payload, so that the model is
sound on the way. What the adaptive law has learned comes on top.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.blocks import block, numbers, scalar
from robodyn_ros.control.steps.vectors import positive
from robodyn_ros.dynamics.jit.flags import above, equal, no, when


@block
class Program:
    change: float = scalar('', 'Number of the change that leads to these numbers.')
    duration: float = scalar('s', 'Time in which they are blended in.')
    target: list = numbers('runtime', 'SI', 'Gravity, then ten parameters for each payload.')


@block
class Memory:
    change: float = scalar('', 'Change that is under way, or made.')
    elapsed: float = scalar('s', 'Time since it began; below 0: it is made.')
    duration: float = scalar('s', 'Time that it takes.')
    start: list = numbers('runtime', 'SI', 'Numbers from which it began.')
    known: list = numbers('runtime', 'SI', 'Numbers now, without what is learned.')
    learned: list = numbers('runtime', 'SI', 'What is learned, on top of the known.')


def requested(m, p, forgets):
    """
    Return the memory in which a new change has begun, if the program has one.

    forgets: flag that what was learned counts as known, so that the change blends it out.
    """
    known = when(forgets, runtime(m), m.known)
    m = replace(m, known=known, learned=when(forgets, [0.0 for _ in known], m.learned))
    new = no(equal(m.change, p.change))
    begun = Memory(p.change, 0.0, p.duration, m.known, m.known, m.learned)
    return _moved(when(new, begun, m), p, 0.0, new)


def advance(m, p, dt):
    """Return the memory after `dt` seconds."""
    return _moved(m, p, dt, no(above(0.0, m.duration)))


def finished(m, p, flag_):
    """Return the memory in which a change under way is made at once, where a flag holds."""
    return when(flag_, advance(m, p, m.duration), m)


def settled(m):
    """Return whether the last change is made."""
    return no(above(m.duration, m.elapsed))


def runtime(m):
    """Return gravity and payload parameters as kernels take them."""
    return [a + b for a, b in zip(m.known, m.learned)]


def _moved(m, p, dt, moves):
    elapsed = m.elapsed + dt
    over = no(above(m.duration, elapsed))
    x = elapsed / positive(m.duration)
    share = x * x * (3.0 - 2.0 * x)
    between = [(b - a) * share + a for a, b in zip(m.start, p.target)]
    known = when(over, p.target, between)
    return when(moves, Memory(
        m.change, when(over, -1.0, elapsed), when(over, -1.0, m.duration), m.start, known,
        m.learned), m)
