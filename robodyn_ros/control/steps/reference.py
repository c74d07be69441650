"""The reference of a cycle, inside of the walls, and the state that it is compared with."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import disturbance, modes, predict, transition
from robodyn_ros.dynamics.jit.flags import all_of, equal, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.safety import walls


def advance_reference(body, table, flags, m, p):
    """
    Return the memory with the reference of this cycle: of a trajectory, pose, stop or rest.

    In silence a state that was predicted far from the reference is replaced by the reference.
    """
    robot = body.robot
    motion, predicted = rejoined(robot, flags, m, p), m.predicted
    q, qd = when(flags.silent, [motion.reference.q, motion.reference.qd],
                 [predicted.q, predicted.qd])
    motion, outcome = modes.update(body, p.task.reach, p.limits.effort, table, motion, p.motion,
                                   flags.now, flags.dt, q, qd)
    mode, action, message, result = modes.conclude(motion, p.motion, outcome)
    motion = replace(modes.act(robot, motion, p.motion, mode, action, message, q, qd),
                     result=result)
    diverged = flags.silent & no(predict.plausible(predicted, flags.dt, motion.reference.q))
    predicted = when(diverged, predict.Memory(motion.reference.q, motion.reference.qd), predicted)
    # the reference of a motion off its path is that of the arm from here on
    left = all_of([equal(m.motion.mode, modes.TRACK), equal(motion.mode, modes.STOP),
                   equal(motion.result, modes.PATH_TOLERANCE_VIOLATED)])
    around = walls.update(robot, m.walls, p.walls, predicted.q, flags.dt, flags.fresh)
    reference = walls.confine(robot, around, motion.reference)
    return replace(m, motion=replace(motion, reference=reference), predicted=predicted,
                   walls=around, disturbance=disturbance.restarted(m.disturbance, left),
                   transition=transition.begin(m.transition, p.transition, left))


def rejoined(robot, flags, m, p):
    """
    Return the memory of the motion; a stop during silence goes on from a prediction that left it.

    At the begin of silence the arm may be faster than the reference, as no torque was sent until
    then, and come to rest far behind it. Without the prediction it would not be braked there.
    """
    predicted = m.predicted
    stopped = equal(m.motion.mode, modes.STOP) | equal(m.motion.mode, modes.HOLD)
    near = predict.plausible(predicted, flags.dt, m.motion.reference.q)
    leaves = all_of([flags.silent, m.coasting, stopped, no(near),
                     predict.usable(predicted, flags.dt)])
    return choose(leaves, [lambda: m.motion, lambda: modes.stop_from(
        robot, m.motion, p.motion, flags.dt, predicted.q, predicted.qd)])
