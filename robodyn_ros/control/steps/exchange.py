"""
Two joints whose names are exchanged, although their positions are near each other.

An exchange of joints far from each other makes their positions jump. Two joints near each other
are exchanged if each has the position and velocity that the other one is to have after its last
state, and not its own. From then on the state of each is followed under its own name, wherever
both go, so that the names are recognised when they are right again.

If both joints have the same position, their velocities alone may have changed for other reasons:
in contact, for example, or by a wrong sign. States are then undecided until the joints have moved
away from each other, each as the other one, or not. If they do not for some time, an exchange is
suspected, and the states are used. If the positions of the same joints are exchanged later, the
names are right again.
"""

from __future__ import annotations

from dataclasses import replace
import math

from robodyn_ros.dynamics.jit.blocks import block, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_above, any_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum
from robodyn_ros.dynamics.jit.vectors import element, largest

_PLACE = 0.4     # of the motion that exceeds noise: error of a position
_NOISE = 0.05    # of the velocity limit: error of a reported velocity
_FASTEST = 10.0  # 1/s, acceleration of a joint per unit of its velocity limit
_FAR = 2.0       # tolerances by which a state is not that of a joint
_CLEAR, _CLEARER = 0.5, 4.0  # tolerances, and times that of the other names, of wrong names
_LONGEST = 0.03  # s between two states; later the arm may be anywhere


@block
class Memory:
    exchanged: float = scalar('', 'Flag: two joints have exchanged names.')
    undecided: float = scalar('', 'Flag: by their velocities; their positions are too near.')
    suspected: float = scalar('', 'Flag: they may have done so at the same position.')
    first: float = scalar('', 'One of these joints.')
    second: float = scalar('', 'The other one.')


def update(m, known, passed, state, before, motion, speed, absent):
    """
    Return the memory after a state, the state under its own names, and whether they are found.

    Parameters
    ----------
    m : Memory
        Memory.
    known : scalar
        Flag: there is a state to compare with; otherwise the names are taken as they are.
    passed : scalar
        Time since that state, s.
    state, before : (list, list)
        Positions and velocities: reported, and of the last state under their own names.
    motion : scalar
        Motion that exceeds the noise of positions, rad or m.
    speed : list
        Velocity limits.
    absent : list
        Flags: the velocity is not reported.

    Returns
    -------
    memory : Memory
    state : (list, list)
    found : scalar
        Flag: the names are right again after an exchange that was only suspected.

    """
    (q, qd), (last, rate) = state, before
    ahead = [x + passed * v for x, v in zip(last, rate)]
    fast = [(_NOISE + _FASTEST * passed) * most for most in speed]
    far = [_PLACE * motion + passed * most for most in fast]
    fast = [when(each, math.inf, most) for each, most in zip(absent, fast)]
    joints = list(zip(q, ahead, far, qd, rate, fast))
    away, faster = zip(*(_misfit(*each) for each in joints))
    misfit = [maximum(*each) for each in zip(away, faster)]

    def judged():
        first = when(m.exchanged, m.first, largest(misfit))
        row = [element(each, first) for each in zip(*joints)]
        crossed = [
            when(equal(first, float(k)), math.inf, maximum(
                maximum(*_misfit(each[0], *row[1:3], each[3], *row[4:])),
                maximum(*_misfit(row[0], *each[1:3], row[3], *each[4:]))))
            for k, each in enumerate(joints)]
        second = when(m.exchanged, m.second, largest([-each for each in crossed]))
        other = element(crossed, second)

        def worse(values, than):
            # of joints that are near each other both names fit, but the right ones much better
            return all_of([(value > _CLEAR) & (value > _CLEARER * than) for value in values])

        def of_both(values):
            return [element(values, j) for j in (first, second)]

        own = maximum(*of_both(misfit))
        fits = other <= 1.0
        begins = all_of([fits, passed <= _LONGEST, worse(of_both(away), other)])
        meets = all_of([no(m.exchanged), fits, no(begins), m.undecided
                        | all_of([each > _FAR for each in of_both(faster)])])
        undecided = meets & (passed <= _LONGEST)
        expires = all_of([meets, flag(m.undecided), no(undecided)])
        ends = (own <= 1.0) & worse([other], own)
        same = (m.suspected & ((equal(first, m.first) & equal(second, m.second))
                               | (equal(first, m.second) & equal(second, m.first))))
        found = all_of([no(m.exchanged), begins, same])
        exchanged = when(m.exchanged, no(ends), begins & no(same))
        suspected = when(exchanged, 0.0, when(expires, no(same), m.suspected & no(found)))
        kept = flag(m.suspected) & no(exchanged | expires)
        after = Memory(exchanged, undecided, suspected, when(kept, m.first, first),
                       when(kept, m.second, second))
        return after, *(_exchanged(row, exchanged, first, second) for row in (q, qd)), found

    after, q, qd, found = choose(
        known & any_of([flag(m.exchanged), flag(m.undecided), any_above(misfit, _FAR)]),
        [lambda: (replace(m, exchanged=0.0, undecided=0.0, suspected=known & m.suspected), list(q),
                  list(qd), 0.0), judged])
    return after, (q, qd), found


def only(m, flags):
    """Return whether an exchange is suspected, and flags hold for no other joints."""
    return (m.suspected
            & no(
                any_of([all_of([each, no(equal(m.first, float(k))), no(equal(m.second, float(k)))])
                        for k, each in enumerate(flags)])))


def _misfit(x, ahead, far, v, rate, fast):
    """Return the difference of a state from the expected one, in tolerances."""
    return absolute(x - ahead) / far, absolute(v - rate) / fast


def _exchanged(row, flag_, first, second):
    """Return a row in which two joints have each other's number, where a flag holds."""
    one, other = element(row, first), element(row, second)
    return [when(flag_ & equal(first, float(k)), other,
                 when(flag_ & equal(second, float(k)), one, x)) for k, x in enumerate(row)]
