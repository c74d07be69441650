"""
Reported velocity against the change of position, joint by joint.

Both pass the same leaky window, so that the integral of the velocity and the change of position
differ only by the lag of the velocity, at most `lag` times the speed. A joint whose velocity
differs by more is in doubt, until both have agreed again for a while in motion. A limit cycle may
be so small that a lag could be the reason, but never for its phase: over a longer time, in which a
joint goes to and fro, the regression of one on the other has to be near 1 as well.

What is found of a joint in doubt is the ratio of both, which shows the cause. A ratio that no lag
explains is a fault, and so is a velocity of a joint that stands still.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps.event import Event
from robodyn_ros.control.steps.vectors import element, first_where, positive
from robodyn_ros.dynamics.jit.flags import (
    above, all_of, any_of, below, both, either, finite, no, when)
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum

# codes of `messages`
CONTRADICTED, STANDING = 123.0, 124.0
# ratio of velocity and change of position:
SMALL = 0.25      # below which the velocity is not reported,
WRONG = 2.0       # above which, or below 1 over which, no lag explains it,
_AGREES = 1.25    # and the same, that ends a doubt
_WINDOW = 0.15    # s in which motion is forgotten
_CLEARED = 0.2    # s of motion that agrees, and no larger difference since, that end a doubt
_LATE = 2.5       # periods that a velocity may lag in any case: differentiated, a sample late
_UNPROVEN = 0.2   # of the lag, that is granted to a velocity that has not agreed yet
_SHOWN = 3.0      # times `motion` from which on a ratio is measured
_MOST = 100.0     # times the velocity limit, that a velocity counts at most
_LONG = 0.5       # s over which velocity and motion to and fro are compared,
_SWUNG = 1.5      # times `motion` that this motion is at least,
_LEFT = 0.1       # and how much of its square is enough to find the ratio
# of the memory, what is kept of each joint
_KEPT = ('rate', 'change', 'integral', 'likeness', 'swing', 'proven', 'doubted', 'agreed',
         'mismatch')


def kept(dt):
    """Return the part of the window that is left after `dt` seconds."""
    return _WINDOW / (_WINDOW + dt)


def compared(x, dt, anew, m, p, estimated):
    """
    Return the memory with what velocities and positions show of each other.

    Parameters
    ----------
    x : namespace
        Of all joints: velocities `reported`, and their `estimate`; flags that they are `outlying`;
        `step` of the position.
    dt : scalar
        Time since the last state, s.
    anew : scalar
        Flag: there is no state to go on from.
    m, p : Memory, Program
        Of `plausibility`.
    estimated : scalar
        Flag: reported velocities are not used.

    """
    common = SimpleNamespace(
        dt=dt, anew=anew, judged=both(finite(p.motion), no(estimated)), motion=p.motion,
        left=when(anew, 0.0, kept(dt)), shown=_SHOWN * p.motion,
        lag=maximum(p.lag, _LATE * dt), share=dt / (_LONG + dt),
        swung=(_SWUNG * p.motion) * (_SWUNG * p.motion))
    joints = [
        _compared(SimpleNamespace(speed=speed, **{name: getattr(m, name)[j] for name in (
            *_KEPT, 'absent', 'outlying')}), SimpleNamespace(
                reported=x.reported[j], estimate=x.estimate[j], outlying=x.outlying[j],
                step=x.step[j]), common) for j, speed in enumerate(p.speed)]
    contradicts, stands, products, squares = (
        [getattr(each, name) for each in joints]
        for name in ('contradicts', 'stands', 'product', 'square'))
    wrong = any_of(contradicts)

    def found():
        j = first_where(when(wrong, contradicts, stands))
        ratio = element(products, j) / positive(element(squares, j))
        return when(wrong, Event(CONTRADICTED, j, ratio, 0.0, 0.0), Event(
            STANDING, j, element([each.rate for each in joints], j), 0.0, 0.0))

    fault = choose(either(wrong, any_of(stands)), [lambda: m.fault, found])
    return replace(m, fault=fault, **{
        name: [getattr(each, name) for each in joints] for name in _KEPT})


def _compared(old, x, c):
    """Return what is kept of a joint, and what is found; `c` is the same for all."""
    most = _MOST * old.speed
    single = both(x.outlying, no(old.outlying))
    rate = when(single, x.estimate, minimum(maximum(x.reported, -most), most))
    before = when(c.anew, rate, old.rate)
    change = c.left * old.change + when(c.anew, 0.0, x.step)
    integral = c.left * old.integral + when(c.anew, 0.0, 0.5 * c.dt * (rate + before))
    gap, size = absolute(integral - change), absolute(change)
    bound = c.motion + c.lag * old.speed
    product, square = integral * change, change * change
    moved = above(size, c.shown)
    agrees, like = (all_of([moved, below(gap, bound), above(product, square / factor),
                            below(product, factor * square)]) for factor in (_AGREES, WRONG))
    off, proven = both(c.judged, no(old.absent)), either(old.proven, like)
    sways, likeness, swing = _to_and_fro(old, product, square, off, c)
    # doubts
    agreed = when(agrees, old.agreed + c.dt, when(above(gap, bound), 0.0, old.agreed))
    doubtful = both(off, both(old.doubted, below(agreed, _CLEARED)))
    begins = all_of([off, no(old.doubted), either(sways, above(gap, when(
        old.proven, bound, c.motion + _UNPROVEN * c.lag * old.speed)))])
    ends = both(old.doubted, no(doubtful))
    # what is found of a joint in doubt
    far = both(off, both(old.doubted, above(gap, 2.0 * bound)))
    contradicts = all_of([far, moved, either(
        below(product, -SMALL * square), above(absolute(integral), WRONG * size))])
    stands = all_of([far, above(gap, 4.0 * bound), below(size, 0.5 * c.motion)])
    measured = all_of([off, old.doubted, moved, above(gap, bound)])
    # the rest of a limit cycle that has ended
    rests = all_of([old.doubted, no(old.mismatch), above(swing, _LEFT * c.swung)])
    mismatch = when(measured, product / positive(square) - 1.0, when(
        rests, likeness / positive(swing) - 1.0, old.mismatch))
    # what is found from here on has no part in it of what was before
    clears, turns = any_of([begins, contradicts, stands]), either(begins, ends)
    return SimpleNamespace(
        rate=when(begins, x.reported, rate), change=when(clears, 0.0, change),
        integral=when(clears, 0.0, integral), likeness=when(turns, 0.0, likeness),
        swing=when(turns, 0.0, swing), proven=proven, doubted=either(begins, doubtful),
        agreed=when(doubtful, agreed, 0.0), mismatch=when(doubtful, mismatch, 0.0),
        contradicts=contradicts, stands=stands, product=product, square=square)


def _to_and_fro(old, product, square, off, c):
    """Return whether a limit cycle contradicts the velocity, and the means that show it."""
    weight = c.shown * c.shown / maximum(square, c.shown * c.shown)  # of a motion before: no more
    likeness, swing = (when(off, each + c.share * (weight * new - each), 0.0)
                       for each, new in ((old.likeness, product), (old.swing, square)))
    sways = both(above(swing, c.swung), either(
        below(likeness, SMALL * swing), below(swing, SMALL * likeness)))
    return sways, likeness, swing
