"""
The adapter between golden logs and `ArmController`: the only code here that depends on it.

A log holds requests and steps as plain data. An implementation that is to be compared with the
logs in place of `ArmController` needs a class with these methods, to be given to `replay`:

- the constructor, with the name of a robot and a setup as in `Scenario`;
- `request(name, now, arguments)`: one of `requests.REQUESTS`, each a public method of the
  controller; returns 'done', a result, or the text of the error;
- the steps `activate`, `resume`, `update`, `coast` and `between(now, q, qd, effort)`: time in s
  and arrays in model order, effort None if there is none; each returns the torque, (nv,);
- `status()`: a dict that must be equal after every step; `masks()`: saturated and rate-limited
  joints as bits; `probe()`: arrays that are compared every hundred steps;
- `names` and `effort_limit` of the joints.
"""

from functools import lru_cache
import re

import numpy as np
from robodyn_ros.control import (
    ArmController, CollisionSettings, CycleSettings, LinearBounds, load_own_law, make_gains,
    make_task_gains, ObserverSettings, ReachSettings, ReflectionSettings, Term, with_slots)
from robodyn_ros.control.adaptive.adaptation import AdaptationSettings
from robodyn_ros.control.gain_schedule import GainSchedule
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.trajectory import Tolerances

from golden.requests import REQUESTS
from golden.scenario import URDFS

_NESTED = {'observer': ObserverSettings, 'collision': CollisionSettings, 'reach': ReachSettings,
           'adaptation': AdaptationSettings, 'gain_schedule': GainSchedule,
           'reflection': ReflectionSettings, 'linear': LinearBounds}


class ControllerHost:
    """
    A controller driven by plain data.

    Parameters
    ----------
    robot : str
        Name of the URDF.
    setup : dict
        As in `Scenario`.
    backend : str
        Of the dynamics.

    Attributes
    ----------
    controller : ArmController

    """

    def __init__(self, robot, setup, backend='compiled'):
        self.dynamics = dynamics_of(robot, tuple(setup.get('continuous', ())), backend)
        self.dynamics.update(self.dynamics.model)  # removes the loads of the last scenario
        self.setup = setup
        own = setup.get('own_law')
        self.controller = None
        self.controller = ArmController(
            self.dynamics, self.gains(), self.settings(),
            own and load_own_law(own, self.dynamics, setup.get('own_law_deadline', 10.0)),
            self.task_gains())
        self.planned = None
        self._nothing = np.zeros(self.dynamics.nv)

    @property
    def names(self):
        """Names of the joints."""
        return self.controller.model.joint_names

    @property
    def effort_limit(self):
        """Effort limits of the model, (nv,)."""
        return np.array(self.controller.model.effort_limit)

    # --- plain data -------------------------------------------------------------------------

    def gains(self, **changes):
        """Return the gains of the setup, with changes."""
        dynamics = self.controller.dynamics if self.controller else self.dynamics
        return make_gains(dynamics, **{**self.setup.get('gains', {}), **changes})

    def task_gains(self, **changes):
        """Return the Cartesian gains of the setup, with changes."""
        return make_task_gains(self.dynamics, **{**self.setup.get('task_gains', {}), **changes})

    def settings(self, **changes):
        """Return the settings of the setup, with changes."""
        return settings_from({**self.setup.get('settings', {}), **changes}, self.dynamics.nv)

    # --- requests and steps -----------------------------------------------------------------

    def request(self, name, now, arguments):
        """Call a method of the controller by name; return its result or its error as text."""
        try:
            answer = REQUESTS[name](self, now, **arguments)
        except RobodynError as error:
            return _timeless(f'{type(error).__name__}: {error}')
        return 'done' if answer is None else str(answer)

    def activate(self, now, q, qd, _effort):
        """Activate the controller."""
        self.controller.activate(now, q, qd)
        return self._nothing

    def resume(self, now, q, qd, _effort):
        """Continue from a measured state after silence."""
        self.controller.resume(now, q, qd)
        return self._nothing

    def update(self, now, q, qd, effort):
        """Return the torque for a state."""
        return self.controller.update(now, q, qd, effort)[0]

    def coast(self, now, *_):
        """Return the torque in silence."""
        return self.controller.coast(now)[0]

    def between(self, now, *_):
        """Return the torque between two states, at a fixed rate."""
        return self.controller.between(now)[0]

    # --- results ----------------------------------------------------------------------------

    def status(self):
        """Return mode, fault, counters and so on, which must be equal after every step."""
        c = self.controller
        return {'mode': c.mode.value, 'law': c.law_at_work, 'fault': _timeless(c.fault),
                'message': _timeless(c.message), 'code': None if c.code is None else int(c.code),
                'aborted': c.aborted, 'goal_unmet': bool(c.unmet_goal),
                'following': c.following, 'interruptions': c.interruptions,
                'collision': c.observation.collision,
                'collisions': c.observation.collisions,
                'learning': c.adaptation.learning,
                'wrenches': [*c.wrenches.links, *c.target.links],
                'verdict': c.verdict.fault or ''}

    def masks(self):
        """Return saturated and rate-limited joints as bits."""
        verdict = self.controller.verdict
        return [int(mask @ (1 << np.arange(mask.size)))
                for mask in (verdict.saturated, verdict.rate_limited)]

    def probe(self):
        """Return reference, terms, external torque and so on, by name."""
        c = self.controller
        return {'reference': np.array(c.reference.arrays), 'terms': c.terms[:Term.TOTAL],
                'external': c.observation.torque, 'unknown': c.observation.unknown,
                'weight': c.weight(), 'wrench': c.observation.wrench(),
                'feedback_part': np.array([c.feedback_part]),
                'learned': c.adaptation.pseudo_inertia,
                'pose_error': np.zeros(6) if c.task is None else c.task.pose_error}


def _timeless(text):
    """Return a text without times measured on the processor."""
    return re.sub(r'it took [0-9.e+]+ ms', 'it took too many ms', text)


class _Dynamics(Dynamics):
    """Dynamics whose kernels are loaded once for all controllers."""

    def __init__(self, model, **options):
        super().__init__(model, **options)
        self._loaded = {}

    def kernel(self, function, arguments, shape, name=None):
        """Return a kernel, the same for the same name."""
        key = name, function.__module__, function.__qualname__, tuple(arguments.items()), shape
        if name is None or key not in self._loaded:
            self._loaded[key] = super().kernel(function, arguments, shape, name)
        return self._loaded[key]


@lru_cache(maxsize=None)
def dynamics_of(name, continuous=(), backend='compiled'):
    """Return the dynamics of a robot, with some of its joints made continuous."""
    text = (URDFS / f'{name}.urdf').read_text(encoding='utf-8')
    for joint in continuous:
        text = text.replace(f'<joint name="{joint}" type="revolute">',
                            f'<joint name="{joint}" type="continuous">')
    return _Dynamics(with_slots(RobotModel.from_urdf(text)), backend=backend)


def settings_from(values, nv):
    """Return settings of plain data."""
    values = {name: _NESTED[name](**_nested(value)) if name in _NESTED else value
              for name, value in values.items()}
    if values.get('tolerances') is not None:
        values['tolerances'] = Tolerances.from_defaults(nv, **values['tolerances'])
    return CycleSettings(**values)


def _nested(values):
    return {name: _NESTED[name](**value) if name in _NESTED else value
            for name, value in values.items()}
