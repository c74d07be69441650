"""From gains and settings to the program of a cycle."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.gains import Gains
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.control.laws.rates import fastest
from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.control.settings import Bounds, CycleSettings, Mode, VELOCITY_SOURCES
from robodyn_ros.control.steps import external_law, laws
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.safety import finite_velocity_limits

EXTERNAL_LAWS = {'own_law': external_law.OWN, Mode.LINEAR_FEEDBACK.value: external_law.LINEAR}

_SHOWN = 0.1     # of the effort limit, that a live measured effort shows
_STEEPEST = 1.5  # largest over mean deceleration of a stop


def check_law(name: str) -> None:
    """Raise `ParameterError` unless a law that follows references has this name."""
    if name not in TRACKING:
        raise ParameterError(f'no tracking law is called {name!r}; there are '
                             f'{", ".join(TRACKING)}', value=name)


def write_gains(program: SimpleNamespace, gains: Gains, task_gains: TaskGains, law: str) -> None:
    """Use gains, and a law that follows references."""
    for block, source in ((program.gains, gains), (program.task, task_gains)):
        for name, values in vars(block).items():
            values[...] = np.reshape(getattr(source, name), values.shape)
    program.law[()] = laws.ROWS[law]
    program.law_damping[()], program.law_stiffness[()] = fastest(
        *TRACKING[law].rates(gains, task_gains))


def write_settings(program: SimpleNamespace, settings: CycleSettings, bounds: Bounds) -> None:
    """Use limits, times and the paces of a motion to a pose."""
    program.transition.duration[()] = settings.transition_time
    program.tank[()] = settings.energy_tank
    program.limits.effort[:], program.limits.rate[:] = bounds.usable, bounds.rate
    pace = settings.reach
    program.motion.pose.pace[:] = (*pace.velocity, *pace.acceleration, *pace.leash)


def write_constants(program: SimpleNamespace, settings: CycleSettings, model: RobotModel,
                    bounds: Bounds) -> None:
    """Use what does not change any more: states, walls, and times of activation."""
    states, accepts = settings.states, program.acceptance
    for name, value in (('hold', states.hold), ('stop', states.stop), ('skew', states.max_skew),
                        ('slack', states.jump), ('patience', states.patience),
                        ('simulated', states.simulated)):
        getattr(accepts, name)[()] = value
    limits, walls = settings.position_limits, program.walls
    walls.tolerance[()], walls.furthest[()] = limits.tolerance, limits.furthest
    walls.speed[()] = limits.speed
    plausible, judges = states.plausibility, accepts.plausibility
    for name, value in (('source', VELOCITY_SOURCES.index(plausible.velocity_source)),
                        ('smoothing', plausible.velocity_filter), ('motion', plausible.motion),
                        ('lag', plausible.velocity_lag), ('repeated', plausible.repeated),
                        ('overspeed', plausible.overspeed),
                        ('overspeed_time', plausible.overspeed_time),
                        ('speed', speeds(model)), ('torque', _SHOWN * bounds.usable)):
        getattr(judges, name)[...] = value
    accepts.limit[:] = finite_velocity_limits(model.velocity_limit)
    accepts.continuous[:] = model.continuous
    deceleration = _STEEPEST / settings.stop_time * speeds(model)
    program.motion.deceleration[:] = program.motion.pose.acceleration[:] = deceleration
    program.share.activation_time[()] = settings.activation_time


def request(program: SimpleNamespace, kind: float, code: float = 0.0,
            disables: float = 0.0) -> None:
    """Ask for something: a request of `steps.motion`, the code of its text, what it disables."""
    p = program.motion
    p.kind[()], p.code[()], p.disables[()] = kind, code, disables
    p.request += 1.0
