"""The robot as read-only arrays: the input of dynamics, control and simulation."""
from __future__ import annotations

from dataclasses import dataclass, fields, replace
import hashlib
import os
from types import MappingProxyType
from typing import cast, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.exceptions import ModelError, near_matches, ParameterError, shown
from robodyn_ros.model.build import build_model
from robodyn_ros.model.frame import Frame, read_only
from robodyn_ros.model.payload import Payload
from robodyn_ros.settings import per_joint

_ARRAYS = {
    'lower': float, 'upper': float, 'velocity_limit': float, 'effort_limit': float,
    'damping': float, 'friction': float, 'continuous': bool, 'gravity': float,
    'parent': np.intp, 'prismatic': bool, 'axis': float, 'rotation': float,
    'translation': float, 'mass': float, 'first_moment': float, 'inertia': float,
    'coordinate': np.intp, 'multiplier': float, 'offset': float, 'base_first_moment': float,
}
_COMPILED = ('continuous', 'parent', 'prismatic', 'axis', 'rotation', 'translation', 'mass',
             'first_moment', 'inertia', 'coordinate', 'multiplier', 'offset',
             'base_mass', 'base_first_moment', 'payload_bodies')


def friction_torque(viscous, dry, qd: np.ndarray) -> np.ndarray:
    """Return the friction that a motion has to overcome, from the coefficients of the joints."""
    return viscous * qd + dry * np.sign(qd)


@dataclass(frozen=True, slots=True, eq=False)
class RobotModel:
    """
    A tree of nb moving bodies on a fixed base, with nv coordinates.

    Bodies are ordered parents first, depth-first in the order of the URDF's joints. Each body
    has one moving joint; links that are fixed or locked to it are lumped into it. The frame of
    a body is its link frame, which is its joint frame, as in URDF. Arrays are read-only;
    SI units, rad and N m for revolute joints, m and N for prismatic ones.

    Parameters
    ----------
    name, base_link : str
        Name of the robot; link that is the fixed base.
    joint_names : tuple of str
        Names of the nv independent coordinates; joints that mimic another are not among them.
    lower, upper, velocity_limit, effort_limit : (nv,) array
        Limits, infinite where there are none. Each is the tightest of the joint and its
        followers: one with multiplier m and offset b, in lower_f .. upper_f, allows the
        positions (lower_f - b) / m .. (upper_f - b) / m, the velocity velocity_f / abs(m), and
        the effort abs(m) effort_f, for all of the motor's effort may act on the follower.
    damping, friction : (nv,) array
        Viscous and Coulomb friction, including that of followers.
    continuous : (nv,) array of bool
        Whether q and q + 2 pi are the same pose.
    gravity : (3,) array
        Gravity in the base frame (m/s^2).
    body_names, body_joints : tuple of str
        Link after which a body is named; its joint, followers included.
    parent : (nb,) array of intp
        Index of the parent body, -1 for the base.
    prismatic : (nb,) array of bool
        Whether the joint is prismatic.
    axis : (nb, 3) array
        Unit joint axis in the frame of the body.
    rotation, translation : (nb, 3, 3) array, (nb, 3) array
        Pose of the joint frame at position 0 in the parent body: x_parent = R x + p.
    mass, first_moment, inertia : (nb,), (nb, 3), (nb, 3, 3) array
        Mass, mass times centre of mass, and inertia about the body origin, body axes.
    coordinate, multiplier, offset : (nb,) array
        Position of joint i = multiplier[i] * q[coordinate[i]] + offset[i].
    links : mapping of str to Frame
        Pose of every link in its body.
    base_mass, base_first_moment : float, (3,) array
        Mass and first moment of the links lumped into the base.
    payloads : tuple of Payload
        Payloads, at most one per link.
    warnings : tuple of str
        Warnings about the URDF and the selection.

    """

    name: str
    base_link: str
    joint_names: tuple[str, ...]
    lower: NDArray
    upper: NDArray
    velocity_limit: NDArray
    effort_limit: NDArray
    damping: NDArray
    friction: NDArray
    continuous: NDArray
    gravity: NDArray
    body_names: tuple[str, ...]
    body_joints: tuple[str, ...]
    parent: NDArray
    prismatic: NDArray
    axis: NDArray
    rotation: NDArray
    translation: NDArray
    mass: NDArray
    first_moment: NDArray
    inertia: NDArray
    coordinate: NDArray
    multiplier: NDArray
    offset: NDArray
    links: Mapping[str, Frame]
    base_mass: float
    base_first_moment: NDArray
    payloads: tuple[Payload, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, dtype in _ARRAYS.items():
            object.__setattr__(self, name, read_only(getattr(self, name), dtype))
        object.__setattr__(self, 'links', MappingProxyType(dict(self.links)))

    def __reduce__(self):
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values['links'] = dict(self.links)
        return RobotModel, tuple(values.values())

    def __repr__(self) -> str:
        return (f'RobotModel({self.name!r}, base_link={self.base_link!r}, '
                f'joint_names={self.joint_names!r}, nb={self.nb})')

    @classmethod
    def from_urdf(cls, source: str | bytes | os.PathLike, gravity: ArrayLike = (0.0, 0.0, -9.81),
                  base: str | None = None, tip: str | None = None,
                  locked: Mapping[str, float] | None = None) -> RobotModel:
        """
        Read a robot from a URDF.

        Parameters
        ----------
        source : str, bytes or path
            The XML itself, or the path of a file. A string that starts with ``<`` is XML.
        gravity : (3,) array
            Gravity in the base frame (m/s^2). The default is that in the frame of the root, and
            turned by the joints between root and base.
        base : str, optional
            Link that is the fixed base, default the root. Links above or beside it are left
            out.
        tip : str, optional
            Last link of the chain of moving joints. All other joints are locked at 0, or at
            the nearest position within their limits; their links keep their mass.
        locked : mapping of str to float, optional
            Joints to lock, with their positions. Joints that mimic them are locked too.

        Raises
        ------
        ModelError
            If the URDF or the selection is faulty; the message names joint or link, value
            and remedy.

        """
        return cls(**build_model(source, checked_gravity(gravity), base, tip, locked))

    @property
    def nv(self) -> int:
        """Return the number of independent coordinates."""
        return len(self.joint_names)

    @property
    def effort_units(self) -> tuple[str, ...]:
        """Return the unit of each joint's effort: N m if revolute, N if prismatic."""
        first = [list(self.coordinate).index(j) for j in range(self.nv)]
        return tuple('N' if self.prismatic[body] else 'N m' for body in first)

    @property
    def position_units(self) -> tuple[str, ...]:
        """Return the unit of each joint's position: rad if revolute, m if prismatic."""
        return tuple('m' if unit == 'N' else 'rad' for unit in self.effort_units)

    @property
    def nb(self) -> int:
        """Return the number of moving bodies."""
        return len(self.body_names)

    def friction_torque(self, qd: np.ndarray) -> np.ndarray:
        """
        Return the viscous and dry friction of the URDF that a motion has to overcome.

        qd: (nv,) or (N, nv) in rad/s or m/s; the result, of the same shape, is in N m or N.
        """
        return friction_torque(self.damping, self.friction, qd)

    @property
    def total_mass(self) -> float:
        """Mass of base, bodies and payloads (kg)."""
        return float(self.base_mass + self.mass.sum() + sum(load.mass for load in self.payloads))

    @property
    def tip(self) -> str:
        """Return the deepest link of the tree, the last one if there are several."""
        depth = np.zeros(self.nb + 1, dtype=int)  # the last entry is of the base
        for body, parent in enumerate(self.parent):
            depth[body] = depth[parent] + 1
        deepest = max(range(self.nb), key=lambda body: (depth[body], body))
        return [link for link, frame in self.links.items() if frame.body == deepest][-1]

    @property
    def payload_bodies(self) -> tuple[int, ...]:
        """Index of the body that holds each payload."""
        return tuple(self.links[load.link].body for load in self.payloads)

    @property
    def payload_parameters(self) -> NDArray:
        """Payload rows (m, hx, hy, hz, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz) about the body origins."""
        rows = [load.parameters_in_body(self.links[load.link]) for load in self.payloads]
        return np.array(rows, dtype=float).reshape(len(rows), 10)

    @property
    def structure_key(self) -> str:
        """
        Digest of everything that is compiled into the code for this robot.

        Gravity, payload numbers, limits, friction and names are not part of it: they are
        arguments of the compiled functions, or not used by them.
        """
        digest = hashlib.sha256()
        parts = [np.asarray(getattr(self, name)) for name in _COMPILED]
        for frame in self.links.values():
            parts += [np.asarray(frame.body), frame.rotation, frame.translation]
        for part in parts:
            # adding 0 turns -0 into 0; the shape keeps neighbouring arrays apart
            digest.update(repr(part.shape).encode() + (part.astype('<f8') + 0.0).tobytes())
        return digest.hexdigest()

    def link(self, name: str) -> Frame:
        """
        Return the pose of a link in its body.

        Raises
        ------
        ModelError
            If there is no such link; the message lists similar names.

        """
        if not isinstance(name, str) or name not in self.links:
            raise ModelError(f'robot {self.name!r} has no link {shown(name)}; '
                             + near_matches(name, self.links), link=name)
        return self.links[name]

    def with_gravity(self, gravity: ArrayLike) -> RobotModel:
        """Return the robot with another gravity, (3,), in the base frame (m/s^2)."""
        return replace(self, gravity=checked_gravity(gravity))

    def with_limits(self, effort_limit: ArrayLike = (),
                    velocity_limit: ArrayLike = ()) -> RobotModel:
        """
        Return the robot with other velocity limits, and with effort limits raised.

        Parameters
        ----------
        effort_limit : float or (nv,), optional
            In N m (N). Smaller ones, or of joints without limit in the URDF, leave the model as it
            is: the parameter `effort_limit` of the controller has them.
        velocity_limit : float or (nv,), optional
            In rad/s (m/s), in place of those of the URDF.

        Raises
        ------
        ParameterError
            A wrong length, or a velocity limit that is not finite and above 0.

        """
        effort, velocity = self.effort_limit, self.velocity_limit
        if np.size(effort_limit):
            known = np.isfinite(effort) & (effort > 0.0)
            most = per_joint('effort_limit', effort_limit, self.joint_names)
            effort = np.where(known & np.isfinite(most), np.fmax(effort, most), effort)
        if np.size(velocity_limit):
            velocity = per_joint('velocity_limit', velocity_limit, self.joint_names)
            for joint, limit in zip(self.joint_names, velocity):
                if not 0.0 < limit < np.inf:
                    raise ParameterError(f"velocity_limit of joint '{joint}' is {limit:g}; it "
                                         'must be finite, and above 0', joint=joint, value=limit)
        return replace(self, effort_limit=effort, velocity_limit=velocity)

    def with_payload(self, link: str, mass: float, com: ArrayLike = (0.0, 0.0, 0.0),
                     inertia: ArrayLike | None = None) -> RobotModel:
        """
        Return the robot with a payload on a link, replacing any payload of that link.

        Parameters
        ----------
        link : str
            Link that holds the payload; it must be a moving one.
        mass, com, inertia
            As in `Payload`; without inertia the payload is a point mass.

        Raises
        ------
        ModelError
            If there is no such moving link, or the payload is not physical.

        """
        if self.link(link).body < 0:
            raise ModelError(f'payload on link {link!r}: the link belongs to the immovable base; '
                             'name a link that moves', link=link)
        load = Payload(link, mass, cast(NDArray, com), cast(
            NDArray, np.zeros((3, 3)) if inertia is None else inertia))  # which converts them
        slots = {old.link: old for old in self.payloads}
        slots[link] = load
        return replace(self, payloads=tuple(slots.values()))


def checked_gravity(gravity: ArrayLike) -> NDArray:
    """Return gravity as an array, or raise ModelError if it is not three finite numbers."""
    try:
        array = read_only(gravity)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None or array.shape != (3,) or not np.all(np.isfinite(array)):
        raise ModelError(f'gravity {shown(gravity)} must be three finite numbers in the frame '
                         'of the base, such as (0, 0, -9.81)', gravity=gravity)
    return array
