"""From gains and settings to the program of a cycle."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.gains import Gains
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.control.laws.rates import fastest
from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.control.settings import Bounds, CycleSettings, Mode
from robodyn_ros.control.steps import external_law, laws
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import speeds

EXTERNAL_LAWS = {'own_law': external_law.OWN, Mode.LINEAR_FEEDBACK.value: external_law.LINEAR}

_STEEPEST = 1.5  # largest over mean deceleration of a stop
_ANY = 1e9       # rad/s or m/s, of a joint without limit: infinite times no time is no number


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


def write_constants(program: SimpleNamespace, settings: CycleSettings, model: RobotModel) -> None:
    """Use what does not change any more: the judgement of states, and times of activation."""
    states, accepts = settings.states, program.acceptance
    for name, value in (('hold', states.hold), ('stop', states.stop), ('skew', states.max_skew),
                        ('slack', states.jump), ('patience', states.patience),
                        ('simulated', states.simulated)):
        getattr(accepts, name)[()] = value
    limit = np.asarray(model.velocity_limit, dtype=float)
    # joints without a limit, or with one of zero, are not judged
    accepts.limit[:] = np.where(limit > 0.0, np.minimum(limit, _ANY), _ANY)
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
