"""Unknown parameters: names, values in the URDF, and the physical parameters they determine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, near_matches
from robodyn_ros.identification.dry_friction import DryFriction
from robodyn_ros.identification.equations import JOINT_TERMS
from robodyn_ros.identification.log_cholesky import LogCholesky, SIZE, WEIGHTS
from robodyn_ros.model import RobotModel

# groups of parameters, with their kinds of numbers per joint
GROUPS = {'friction': ('viscous', 'coulomb', 'offset'), 'armature': ('armature',),
          'scale': ('scale',), 'inertia': ()}
NOT_NEGATIVE = ('viscous', 'coulomb', 'armature', 'stribeck', 'load')
SCALE_SPREAD = 0.5
# entropic distance of a payload from its initial guess: nearly unconstrained
PAYLOAD_SPREAD = 3.0
DELAY_SPREAD = 0.01  # s


class Physical(NamedTuple):
    """
    Physical parameters of an arm.

    Attributes
    ----------
    phi : (10 nb,) array
        Inertial parameters of the bodies without the payload, as `Dynamics.parameters`.
    terms : (6, nv) array
        Rows as in `JOINT_TERMS`.
    scale : (nv,) array
        Recorded effort per effort at the joint.
    payload : (10,) array
        Payload in its body, about the body's origin.
    delay : float
        Delay of the recorded efforts (s).

    """

    phi: NDArray
    terms: NDArray
    scale: NDArray
    payload: NDArray
    delay: float


@dataclass(frozen=True)
class Body:
    """A body parameterised around a nominal one; `index` is -1 for the payload."""

    index: int
    around: LogCholesky
    spread: float


def urdf_terms(model: RobotModel) -> NDArray:
    """Return the joint terms of a URDF, (6, nv): its friction, and nothing else."""
    terms = np.zeros((len(JOINT_TERMS), model.nv))
    terms[:2] = model.damping, model.friction
    return terms


class Unknowns:
    """
    Unknown parameters as one vector z: ten per estimated body, numbers of joints, the delay.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm as in the URDF.
    groups : collection of str
        Keys of `GROUPS`.
    inertia_spread : float
        Typical entropic distance of a body from the URDF, about the relative error of its mass.
    payload : (int, (10,) array), optional
        Body that holds a payload, and a guess of it.
    delay : float, optional
        Delay of the efforts (s), if known.
    dry : DryFriction, optional
        Dry friction of the equations, with its further numbers; default the sign alone.

    Raises
    ------
    ArgumentError
        No group is named, a name is unknown, or two groups are confounded.
    ModelError
        A body has no mass.

    """

    def __init__(self, dynamics: Dynamics, groups: Collection[str], inertia_spread: float = 0.5,
                 payload: tuple[int, NDArray] | None = None, delay: float | None = None,
                 dry: DryFriction | None = None):
        _check_groups(groups, payload is not None)
        model = dynamics.model
        self.joint_names, self.nb = model.joint_names, model.nb
        self.payload_body = -1 if payload is None else payload[0]
        none = np.zeros(SIZE) if payload is None else np.asarray(payload[1], dtype=float)
        self.nominal = Physical(
            dynamics.parameters, urdf_terms(model), np.ones(model.nv), none, delay or 0.0)
        self.bodies: list[Body] = []
        if 'inertia' in groups:
            self.bodies = [Body(b, LogCholesky(phi, model.body_names[b]), inertia_spread)
                           for b, phi in enumerate(self.nominal.phi.reshape(-1, SIZE))
                           if phi[0] > 0.0]
        if payload is not None:
            self.bodies.append(Body(-1, LogCholesky(none, 'payload'), PAYLOAD_SPREAD))
        self.numbers: list[tuple[str, int]] = [
            (kind, j) for group in groups for kind in GROUPS[group] for j in range(model.nv)]
        if dry is not None and 'friction' in groups:
            self.numbers += [(kind, j) for j in range(model.nv) for kind in dry.kinds(j)]
        self.delayed = delay is None

    @property
    def size(self) -> int:
        """Length of z."""
        return SIZE * len(self.bodies) + len(self.numbers) + self.delayed

    @property
    def start(self) -> NDArray:
        """Return z of the URDF, (size,)."""
        return np.concatenate([np.zeros(SIZE * len(self.bodies)),
                               [self._of(self.nominal, kind)[j] for kind, j in self.numbers],
                               np.zeros(int(self.delayed))])

    @property
    def lower(self) -> NDArray:
        """Return the lower bounds, (size,)."""
        return np.concatenate([np.full(SIZE * len(self.bodies), -np.inf), [
            0.0 if kind in NOT_NEGATIVE else -np.inf for kind, _ in self.numbers],
            np.full(int(self.delayed), -np.inf)])

    def spreads(self, usual: NDArray) -> NDArray:
        """
        Return the typical deviation of each unknown from the URDF, (size,).

        Parameters
        ----------
        usual : (6, nv) array
            Typical deviation of the joint terms, in the unit of the recorded efforts.

        """
        bodies, scale = [body.spread / WEIGHTS for body in self.bodies], abs(self.nominal.scale)
        return np.concatenate([*bodies, [SCALE_SPREAD * scale[j] if kind == 'scale' else
                                         usual[JOINT_TERMS.index(kind), j] / scale[j]
                                         for kind, j in self.numbers],
                               np.full(int(self.delayed), DELAY_SPREAD)])

    def without(self, dropped: Collection[tuple[str, int]]) -> Unknowns:
        """Return the unknowns without some joint numbers, which stay as in the URDF."""
        scale = self.nominal.scale.copy()
        scale[[j for kind, j in dropped if kind == 'scale']] = 1.0
        other = self.near(scale)
        other.numbers = [each for each in self.numbers if each not in dropped]
        return other

    def near(self, scale: NDArray) -> Unknowns:
        """Return the unknowns with other scales, (nv,), than 1 to begin with."""
        other = object.__new__(Unknowns)
        other.__dict__.update(self.__dict__)
        other.nominal = self.nominal._replace(scale=scale)
        return other

    def number(self, kind: str, j: int) -> int | None:
        """Return the index in z of a joint's number; None if it is not estimated."""
        at = (kind, j)
        return (SIZE * len(self.bodies) + self.numbers.index(at) if at in self.numbers else None)

    def physical(self, z: NDArray) -> Physical:
        """Return the physical parameters of z."""
        phi, terms, scale, payload = (np.array(each) for each in self.nominal[:4])
        for k, body in enumerate(self.bodies):
            values = body.around.parameters(z[SIZE * k:SIZE * (k + 1)])
            if body.index < 0:
                payload = values
            else:
                phi[SIZE * body.index:SIZE * (body.index + 1)] = values
        made = Physical(phi, terms, scale, payload,
                        float(z[-1]) if self.delayed else self.nominal.delay)
        for (kind, j), value in zip(self.numbers, z[SIZE * len(self.bodies):]):
            self._of(made, kind)[j] = value
        return made

    def inertia_derivative(self, z: NDArray) -> tuple[NDArray, NDArray]:
        """Return the derivatives of phi and of the payload; (10 nb, size) and (10, size)."""
        phi, payload = np.zeros((SIZE * self.nb, self.size)), np.zeros((SIZE, self.size))
        for k, body in enumerate(self.bodies):
            columns = slice(SIZE * k, SIZE * (k + 1))
            rows = payload if body.index < 0 else phi[SIZE * body.index:SIZE * (body.index + 1)]
            rows[:, columns] = body.around.derivative(z[columns])
        return phi, payload

    @staticmethod
    def _of(physical: Physical, kind: str) -> NDArray:
        return (physical.scale if kind == 'scale'
                else physical.terms[JOINT_TERMS.index(kind)])


def _check_groups(groups: Collection[str], payload: bool) -> None:
    for group in groups:
        if group not in GROUPS:
            raise ArgumentError(f'{group!r} cannot be estimated; {near_matches(group, GROUPS)}',
                                group=group)
    if not groups and not payload:
        raise ArgumentError('nothing is to be estimated: name ' + ', '.join(GROUPS)
                            + ', or a payload')
    if 'inertia' in groups and payload:
        raise ArgumentError(
            'the inertia of a link and that of a payload on it cannot be distinguished: find the '
            'inertia without the payload first, then the payload with the URDF that results')
    if 'inertia' in groups and 'scale' in groups:
        raise ArgumentError(
            'heavier links and a larger scale of the torque look the same: estimate scale with '
            'the inertia of the URDF, or inertia without scale')
