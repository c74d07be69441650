"""Reference of the joints, and the state that it is compared with."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import modes, predict
from robodyn_ros.dynamics.jit.flags import all_of, equal, no, when
from robodyn_ros.dynamics.jit.flow import choose


def advance_reference(robot, body, table, flags, predicted, m, p):
    """Return the memory of the motion, and the state: close to the reference during silence."""
    motion_ = rejoined(robot, flags, predicted, m, p)
    reference = motion_.reference
    q, qd = when(flags.silent, [reference.q, reference.qd], [predicted.q, predicted.qd])
    motion_, outcome = modes.update(body, p.task.reach, p.limits.effort, table, motion_,
                                    p.motion, flags.now, flags.dt, q, qd)
    mode, action, message, result = modes.conclude(motion_, p.motion, outcome)
    motion_ = replace(modes.act(robot, motion_, p.motion, mode, action, message, q, qd),
                      result=result)
    near = predict.plausible(predicted, flags.dt, motion_.reference.q)
    diverged = flags.silent & no(near)
    at_reference = predict.Memory(motion_.reference.q, motion_.reference.qd)
    return motion_, when(diverged, at_reference, predicted)


def rejoined(robot, flags, predicted, m, p):
    """
    Return the memory of the motion; a stop during silence goes on from a prediction that left it.

    At the begin of silence the arm may be faster than the reference, as no torque was sent until
    then, and come to rest far behind it. Without the prediction it would not be braked there.
    """
    stopped = equal(m.motion.mode, modes.STOP) | equal(m.motion.mode, modes.HOLD)
    near = predict.plausible(predicted, flags.dt, m.motion.reference.q)
    leaves = all_of([flags.silent, m.coasting, stopped, no(near),
                     predict.usable(predicted, flags.dt)])
    return choose(leaves, [lambda: m.motion, lambda: modes.stop_from(
        robot, m.motion, p.motion, flags.dt, predicted.q, predicted.qd)])
