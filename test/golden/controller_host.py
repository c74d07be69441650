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

from dataclasses import replace
from functools import lru_cache
import re

import numpy as np
from robodyn_ros.control import ArmController, load_own_law, make_gains, Settings, Term, with_slots
from robodyn_ros.control.arm.messages import Messages
from robodyn_ros.control.steps import modes
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.settings import parameters, values, with_values

from golden.requests import REQUESTS
from golden.scenario import URDFS

# of the logs, where they are not those of the controller
DEFAULTS = {'feedback_inertia': [0.0], 'disturbance_limit': 0.3, 'disturbance_observer': False,
            'constraints.trajectory': [0.0], 'constraints.goal': [0.0]}
_LARGEST = 1e300  # gains that no settings can have are given to the cycle as they are
# names in the logs: parameters
_GAINS = {
    'stiffness': 'impedance.stiffness', 'impedance_frequency': 'impedance.natural_frequency',
    'impedance_ratio': 'impedance.damping_ratio', 'joint_damping': 'impedance.damping',
    'apparent_inertia': 'impedance.inertia', 'viscous': 'friction.viscous',
    'coulomb': 'friction.coulomb', 'stiction': 'friction.stiction',
    'stribeck_velocity': 'friction.stribeck_velocity', 'damping': 'float_damping',
    'observer_bandwidth': 'observer.bandwidth', 'sliding': 'adaptive.sliding'}
_SETTINGS = {
    'tracking': 'mode', 'external_law': 'mode', 'torque_rate': 'torque_rate_limit',
    'wrench_timeout': 'external_wrench.timeout', 'energy_tank': 'impedance.energy_tank',
    'allow_partial_joints': 'allow_partial_joints_goal',
    'observer.disturbance_limit': 'disturbance_limit',
    'tolerances.stopped_velocity': 'constraints.stopped_velocity_tolerance',
    'reach.velocity': 'cartesian.velocity_limit',
    'reach.acceleration': 'cartesian.acceleration_limit',
    'reach.leash': 'cartesian.max_tracking_error', 'adaptation.link': 'cartesian.link'}
_GROUPS = {'reach': 'cartesian', 'adaptation': 'adaptive', 'linear': 'linear_feedback',
           'tolerances': 'constraints', 'observer.collision': 'collision'}


class ControllerHost:
    """
    A controller driven by plain data.

    Parameters
    ----------
    robot : str
        Name of the URDF.
    setup : dict
        As in `Scenario`; as parameters, more of them by name.
    simulated : bool
        As for `ArmController`.
    backend : str
        Of the dynamics.

    Attributes
    ----------
    controller : ArmController

    """

    def __init__(self, robot, setup, backend='compiled', simulated=False):
        self.dynamics = dynamics_of(robot, tuple(setup.get('continuous', ())), backend)
        self.dynamics.update(self.dynamics.model)  # removes the loads of the last scenario
        self.setup = setup
        own = setup.get('own_law')
        self._beyond = {}
        self._given = {name: setup.get(name, {}) for name in ('gains', 'task_gains', 'settings')}
        self.controller = ArmController(
            self.dynamics, self._settings(Settings()),
            own and load_own_law(own, self.dynamics), simulated)
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

    def change(self, kind, changes):
        """Change gains, task_gains or settings: those of the setup, with changes."""
        given = self._given[kind]
        self._given[kind] = {**self.setup.get(kind, {}), **changes}
        present = self.controller.settings
        try:
            design = self.controller.changes.check(replace(
                self._settings(with_values(Settings(), _read_only(present))), mode=present.mode))
        except RobodynError:
            self._given[kind] = given
            raise
        beyond = {name: value for name, value in self._given['gains'].items()
                  if np.max(value, initial=0.0) > _LARGEST}
        if 'gravity_scale' in beyond:
            beyond['safe_gravity_scale'] = beyond['gravity_scale']
        if beyond or self._beyond:
            design = replace(design, gains=replace(make_gains(
                self.controller.dynamics, design.settings), **beyond))
        self._beyond = beyond
        self.controller.changes.apply(design)

    def _settings(self, settings):
        gains = {name: value for name, value in self._given['gains'].items()
                 if np.max(value, initial=0.0) <= _LARGEST}
        return with_values(settings, {
            **DEFAULTS, **self.setup.get('parameters', {}), **_renamed(gains, _GAINS),
            **{f'cartesian.{name}' if name != 'armature' else name: value
               for name, value in self._given['task_gains'].items()},
            **settings_of(self._given['settings'])})

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
        self.controller.activation.resume(now, q, qd)
        return self._nothing

    def update(self, now, q, qd, effort):
        """Return the torque for a state."""
        return self.controller.update(now, q, qd, effort)

    def coast(self, now, *_):
        """Return the torque in silence."""
        return self.controller.cycle.coast(now)

    def between(self, now, *_):
        """Return the torque between two states, at a fixed rate."""
        return self.controller.cycle.between(now)

    # --- results ----------------------------------------------------------------------------

    def status(self):
        """Return mode, fault, counters and so on, which must be equal after every step."""
        c, status = self.controller, self.controller.status
        code = None if status.code is None else int(status.code)
        return {'mode': c.mode.value, 'law': status.law_at_work, 'fault': _timeless(c.fault),
                'message': _timeless(c.message), 'code': code,
                'aborted': status.aborted, 'goal_unmet': bool(status.unmet_goal),
                'following': status.following, 'interruptions': status.interruptions,
                'collision': c.observation.collision,
                'collisions': c.observation.collisions,
                'learning': c.adaptation.learning,
                'wrenches': [*c.inputs.wrenches.links, *c.inputs.target.links],
                'verdict': self._fault_of_torque()}

    def masks(self):
        """Return saturated and rate-limited joints as bits."""
        verdict = self.controller.host.memory.verdict
        return [int((mask > 0.0) @ (1 << np.arange(mask.size)))
                for mask in (verdict.saturated, verdict.rate_limited)]

    def _fault_of_torque(self):
        """Return why the torque of the law was not used; empty if it was, limited or not."""
        verdict = self.controller.host.memory.verdict
        if not verdict.not_finite:
            return ''
        return Messages(self.dynamics.model, '').text(modes.torque_failure(verdict))

    def probe(self):
        """Return reference, terms, external torque and so on, by name."""
        c = self.controller
        return {'reference': np.array(c.reference.arrays), 'terms': c.terms[:Term.TOTAL],
                'external': c.observation.torque, 'unknown': c.observation.unknown,
                'weight': c.gravity_torque(), 'wrench': c.observation.wrench(),
                'feedback_part': np.array([c.status.feedback_scale]),
                'learned': c.adaptation.pseudo_inertia,
                'pose_error': np.zeros(6) if c.status.task is None else c.status.task.pose_error}


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


def _read_only(settings):
    """Return what cannot change any more, by name."""
    present = values(settings)
    return {row.name: present[row.name] for row in parameters(Settings, of_python=True)
            if row.read_only}


def _renamed(given, names):
    return {names.get(name, name): value for name, value in given.items()}


def settings_of(given):
    """Return settings in the words of the logs as parameters, by name."""
    flat = {'constraints.stopped_velocity_tolerance': 0.0}  # without tolerances none is checked
    if given.get('tolerances') is not None:
        flat.clear()
    given = dict(given)
    if given.pop('start_floating', False):
        flat['mode'] = 'gravity_compensation'
    for name, value in _flat(given):
        group, dot, leaf = name.rpartition('.')
        if name == 'tolerances' or value is None:
            continue
        flat[_SETTINGS.get(name, _GROUPS.get(group, group) + dot + leaf)] = value
    return flat


def _flat(given, prefix=''):
    for name, value in given.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value
