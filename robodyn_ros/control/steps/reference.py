"""Where the arm is, measured or predicted, and what is asked of its joints."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import motion, predict, wrenches
from robodyn_ros.control.steps.vectors import added, difference
from robodyn_ros.dynamics.jit.flags import both, either, no, when
from robodyn_ros.dynamics.jit.flow import choose


def locate(robot, body, external, seen, state, m):
    """Return where the arm is, measured or predicted, and -J^T w of the known wrenches there."""
    pushed = wrenches.torque(body, when(seen.fresh, state.q, m.guess.q), external.wrench)
    guess = choose(seen.fresh, [
        lambda: predict.advance(body, m.guess, when(
            seen.silent, difference(m.sent, pushed), added(m.sent, m.observer.external)),
            seen.dt, robot.longest_pause),
        lambda: predict.Memory(state.q, state.qd)])
    near = predict.plausible(guess, seen.dt, m.q)
    return when(either(near, no(seen.between)), guess, predict.Memory(m.q, m.qd)), pushed


def move(robot, body, table, seen, guess, m, p):
    """Return what is asked of the joints, and where the arm is: near that, if it is silent."""
    reference = m.motion.reference
    q, qd = when(seen.silent, [reference.q, reference.qd], [guess.q, guess.qd])
    what, outcome = motion.advance(body, p.task.reach, table, m.motion, p.motion, seen.now,
                                   seen.dt, q, qd)
    mode, action, message, result = motion.conclude(what, p.motion, outcome)
    what = replace(motion.act(robot, what, p.motion, mode, action, message, q, qd),
                   result=result)
    near = predict.plausible(guess, seen.dt, what.reference.q)
    lost = both(seen.silent, no(near))
    return what, when(lost, predict.Memory(what.reference.q, what.reference.qd), guess)
