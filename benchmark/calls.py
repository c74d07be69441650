"""Calls of several libraries for the same quantities, with a check that they agree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from os import PathLike
from typing import Any
from xml.etree import ElementTree

import numpy as np
from timing import Call, OURS

from robodyn_ros.control import ControlLaw, make_gains, Settings, Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.trajectory import Reference

STEP_AWAY = 0.1  # rad, or m: how far the law's reference is from the state
BATCH = 10_000   # states

# class of another library: its module here, and the package that it needs
_PEERS = {'Pinocchio': ('with_pinocchio', 'pin'), 'Mujoco': ('with_mujoco', 'mujoco')}

Cases = dict[str, dict[str, Call]]


def importable() -> tuple[list[type], list[str]]:
    """Return the classes of installed libraries, and the packages of the others."""
    found, missing = [], []
    for name, (module, package) in _PEERS.items():
        try:
            found.append(getattr(import_module(module), name))
        except ImportError:
            missing.append(package)
    return found, missing


def calls_of(robot: BenchRobot, peers: Collection[Any],
             wanted: Collection[str] | None = None) -> Cases:
    """Return the checked calls of each quantity by library, ours first."""
    own = Robodyn(robot)
    theirs = {peer.name: peer(robot, own.law_state()).calls() for peer in peers}
    return _checked(robot, own.calls(), theirs, wanted)


def batches_of(robot: BenchRobot, peers: Collection[Any],
               wanted: Collection[str] | None = None) -> Cases:
    """Return the checked calls for many states; other libraries are called in a loop."""
    own = Robodyn(robot)
    theirs = {peer.name: peer(robot, own.law_state()).batches(BATCH)
              for peer in peers if hasattr(peer, 'batches')}
    return _checked(robot, own.batches(), theirs, wanted)


def _checked(robot: BenchRobot, ours: dict[str, Call], theirs: Cases,
             wanted: Collection[str] | None) -> Cases:
    cases = {}
    for quantity, call in ours.items():
        if wanted is None or quantity in wanted:
            cases[quantity] = {OURS: call} | {
                name: calls[quantity] for name, calls in theirs.items() if quantity in calls}
            check(robot.name, quantity, cases[quantity])
    return cases


def check(robot: str, quantity: str, calls: dict[str, Call], relative: float = 1e-9,
          absolute: float = 0.0) -> None:
    """
    Check that the results of all calls agree.

    Raises
    ------
    RobodynError
        They do not agree.

    """
    (_, ours), *others = ((name, call.result()) for name, call in calls.items())
    for name, result in others:
        theirs = _parts(result)
        # ours returns several matrices as one array
        own_parts = list(ours) if len(theirs) > 1 else _parts(ours)
        for own, their in zip(own_parts, theirs, strict=True):
            if own.shape != their.shape:
                raise RobodynError(f'{robot}: {quantity} is {own.shape} here and {their.shape} in '
                                   f'{name}')
            error = np.abs(own - their).max()
            # also false for NaN
            if not error <= relative * np.abs(their).max() + absolute:
                raise RobodynError(f'{robot}: {name} disagrees on {quantity} by {error:.1e}')


def _parts(result: Any) -> list[np.ndarray]:
    """Return a result as a list of arrays."""
    several = isinstance(result, (tuple, list)) and isinstance(result[0], np.ndarray)
    return list(result) if several else [np.asarray(result)]


class BenchRobot:
    """
    A robot and a state.

    Parameters
    ----------
    name : str
    text : str
        URDF of the rigid bodies, see `plain`.

    Attributes
    ----------
    model : RobotModel
        Model; its joint order is that of the state.
    link : str
        Link with the most joints between it and the base.
    state : dict of str to (nv,) array
        q, qd, qdd and tau.

    """

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text
        self.model = RobotModel.from_urdf(text)
        self.joints = self.model.nv
        self.link = self.model.body_names[int(np.argmax(_depths(self.model)))]
        self.state = dict(zip(('q', 'qd', 'qdd', 'tau'), self.states(4)))

    def states(self, count: int, rows: int | None = None) -> np.ndarray:
        """Return random arrays inside the position limits; (count, [rows,] nv)."""
        rng = np.random.default_rng(1)
        low, high = (np.clip(limit, -2.0, 2.0) for limit in (self.model.lower, self.model.upper))
        shape = (count, self.joints) if rows is None else (count, rows, self.joints)
        return low + (high - low) * rng.random(shape)


class Order:
    """
    Conversion between our order of joints and that of another library.

    Parameters
    ----------
    ours, theirs : sequence of str
        Names of the joints.

    Raises
    ------
    RobodynError
        The names are not the same.

    """

    def __init__(self, ours: Sequence[str], theirs: Sequence[str]):
        if sorted(ours) != sorted(theirs):
            raise RobodynError(f'the joints are {", ".join(ours)} here, but {", ".join(theirs)} '
                               'in the library to compare with')
        self._theirs = np.array([list(ours).index(name) for name in theirs])
        self._ours = np.argsort(self._theirs)

    def of(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return a copy of a state in the order of the other library."""
        return {name: np.ascontiguousarray(row[..., self._theirs]) for name, row in state.items()}

    def columns(self, array) -> np.ndarray:
        """Return a vector or the columns of a matrix in our order."""
        return np.asarray(array)[..., self._ours]

    def square(self, matrix) -> np.ndarray:
        """Return rows and columns in our order."""
        return np.asarray(matrix)[np.ix_(self._ours, self._ours)]


def plain(path: str | PathLike, fixed: Sequence[str] = ()) -> str:
    """
    Return a URDF with the same meaning for all libraries.

    Shapes and friction are left out. Mimic joints, which some libraries ignore, are fixed;
    continuous joints, which have two coordinates in Pinocchio, get limits.
    """
    root = ElementTree.parse(path).getroot()
    for link in root.iter('link'):
        for shape in (*link.findall('visual'), *link.findall('collision')):
            link.remove(shape)
    for joint in root.findall('joint'):
        for part in joint.findall('dynamics'):
            joint.remove(part)
        if joint.get('name') in fixed or joint.find('mimic') is not None:
            joint.set('type', 'fixed')
            for part in (*joint.findall('mimic'), *joint.findall('limit')):
                joint.remove(part)
        if joint.get('type') == 'continuous':
            _bound(joint)
    for kind in ('transmission', 'gazebo', 'mujoco'):
        for part in root.findall(kind):
            root.remove(part)
    return ElementTree.tostring(root, encoding='unicode')


def _bound(joint: ElementTree.Element) -> None:
    joint.set('type', 'revolute')
    limit = joint.find('limit')
    limit = ElementTree.SubElement(joint, 'limit') if limit is None else limit
    for key, value in (('lower', '-6.28'), ('upper', '6.28'), ('effort', '100'),
                       ('velocity', '10')):
        limit.set(key, limit.get(key, value))


def _depths(model: RobotModel) -> list[int]:
    depth: list[int] = []
    for parent in model.parent:
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    return depth


class Robodyn:
    """Calls of this package for a robot."""

    def __init__(self, robot: BenchRobot):
        self.robot, self.dynamics = robot, Dynamics(robot.model)

    def gains(self):
        """Return gains of the computed-torque law, without friction."""
        return make_gains(self.dynamics, Settings(friction_scale=0.0))

    def law_state(self):
        """Return the state, reference and gains for the laws of all libraries."""
        q, n = self.robot.state['q'], self.robot.joints
        gains = self.gains()
        return {'q': q, 'qd': self.robot.state['qd'], 'q_ref': q + STEP_AWAY,
                'qd_ref': np.zeros(n), 'qdd_ref': np.zeros(n), 'kp': gains.kp, 'kd': gains.kd}

    def calls(self):
        """Return a call for each quantity."""
        names = {**self.robot.state, 'dyn': self.dynamics, 'link': self.robot.link}
        return {quantity: Call(text, names) for quantity, text in {
            'inverse dynamics': 'dyn.inverse_dynamics(q, qd, qdd)',
            'gravity': 'dyn.gravity(q)',
            'mass matrix': 'dyn.mass_matrix(q)',
            'forward dynamics': 'dyn.forward_dynamics(q, qd, tau)',
            'Coriolis matrix': 'dyn.coriolis_matrix(q, qd)',
            'Jacobian': 'dyn.jacobian(q, link)',
            'forward kinematics': 'dyn.forward_kinematics(q, link)',
            'derivatives of inverse dynamics': 'dyn.inverse_dynamics_derivatives(q, qd, qdd)',
            'derivatives of forward dynamics': 'dyn.forward_dynamics_derivatives(q, qd, tau)',
        }.items()} | {'computed-torque law': self.law()}

    def law(self):
        """Return the call of the computed-torque law."""
        state = self.law_state()
        names = {'law': ControlLaw(self.dynamics, self.gains()), 'q': state['q'],
                 'qd': state['qd'], 'ref': Reference.at_rest(state['q_ref'])}
        return Call('law.follow(q, qd, ref)', names, lambda terms: terms[Term.TOTAL])

    def batches(self):
        """Return calls for many states."""
        names = dict(zip(('Q', 'Qd', 'Qdd'), self.robot.states(3, BATCH)), dyn=self.dynamics)
        return {quantity: Call(text, names, size=BATCH) for quantity, text in {
            'inverse dynamics': 'dyn.inverse_dynamics(Q, Qd, Qdd)',
            'mass matrix': 'dyn.mass_matrix(Q)',
            'forward dynamics': 'dyn.forward_dynamics(Q, Qd, Qdd)',
            'derivatives of inverse dynamics': 'dyn.inverse_dynamics_derivatives(Q, Qd, Qdd)',
        }.items()}
