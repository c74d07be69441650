"""The numbers of a control cycle: program and first memory from settings, and requests."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control import blocks
from robodyn_ros.control.cadence import swiftness
from robodyn_ros.control.contact.collision import checked_threshold
from robodyn_ros.control.contact.settings import ObserverSettings
from robodyn_ros.control.gain_schedule import ScheduledGains
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.control.settings import Bounds, CycleSettings
from robodyn_ros.control.steps import collision, laws, motion, path
from robodyn_ros.control.steps.compiled import BLOCKS, CompiledCycle
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model.per_joint import not_negative, speeds
from robodyn_ros.trajectory import Tolerances, Trajectory

_STEEPEST = 1.5  # largest over mean deceleration of a stop
_REACTIONS = {'report': collision.REPORT, 'stop': collision.STOP, 'float': collision.FLOAT}


def compile_cycle(dynamics: Dynamics, settings: CycleSettings,
                  task_gains: TaskGains) -> CompiledCycle:
    """Return the cycle of a robot; raises `ModelError` for an unknown link."""
    model = dynamics.model
    gains = ScheduledGains(model, settings.gain_schedule)
    schedule = SimpleNamespace(
        rows=gains._rows.tolist(), factors=gains._factors.tolist(),
        continuous=list(map(bool, model.continuous)), sharpness=float(gains._sharpness))
    learning_link = settings.adaptation.link or model.tip
    body, bodies = model.link(learning_link).body, list(model.payload_bodies)
    slot = 3 + 10 * bodies.index(body) if body in bodies else None
    return CompiledCycle(dynamics, task_gains.link, learning_link, slot, settings.longest_pause,
                         schedule)


def views(compiled: CompiledCycle, name: str, values: NDArray) -> SimpleNamespace:
    """Return the fields of a block that an array holds; name: 'state', 'memory', 'program'."""
    return blocks.views(BLOCKS[name], values, compiled.dimensions)


def make_program(compiled: CompiledCycle, dynamics: Dynamics, gains: Gains, task_gains: TaskGains,
                 settings: CycleSettings) -> NDArray:
    """
    Return the program of a cycle that nothing is asked of yet.

    Raises
    ------
    ParameterError
        A wrong length or value, naming the joint.

    """
    model = dynamics.model
    bounds = Bounds.from_settings(model, settings)
    values = compiled.zeros('program')
    p = views(compiled, 'program', values)
    _copy(gains, p.gains)
    _copy(task_gains, p.task)
    _copy(settings.adaptation, p.learning, ('rate', 'dead_zone', 'largest_mass', 'size'))
    deceleration = _STEEPEST / settings.stop_time * speeds(model)
    reach = settings.reach
    p.motion.pose.pace[:] = *reach.velocity, *reach.acceleration, *reach.leash
    p.motion.pose.acceleration[:] = p.motion.deceleration[:] = deceleration
    p.motion.floats[()] = settings.start_floating
    p.law[()] = laws.ROWS[settings.tracking]
    p.law_damping[()], p.law_stiffness[()] = swiftness(
        *TRACKING[settings.tracking].rates(gains, task_gains))
    p.tank[()] = settings.energy_tank
    p.transition.duration[()] = settings.transition_time
    p.share.activation_time[()] = settings.activation_time
    p.limits.effort[:], p.limits.rate[:] = bounds.usable, bounds.rate
    p.reflection.gain[:] = not_negative('reflection.gain', settings.reflection.gain, model)
    p.reflection.limit[:] = settings.reflection.limit * bounds.usable
    p.loads.target[:] = dynamics.runtime
    _observe(p, settings.observer, bounds, model)
    for end in (p.external.end, p.target.end, p.reflection.end, p.external_law.until):
        end[...] = -np.inf
    return values


def _copy(source, target: SimpleNamespace, names: Sequence[str] = ()) -> None:
    for name in names or vars(target):
        view = getattr(target, name)
        view[...] = np.reshape(getattr(source, name), view.shape)


def _observe(p: SimpleNamespace, settings: ObserverSettings, bounds: Bounds, model) -> None:
    limit = checked_threshold(model, settings.collision.threshold)
    p.observer.measured[()] = settings.torque_source == 'measured'
    p.observer.model_error[()] = settings.collision.model_error
    p.observer.limit[:] = settings.disturbance_limit * bounds.usable
    p.collision.on[()] = limit is not None
    p.collision.reaction[()] = _REACTIONS[settings.collision.reaction]
    p.collision.duration[()] = settings.collision.duration
    if limit is not None:
        p.collision.threshold[:] = limit
        p.collision.release[:] = settings.collision.release * limit


def first_memory(compiled: CompiledCycle, program: NDArray) -> NDArray:
    """Return the memory of an arm that was never under control."""
    values = compiled.zeros('memory')
    m, p = views(compiled, 'memory', values), views(compiled, 'program', program)
    m.loads.known[:] = m.loads.start[:] = p.loads.target
    m.loads.elapsed[()] = m.loads.duration[()] = -1.0
    for springs, stiffness in ((m.springs, p.gains.stiffness),
                               (m.task_springs, p.task.stiffness)):
        springs.value[:] = springs.target[:] = stiffness
        springs.energy[()] = p.tank
    m.schedule[:] = 1.0
    m.observer.begins[()] = 1.0
    return values


# --- requests -----------------------------------------------------------------------------------

def request(p: SimpleNamespace, kind: float) -> None:
    """Add a request of a kind of `motion`; p: views of the program."""
    p.motion.request[()] += 1.0
    p.motion.kind[()], p.motion.code[()], p.motion.disables[()] = kind, 0.0, 0.0


def request_trajectory(p: SimpleNamespace, trajectory: Trajectory, moment: float, row: int,
                       tolerances: Tolerances) -> None:
    """
    Request that a trajectory is followed.

    Parameters
    ----------
    p : namespace
        Views of the program.
    trajectory : Trajectory
        From the reference at its moment on.
    moment : float
        Time of the law at which it begins.
    row : int
        Where its `segments` begin in the table.
    tolerances : Tolerances
        About it.

    """
    new = p.motion.upcoming
    new.number[()] += 1.0
    new.moment[()], new.row[()], new.rows[()] = moment, row, len(segments(trajectory))
    new.first[()], new.last[()] = trajectory.times[0], trajectory.times[-1]
    new.first_q[:], new.first_effort[:] = trajectory.begin.q, trajectory.begin.effort
    new.last_q[:], new.last_effort[:] = trajectory.end.q, trajectory.end.effort
    new.path_q[:], new.path_qd[:] = tolerances.path, tolerances.path_velocity
    new.goal_q[:], new.goal_qd[:] = tolerances.goal, tolerances.goal_velocity
    new.goal_time[()] = tolerances.goal_time
    request(p, motion.TO_FOLLOW)


def segments(trajectory: Trajectory) -> NDArray:
    """Return the segments of a trajectory as rows of the table, see `path`."""
    pieces = trajectory._blocks
    if not len(pieces):
        return np.zeros((1, path.columns(trajectory.nv)))
    return np.column_stack([trajectory.times[:len(pieces)], pieces.reshape(len(pieces), -1)])
