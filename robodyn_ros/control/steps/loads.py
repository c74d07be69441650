"""
Loads: gravity and payloads, blended from one set to the next.

Interpolating between two physical payloads yields physical payloads. The payload estimated by the
adaptive law is added.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.blocks import block, numbers, scalar
from robodyn_ros.dynamics.jit.flags import equal, no, when
from robodyn_ros.dynamics.jit.vectors import positive, smooth_step


@block
class Program:
    change: float = scalar('', 'Number of the last change.')
    duration: float = scalar('s', 'Time in which they are blended in.')
    target: list = numbers('runtime', 'SI', 'Gravity, then ten parameters for each payload.')


@block
class Memory:
    change: float = scalar('', 'Last change that was begun.')
    elapsed: float = scalar('s', 'Time since it began; below 0: it is complete.')
    duration: float = scalar('s', 'Duration of it.')
    start: list = numbers('runtime', 'SI', 'Numbers at its start.')
    known: list = numbers('runtime', 'SI', 'Present numbers, without the estimate.')
    learned: list = numbers('runtime', 'SI', 'Estimate of the adaptive law, in addition.')


def requested(m, p, forgets):
    """
    Return the memory after the start of a new change, if the program has one.

    forgets: flag that the estimate is merged into the known loads, so that the change removes it
    smoothly.
    """
    known = when(forgets, runtime(m), m.known)
    m = replace(m, known=known, learned=when(forgets, [0.0 for _ in known], m.learned))
    new = no(equal(m.change, p.change))
    begun = Memory(p.change, 0.0, p.duration, m.known, m.known, m.learned)
    return _moved(when(new, begun, m), p, 0.0, new)


def update(m, p, dt):
    """Return the memory after `dt` seconds."""
    return _moved(m, p, dt, no(m.duration < 0.0))


def completed(m, p, flag_):
    """Return the memory with a change under way completed at once, where a flag holds."""
    return when(flag_, update(m, p, m.duration), m)


def settled(m):
    """Return whether the last change is complete."""
    return no(m.duration > m.elapsed)


def runtime(m):
    """Return gravity and payload parameters in the order of the kernels."""
    return [a + b for a, b in zip(m.known, m.learned)]


def _moved(m, p, dt, moves):
    elapsed = m.elapsed + dt
    over = no(m.duration > elapsed)
    share = smooth_step(elapsed / positive(m.duration))
    between = [(b - a) * share + a for a, b in zip(m.start, p.target)]
    known = when(over, p.target, between)
    return when(moves, Memory(
        m.change, when(over, -1.0, elapsed), when(over, -1.0, m.duration), m.start, known,
        m.learned), m)
