"""Program of a cycle from gains and settings."""

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
from robodyn_ros.safety import judged_speeds

EXTERNAL_LAWS = {'own_law': external_law.OWN, Mode.LINEAR_FEEDBACK.value: external_law.LINEAR}

_RESPONSE = 0.1     # of the effort limit: change of torque that a live measured effort must follow
_STEEPEST = 1.5  # ratio of largest to mean deceleration of a stop


def check_law(name: str) -> None:
    """Raise `ParameterError` unless a law that follows references has this name."""
    if name not in TRACKING:
        raise ParameterError(f'no tracking law is called {name!r}; there are '
                             f'{", ".join(TRACKING)}', value=name)


def write_gains(program: SimpleNamespace, gains: Gains, task_gains: TaskGains, law: str) -> None:
    """Write gains, and the tracking law."""
    for block, source in ((program.gains, gains), (program.task, task_gains)):
        for name, values in vars(block).items():
            values[...] = np.reshape(getattr(source, name), values.shape)
    program.law[()] = laws.ROWS[law]
    program.law_damping[()], program.law_stiffness[()] = fastest(
        *TRACKING[law].rates(gains, task_gains))


def write_settings(program: SimpleNamespace, settings: CycleSettings, bounds: Bounds) -> None:
    """Write limits, times, and the bounds of motions to a pose."""
    program.transition.duration[()] = settings.transition_time
    program.tank[()] = settings.energy_tank
    program.limits.effort[:], program.limits.rate[:] = bounds.usable, bounds.rate
    pace = settings.reach
    program.motion.pose.pace[:] = (*pace.velocity, *pace.acceleration, *pace.leash)


def write_constants(program: SimpleNamespace, settings: CycleSettings, model: RobotModel,
                    bounds: Bounds) -> None:
    """Write what does not change during control: states, walls, and times."""
    states, acceptance = settings.states, program.acceptance
    for name, value in (('hold', states.hold), ('stop', states.stop), ('skew', states.max_skew),
                        ('slack', states.jump), ('patience', states.patience),
                        ('simulated', states.simulated)):
        getattr(acceptance, name)[()] = value
    limits, walls = settings.position_limits, program.walls
    walls.tolerance[()], walls.furthest[()] = limits.tolerance, limits.furthest
    walls.speed[()] = limits.speed
    plausible, checks = states.plausibility, acceptance.plausibility
    for name, value in (('source', VELOCITY_SOURCES.index(plausible.velocity_source)),
                        ('smoothing', plausible.velocity_filter), ('motion', plausible.motion),
                        ('lag', plausible.velocity_lag), ('repeated', plausible.repeated),
                        ('overspeed', plausible.overspeed),
                        ('overspeed_time', plausible.overspeed_time),
                        ('speed', speeds(model)), ('torque', _RESPONSE * bounds.usable)):
        getattr(checks, name)[...] = value
    acceptance.limit[:] = judged_speeds(model.velocity_limit)
    acceptance.continuous[:] = model.continuous
    deceleration = _STEEPEST / settings.stop_time * speeds(model)
    program.motion.deceleration[:] = program.motion.pose.acceleration[:] = deceleration
    program.share.activation_time[()] = settings.activation_time


def request(program: SimpleNamespace, kind: float, code: float = 0.0,
            disables: float = 0.0) -> None:
    """Write a request of `steps.motion`, the code of its text, and the laws it disables."""
    p = program.motion
    p.kind[()], p.code[()], p.disables[()] = kind, code, disables
    p.request += 1.0
