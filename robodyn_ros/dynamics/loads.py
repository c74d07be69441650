"""Payloads and gravity of one arm, as parameters of its dynamics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.dynamics import Dynamics
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import Payload, RobotModel
from robodyn_ros.model.robot_model import checked_gravity

_LARGEST_GRAVITY = 30.0  # m/s^2; more is a mistake of units
_SLACK = 1e-3            # by which rounded digits may break the triangle inequality


def with_slots(model: RobotModel) -> RobotModel:
    """Return the robot with room for a payload on every link that moves."""
    taken = set(model.payload_bodies)
    for body, link in enumerate(model.body_names):
        if body not in taken:
            model = model.with_payload(link, 0.0)
    return model


def weight_under(tree, runtime, q, numbers):
    """Return g(q) as it would be with other numbers for gravity and payloads."""
    return algorithms.gravity(tree, numbers, q)


class Loads:
    """
    What the arm carries, and which way is down.

    Parameters
    ----------
    dynamics : Dynamics
        Its payload slots decide which links can carry something; see `with_slots`.

    Attributes
    ----------
    payloads : dict of str to Payload
        By link; those without mass are left out.
    gravity : (3,) array
        In the frame of the base.

    """

    def __init__(self, dynamics: Dynamics):
        self._model = model = dynamics.model
        self._runtime = dynamics.runtime
        self._slots = {body: slot for slot, body in reversed(
            list(enumerate(model.payload_bodies)))}
        self.payloads = {load.link: load for load in model.payloads if load.mass > 0.0}
        self.gravity = np.array(model.gravity)
        kernel = dynamics.kernel(weight_under, {'q': model.nv, 'numbers': dynamics.runtime.size},
                                 (model.nv,), 'weight_under')
        self._weight = kernel.builtin('weight_under', weight_under.__doc__)

    def weight(self, q: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return g(q) as it would be with these numbers, see `planned`."""
        return self._weight(q, numbers)

    def unit_weights(self, q: np.ndarray) -> np.ndarray:
        """Return g(q) under gravity of 1 m/s^2 along x, y and z of the base; (3, nv)."""
        numbers = np.tile(self._runtime, (3, 1))
        numbers[:, :3] = np.eye(3)
        return np.array([self.weight(q, row) for row in numbers])

    def planned(self, payloads, gravity) -> np.ndarray:
        """Return the parameters that kernels take for these payloads and this gravity."""
        numbers = np.zeros_like(self._runtime)
        numbers[:3] = gravity
        rows = numbers[3:].reshape(-1, 10)
        for load in payloads.values():
            frame = self._model.link(load.link)
            rows[self._slots[frame.body]] += load.parameters_in_body(frame)
        return numbers

    def with_payload(self, payload: Payload) -> dict[str, Payload]:
        """
        Return the payloads with this one, in place of what its link carried.

        Raises
        ------
        ModelError
            The link does not move or has no slot, or no real body has such an inertia.

        """
        self.carrier(payload.link)
        check_body(payload)
        payloads = {**self.payloads, payload.link: payload}
        if not payload.mass:
            del payloads[payload.link]
        return payloads

    def change(self, payloads, gravity) -> None:
        """Use these from now on, in all that the dynamics compute."""
        self.payloads, self.gravity = payloads, np.array(gravity, dtype=float)
        self._runtime[:] = self.planned(payloads, gravity)

    def takes(self, link: str) -> bool:
        """Whether a payload of this link counts: it moves, and its body has a slot."""
        return self._model.link(link).body in self._slots

    def carrier(self, link: str) -> int:
        """
        Return the body whose slot takes a payload of a link.

        Raises
        ------
        ModelError
            There is none.

        """
        body = self._model.link(link).body
        if body < 0:
            raise ModelError(f'payload on link {link!r}: the link belongs to the immovable base, '
                             'no joint feels its weight; name a link that moves', link=link)
        if body not in self._slots:
            raise ModelError(f'payload on link {link!r}: the dynamics were made without a slot '
                             'there; make them of with_slots(model)', link=link)
        return body

    def slot(self, link: str) -> int:
        """Return the place of the ten parameters of a link's body in those of the dynamics."""
        return 3 + 10 * self._slots[self.carrier(link)]


def check_body(payload: Payload) -> None:
    """Raise `ModelError` if no real body has this mass and inertia."""
    moments = np.linalg.eigvalsh(payload.inertia)
    where = f'payload on link {payload.link!r}: '
    if not payload.mass and moments.any():
        raise ModelError(where + f'inertia with the principal moments {moments.tolist()} kg m^2, '
                         'but no mass; give both, or neither to remove the payload',
                         link=payload.link, moments=moments.tolist())
    if moments[0] + moments[1] < moments[2] * (1.0 - _SLACK):
        raise ModelError(
            where + f'principal moments {moments[0]:.4g}, {moments[1]:.4g}, {moments[2]:.4g} kg '
            'm^2: of a real body none is larger than the other two together; check the inertia '
            'about the centre of mass, and its unit', link=payload.link, moments=moments.tolist())


def check_gravity(gravity: ArrayLike) -> None:
    """Raise `ModelError` if no arm on this planet feels such a gravity."""
    gravity = checked_gravity(gravity)
    size = float(np.linalg.norm(gravity))
    if size > _LARGEST_GRAVITY:
        raise ModelError(f'gravity {gravity.tolist()} m/s^2 is {size:.4g} long; it must be at '
                         f'most {_LARGEST_GRAVITY:g}, as (0, 0, -9.81)', gravity=gravity.tolist())
