"""Contact: external torque of the momentum observer, and collisions."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import (
    collision, laws, loads, mean_torque, modes, observer, wrenches)
from robodyn_ros.control.steps.body import Body
from robodyn_ros.control.terms import rows_of
from robodyn_ros.dynamics.jit.flags import all_of, flag, no
from robodyn_ros.dynamics.jit.flow import choose


def observe(robot, functions, flags, state, m, p):
    """Return the memory after observing a state; `flags.hit` is set where a collision begins."""
    body = Body(robot, functions, loads.runtime(m.loads), p.gains)

    def observed():
        elapsed, torque, after_torque = mean_torque.finished(
            m.mean_torque, flags.now - m.before, m.sent)
        # a velocity from another source would look like a change of momentum
        regular = all_of([elapsed > 0.0, no(elapsed > robot.longest_pause),
                          no(m.acceptance.plausibility.switched)])
        undecided = m.acceptance.plausibility.undecided
        known = wrenches.known_torque(body, state.q, p.external, m.before)
        blending = no(loads.settled(m.loads)) | laws.one_of(p.law, laws.ADAPT)
        after = observer.update(
            body, observer.restarted(m.observer, no(regular)), p.observer, elapsed, state, torque,
            known, rows_of(m.terms), (blending, m.loads.change))
        hit, begun = collision.update(m.collision, p.collision, elapsed, after.excess,
                                      after.unknown, undecided)
        return after_torque, after, hit, begun

    after_torque, after, hit, begun = choose(flags.fresh, [
        lambda: (m.mean_torque, m.observer, m.collision, 0.0), observed])
    flags.hit = all_of([begun, no(modes.no_reference(m.motion)), flag(p.collision.reaction)])
    return replace(m, mean_torque=after_torque, observer=after, collision=hit)
