"""The design of one robot, written into the program of its cycle, and its first memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.arm.design import Design
from robodyn_ros.control.laws.table import fastest, TRACKING
from robodyn_ros.control.settings import VELOCITY_SOURCES
from robodyn_ros.control.steps import laws, modes, path_time
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.safety import acceptance

_STEEPEST = 1.5  # largest over mean deceleration of a stop


def write_gains(program: SimpleNamespace, design: Design, law: str) -> None:
    """Write gains, and the law that follows references."""
    for block, source in ((program.gains, design.gains), (program.task, design.task_gains)):
        for name, values in vars(block).items():
            values[...] = np.reshape(getattr(source, name), values.shape)
    program.law[()] = laws.ROWS[law]
    program.law_damping[()], program.law_stiffness[()] = fastest(
        *TRACKING[law].rates(design.gains, design.task_gains))


def write_gain_change(program: SimpleNamespace, before: Design, design: Design, law: str) -> bool:
    """Write gains of another design; return whether the law at work uses others than before."""
    other = design.gains is not before.gains
    other_task = design.task_gains is not before.task_gains
    program.springs += other
    program.task_springs += other_task
    write_gains(program, design, law)
    return other or (other_task and TRACKING[law].cartesian)


def write_settings(program: SimpleNamespace, design: Design) -> None:
    """Write limits, times, and the limits of motions to a pose."""
    settings, bounds, pace = design.settings, design.bounds, design.settings.cartesian
    program.transition.duration[()] = settings.transition_time
    program.feedback.delay[()] = design.unseen_delay
    program.feedback.behind[:] = design.delays
    program.tank[()] = settings.impedance.energy_tank
    program.limits.effort[:], program.limits.rate[:] = bounds.usable, bounds.rate
    program.motion.pose.pace[:] = (
        *pace.velocity_limit, *pace.acceleration_limit, *pace.max_tracking_error)
    program.disturbance.limit[:] = settings.disturbance_limit * bounds.usable
    # from 1 to 0 the second derivative is -jerk for half of the time, then jerk
    program.motion.time.jerk[()] = 4.0 / settings.pause_time ** 2


def write_constants(program: SimpleNamespace, design: Design, model: RobotModel,
                    simulated: bool) -> None:
    """
    Write what does not change any more: states, walls, and times of activation.

    simulated: whether the time of the cycle is that of the stamps.
    """
    settings, stale, seen = design.settings, design.settings.stale, design.settings.plausibility
    acceptance.write_program(
        program.acceptance, model, design.bounds.usable, simulated, hold=stale.hold,
        stop=stale.stop, skew=stale.max_skew, slack=stale.jump,
        source=VELOCITY_SOURCES.index(settings.velocity_source),
        smoothing=settings.velocity_filter, motion=seen.motion, lag=seen.velocity_lag,
        repeated=seen.repeated, overspeed=settings.overspeed,
        overspeed_time=settings.overspeed_time)
    program.motion.time.scaling[()] = path_time.FULL
    limits, walls = settings.position_limits, program.walls
    walls.tolerance[()], walls.furthest[()] = limits.tolerance, limits.furthest
    walls.speed[()] = limits.recovery_speed
    deceleration = _STEEPEST / settings.stop_time * speeds(model)
    program.motion.deceleration[:] = program.motion.pose.acceleration[:] = deceleration
    program.feedback.activation_time[()] = settings.activation_time


def write_initial_memory(m: SimpleNamespace, p: SimpleNamespace, design: Design,
                         model: RobotModel) -> None:
    """Write memory and program of an arm that was never under control."""
    for springs, stiffness in ((m.springs, design.gains.stiffness),
                               (m.task_springs, design.task_gains.stiffness)):
        springs.value[:] = springs.target[:] = stiffness
        springs.energy[()] = design.settings.impedance.energy_tank
    m.oscillation.factor.fill(1.0)
    # the dynamics may have the loads of another controller
    m.loads.known[:] = m.loads.start[:] = p.loads.target[:] = np.concatenate(
        [model.gravity, np.ravel(model.payload_parameters)])
    m.loads.elapsed[()] = m.loads.duration[()] = -1.0
    m.motion.result[()] = modes.RUNNING
    m.observer.begins[()] = 1.0
    acceptance.write_initial(m.acceptance)
    m.walls.lower[:], m.walls.upper[:] = model.lower, model.upper
    m.feedback.since[()] = np.inf  # feedback grows from the activation on


def request(program: SimpleNamespace, kind: float, code: float = 0.0,
            disables: float = 0.0) -> None:
    """Write a request of `steps.modes`, the code of its text, and the laws it disables."""
    p = program.motion
    p.kind[()], p.code[()], p.disables[()] = kind, code, disables
    p.request += 1.0
