"""
Reported velocity against the change of position, joint by joint.

Both pass the same leaky window, so that the integral of the velocity and the change of position
differ only by the lag of the velocity, at most `lag` times the speed. A joint whose velocity
differs by more, or is an outlier for longer than that lag, is in doubt until both have agreed
again for a while in motion. A limit cycle may be so small that a lag could explain the difference,
but not the phase: over a longer time, in which the joint oscillates, the regression of one on the
other must be near 1, too.

For a joint in doubt the ratio of both is determined, which shows the cause. A ratio that no lag
explains is a fault, and so is a velocity of a joint at rest.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.dynamics.jit.flags import all_of, any_of, finite, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import element, first_where, positive
from robodyn_ros.safety.events import CONTRADICTED, Event, STANDING

# ratio of velocity and change of position:
SMALL = 0.25      # below which the velocity is not reported,
WRONG = 2.0       # above which, or below 1 over which, no lag explains it,
_AGREES = 1.25    # and the same, that ends a doubt
_WINDOW = 0.15    # s, time constant of the window
_CLEARED = 0.2    # s of agreeing motion, without a larger difference since, that end a doubt
_LATE = 2.5       # periods of lag that are always allowed: differentiated, and a sample late
_UNVERIFIED = 0.2   # of the lag, allowed for a velocity that is not verified yet
_MEASURABLE = 3.0      # times `motion` above which a ratio is determined
_MAX = 100.0     # times the velocity limit, bound of a reported velocity
_LONG = 0.5       # s, time constant over which oscillations are compared,
_OSCILLATION = 1.5      # times `motion`, their smallest amplitude,
_RESIDUAL = 0.1       # and part of its square that is enough to determine the ratio
_UNDECIDED = 0.2      # of `motion`, and
_SCALE = 0.02         # of the change of position: difference that may become a doubt
# fields of the memory that are kept for each joint
_KEPT = ('rate', 'persisted', 'change', 'integral', 'covariance', 'variance', 'verified',
         'doubted', 'agreed', 'mismatch')


def window_decay(dt):
    """Return the part of the window that is left after `dt` seconds."""
    return _WINDOW / (_WINDOW + dt)


def compared(x, dt, restarts, m, p, estimated):
    """
    Return the memory after comparing velocities with positions.

    Parameters
    ----------
    x : namespace
        Lists over the joints: velocities `reported`, and their `estimate`; flags `outlier`; `step`
        of the position.
    dt : scalar
        Time since the last state, s.
    restarts : scalar
        Flag: there is no previous state.
    m, p : Memory, Program
        Memory and program of `plausibility`.
    estimated : scalar
        Flag: reported velocities are not used.

    """
    common = SimpleNamespace(
        dt=dt, restarts=restarts, judged=finite(p.motion) & no(estimated), motion=p.motion,
        left=when(restarts, 0.0, window_decay(dt)), measurable=_MEASURABLE * p.motion,
        lag=maximum(p.lag, _LATE * dt), share=dt / (_LONG + dt),
        min_variance=(_OSCILLATION * p.motion) * (_OSCILLATION * p.motion))
    joints = [
        _compared(SimpleNamespace(speed=speed, **{name: getattr(m, name)[j] for name in (
            *_KEPT, 'absent', 'outlier')}), SimpleNamespace(
                reported=x.reported[j], estimate=x.estimate[j], outlier=x.outlier[j],
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

    fault = choose(wrong | any_of(stands), [lambda: m.fault, found])
    undecided = any_of([each.undecided for each in joints])
    return replace(m, fault=fault, undecided=when(undecided, 1.0, 0.0), **{
        name: [getattr(each, name) for each in joints] for name in _KEPT})


def _compared(old, x, c):
    """Return memory and findings of a joint; `c`: values common to all joints."""
    most = _MAX * old.speed
    single = x.outlier & no(old.outlier)
    rate = when(single, x.estimate, minimum(maximum(x.reported, -most), most))
    before = when(c.restarts, rate, old.rate)
    change = c.left * old.change + when(c.restarts, 0.0, x.step)
    integral = c.left * old.integral + when(c.restarts, 0.0, 0.5 * c.dt * (rate + before))
    gap, size = absolute(integral - change), absolute(change)
    bound = c.motion + c.lag * old.speed
    product, square = integral * change, change * change
    moved = size > c.measurable
    agrees, like = (
        all_of([moved, gap < bound, product > square / factor, product < factor * square])
        for factor in (_AGREES, WRONG))
    off, verified = c.judged & no(old.absent), old.verified | like
    oscillates, covariance, variance = _oscillation(old, product, square, off, c)
    # doubt
    agreed = when(agrees, old.agreed + c.dt, when(gap > bound, 0.0, old.agreed))
    doubtful = off & (old.doubted & (agreed < _CLEARED))
    persisted = when(x.outlier, old.persisted + c.dt, 0.0)
    begins = all_of([off, no(old.doubted),
                     any_of([oscillates, persisted > c.lag,
                             gap > when(old.verified, bound,
                                        c.motion + _UNVERIFIED * c.lag * old.speed)])])
    ends, doubted = old.doubted & no(doubtful), begins | doubtful
    # the integral of a velocity that jumps within a period is half a period late
    undecided = all_of(
        [off, no(doubted), gap > _UNDECIDED * c.motion + _SCALE * size + c.dt * old.speed])
    # cause
    far = off & (old.doubted & (gap > 2.0 * bound))
    contradicts = all_of([far, moved, (product < -SMALL * square)
                          | (absolute(integral) > WRONG * size)])
    stands = all_of([far, gap > 4.0 * bound, size < 0.5 * c.motion])
    measured = all_of([off, old.doubted, moved, gap > bound])
    # remainder of a limit cycle that has ended
    residual = all_of([old.doubted, no(old.mismatch), variance > _RESIDUAL * c.min_variance])
    mismatch = when(measured, product / positive(square) - 1.0, when(
        residual, covariance / positive(variance) - 1.0, old.mismatch))
    # findings from here on do not depend on what was before
    clears, turns = any_of([begins, contradicts, stands]), begins | ends
    return SimpleNamespace(
        rate=when(begins, x.reported, rate), persisted=persisted, change=when(clears, 0.0, change),
        integral=when(clears, 0.0, integral), covariance=when(turns, 0.0, covariance),
        variance=when(turns, 0.0, variance), verified=verified, doubted=doubted,
        agreed=when(doubtful, agreed, 0.0), mismatch=when(doubtful, mismatch, 0.0),
        undecided=undecided, contradicts=contradicts, stands=stands, product=product,
        square=square)


def _oscillation(old, product, square, off, c):
    """Return whether a limit cycle contradicts the velocity, and the means that show this."""
    # bounds the influence of earlier motion
    bound = c.measurable * c.measurable
    weight = bound / maximum(square, bound)
    covariance, variance = (when(off, each + c.share * (weight * new - each), 0.0)
                            for each, new in ((old.covariance, product), (old.variance, square)))
    oscillates = ((variance > c.min_variance)
                  & ((covariance < SMALL * variance) | (variance < SMALL * covariance)))
    return oscillates, covariance, variance
