"""The model's arrays as nested tuples of floats, for the algorithms."""

from __future__ import annotations

from dataclasses import dataclass, replace

from robodyn_ros.model import RobotModel


@dataclass(frozen=True)
class Tree:
    """
    Moving bodies with one joint each, parents before children.

    Everything here is compiled into a kernel as constants. Gravity and payloads, which may change
    at run time, are the first argument of kernels, see `algorithms`.

    Attributes
    ----------
    nv : int
        Number of generalised coordinates.
    parent : tuple of int
        Index of the parent of each body; -1 is the fixed base.
    prismatic : tuple of bool
        Whether the joint is prismatic; otherwise it is revolute.
    axis : tuple of vector
        Unit joint axis, in the body's frame.
    rotation, translation : tuple of matrix, tuple of vector
        Pose of the body in its parent at joint position zero: `x_parent = R x + p`.
    mass, first_moment, inertia : tuples
        m in kg, h = m c in kg m, and J about the body's origin in kg m^2, all in body axes.
    coordinate, multiplier, offset : tuples
        Joint position `multiplier * q[coordinate] + offset`; not the identity for mimic joints.
    payload_bodies : tuple of int
        Body of each payload slot.

    """

    nv: int
    parent: tuple
    prismatic: tuple
    axis: tuple
    rotation: tuple
    translation: tuple
    mass: tuple
    first_moment: tuple
    inertia: tuple
    coordinate: tuple
    multiplier: tuple
    offset: tuple
    payload_bodies: tuple

    @classmethod
    def from_model(cls, model: RobotModel) -> Tree:
        """Return the tree of a model."""
        return cls(nv=model.nv, payload_bodies=tuple(model.payload_bodies), **{
            name: as_tuple(getattr(model, name))
            for name in ('parent', 'prismatic', 'axis', 'rotation', 'translation', 'mass',
                         'first_moment', 'inertia', 'coordinate', 'multiplier', 'offset')})

    def with_parameters(self, phi) -> Tree:
        """
        Return the tree with other inertial parameters, numbers or symbols.

        Parameters
        ----------
        phi : sequence of scalar
            Ten per body: m, hx, hy, hz, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz, see `Dynamics.parameters`.

        """
        rows = [phi[10 * i:10 * i + 10] for i in self.bodies]
        return replace(self, mass=tuple(row[0] for row in rows),
                       first_moment=tuple(tuple(row[1:4]) for row in rows),
                       inertia=tuple(_tensor(*row[4:]) for row in rows))

    def without_payloads(self) -> Tree:
        """Return the tree without payload slots."""
        return replace(self, payload_bodies=())

    @property
    def bodies(self) -> range:
        """Return the indices of the bodies, parents first."""
        return range(len(self.parent))

    @property
    def coupled(self) -> bool:
        """Whether a coordinate moves more than one joint (mimic joints)."""
        return len(self.parent) != self.nv or self.coordinate != tuple(range(self.nv))

    def path_to(self, body: int) -> list[int]:
        """Return the bodies from the base to `body`, inclusive."""
        path = []
        while body >= 0:
            path.append(body)
            body = self.parent[body]
        return path[::-1]


def _tensor(xx, yy, zz, xy, xz, yz) -> tuple:
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def as_tuple(array) -> tuple:
    """Return an array as nested tuples of Python numbers."""
    return tuple(as_tuple(row) if row.ndim else row.item() for row in array)
