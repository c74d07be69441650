"""What the observer makes of a state: external torque, and collisions."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import (
    collision, laws, loads, mean_torque, motion, observer, wrenches)
from robodyn_ros.control.steps.body import Body
from robodyn_ros.control.terms import rows_of
from robodyn_ros.dynamics.jit.flags import above, all_of, either, flag, no
from robodyn_ros.dynamics.jit.flow import choose


def observe(robot, functions, seen, state, m, p):
    """Return the memory with what the observer makes of a state, and flags of a collision."""
    body = Body(robot, functions, loads.runtime(m.loads), p.gains)

    def observed():
        elapsed, torque, given = mean_torque.finished(m.given, seen.now - m.before, m.sent)
        # a velocity from another source is no momentum
        usual = all_of([above(elapsed, 0.0), no(above(elapsed, robot.longest_pause)),
                        no(m.acceptance.plausibility.switched)])
        known = wrenches.known_torque(body, state.q, p.external, m.before)
        blending = either(no(loads.settled(m.loads)), laws.one_of(p.law, laws.ADAPT))
        after = observer.advance(
            body, observer.restarted(m.observer, no(usual)), p.observer, elapsed, state, torque,
            known, rows_of(m.terms), (blending, m.loads.change))
        hit, begun = collision.advance(m.collision, p.collision, elapsed, after.excess,
                                       after.unknown)
        return given, after, hit, begun

    given, after, hit, begun = choose(seen.fresh, [
        lambda: (m.given, m.observer, m.collision, 0.0), observed])
    seen.hit = all_of([begun, no(motion.free(m.motion)), flag(p.collision.reaction)])
    return replace(m, given=given, observer=after, collision=hit)
