"""Payloads and gravity that change while the arm is held: blended in, never a step."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics import kernels
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
    return kernels.gravity(tree, numbers, q)


class Loads:
    """
    What the arm carries, and which way is down.

    What its kernels read goes over to new numbers along a smooth step. The numbers between two
    physical payloads are those of a physical payload, so the law is sound on the way. What is
    estimated comes on top.

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
        self._from, self._to = self._runtime.copy(), self._runtime.copy()
        self._known, self._estimated = self._runtime.copy(), np.zeros_like(self._runtime)
        self._elapsed, self._duration = 0.0, 0.0
        kernel = dynamics.kernel(weight_under, {'q': model.nv, 'numbers': self._to.size},
                                 (model.nv,), 'weight_under')
        self._weight = kernel.builtin('weight_under', weight_under.__doc__)

    def weight(self, q: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return g(q) as it would be with these numbers, see `planned`."""
        return self._weight(q, numbers)

    def unit_weights(self, q: np.ndarray) -> np.ndarray:
        """Return g(q) under gravity of 1 m/s^2 along x, y and z of the base; (3, nv)."""
        return np.array([self.weight(q, self.planned(self.payloads, unit)) for unit in np.eye(3)])

    def planned(self, payloads, gravity, estimated: bool = True) -> np.ndarray:
        """
        Return the numbers that kernels would read for these payloads and this gravity.

        `estimated` is whether the estimate still comes on top.
        """
        numbers = self._estimated.copy() if estimated else np.zeros_like(self._runtime)
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

    def change(self, payloads, gravity, duration: float) -> None:
        """Go over to these in `duration` seconds."""
        self.payloads, self.gravity = payloads, np.array(gravity, dtype=float)
        self._to[:] = self.planned(payloads, gravity, estimated=False)
        self._from[:] = self._known
        self._elapsed, self._duration = 0.0, duration
        self.advance(0.0)

    @property
    def settled(self) -> bool:
        """Whether the last change is made."""
        return self._elapsed >= self._duration

    def settle(self) -> None:
        """Reckon at once with what was being blended in."""
        self.advance(math.inf)

    def advance(self, dt: float) -> None:
        """Go on by a cycle."""
        if self._duration < 0.0:
            return
        self._elapsed += dt
        known = self._known
        if self.settled:
            known[:] = self._to
            self._elapsed = self._duration = -1.0
        else:
            x = self._elapsed / self._duration
            part = x * x * (3.0 - 2.0 * x)
            np.subtract(self._to, self._from, out=known)
            known *= part
            known += self._from
        np.add(known, self._estimated, out=self._runtime)

    # --- what is estimated ------------------------------------------------------------------

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

    def estimate(self, link: str, parameters) -> None:
        """Reckon with these ten numbers on top of what the body of a link is known to carry."""
        start = 3 + 10 * self._slots[self._model.link(link).body]
        self._estimated[start:start + 10] = parameters
        np.add(self._known, self._estimated, out=self._runtime)

    def absorb_estimate(self) -> None:
        """Take what is estimated for known, so that the next change blends it out."""
        self._known += self._estimated
        self._estimated.fill(0.0)


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
