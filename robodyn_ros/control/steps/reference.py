"""State of the arm, measured or predicted, and reference of its joints."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import modes, predict, wrenches
from robodyn_ros.control.steps.vectors import added, difference
from robodyn_ros.dynamics.jit.flags import both, either, no, when
from robodyn_ros.dynamics.jit.flow import choose


def locate(robot, body, external, flags, state, m):
    """Return the measured or predicted state, and -J^T w of the known wrenches there."""
    wrench_torque = wrenches.torque(body, when(flags.fresh, state.q, m.predicted.q),
                                    external.wrench)
    predicted = choose(flags.fresh, [
        lambda: predict.update(body, m.predicted, when(
            flags.silent, difference(m.sent, wrench_torque), added(m.sent, m.observer.external)),
            flags.dt, robot.longest_pause),
        lambda: predict.Memory(state.q, state.qd)])
    near = predict.plausible(predicted, flags.dt, m.q)
    return (when(either(near, no(flags.between)), predicted, predict.Memory(m.q, m.qd)),
            wrench_torque)


def move(robot, body, table, flags, predicted, m, p):
    """Return the memory of the motion, and the state: close to the reference during silence."""
    reference = m.motion.reference
    q, qd = when(flags.silent, [reference.q, reference.qd], [predicted.q, predicted.qd])
    motion_, outcome = modes.update(body, p.task.reach, p.limits.effort, table, m.motion,
                                    p.motion, flags.now, flags.dt, q, qd)
    mode, action, message, result = modes.conclude(motion_, p.motion, outcome)
    motion_ = replace(modes.act(robot, motion_, p.motion, mode, action, message, q, qd),
                      result=result)
    near = predict.plausible(predicted, flags.dt, motion_.reference.q)
    diverged = both(flags.silent, no(near))
    at_reference = predict.Memory(motion_.reference.q, motion_.reference.qd)
    return motion_, when(diverged, at_reference, predicted)
