"""Payloads and gravity of an arm, as runtime parameters of its dynamics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.dynamics import Dynamics
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import Payload, RobotModel
from robodyn_ros.model.robot_model import checked_gravity

_LARGEST_GRAVITY = 30.0  # m/s^2; larger values are an error of units
_ACCELERATION = 2.0      # m/s^2, of a base that drives or sails, at most
_TURN = 0.6              # rad by which a base tilts at once, at most
_SLACK = 1e-3            # relative tolerance of the triangle inequality, for rounded digits


def with_slots(model: RobotModel) -> RobotModel:
    """Return the robot with a payload slot on every moving body."""
    taken = set(model.payload_bodies)
    for body, link in enumerate(model.body_names):
        if body not in taken:
            model = model.with_payload(link, 0.0)
    return model


def gravity_torque(tree, runtime, q, numbers):
    """Return g(q) with other numbers for gravity and payloads."""
    return algorithms.gravity(tree, numbers, q)


class Loads:
    """
    Payloads and gravity of an arm.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics; its payload slots determine which links can hold a payload, see `with_slots`.

    Attributes
    ----------
    payloads : dict of str to Payload
        Payloads by link, without those of mass 0.
    gravity : (3,) array
        Gravity in the base frame, in m/s^2.

    """

    def __init__(self, dynamics: Dynamics):
        self._model = model = dynamics.model
        self._runtime = dynamics.runtime
        self._slots = {body: slot for slot, body in reversed(
            list(enumerate(model.payload_bodies)))}
        self.payloads = {load.link: load for load in model.payloads if load.mass > 0.0}
        self.gravity = np.array(model.gravity)
        kernel = dynamics.kernel(
            gravity_torque, {'q': model.nv, 'numbers': dynamics.runtime.size}, (model.nv,),
            'gravity_torque')
        self._gravity_torque = kernel.builtin('gravity_torque', gravity_torque.__doc__)

    def gravity_torque(self, q: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return g(q), (nv,), with these numbers, see `runtime_parameters`."""
        return self._gravity_torque(q, numbers)

    def unit_gravity_torques(self, q: np.ndarray) -> np.ndarray:
        """Return g(q) for gravity of 1 m/s^2 along x, y and z of the base; (3, nv)."""
        numbers = np.tile(self._runtime, (3, 1))
        numbers[:, :3] = np.eye(3)
        return np.array([self.gravity_torque(q, row) for row in numbers])

    def runtime_parameters(self, payloads, gravity) -> np.ndarray:
        """Return the runtime parameters of kernels for these payloads and this gravity."""
        numbers = np.zeros_like(self._runtime)
        numbers[:3] = gravity
        rows = numbers[3:].reshape(-1, 10)
        for load in payloads.values():
            frame = self._model.link(load.link)
            rows[self._slots[frame.body]] += load.parameters_in_body(frame)
        return numbers

    def with_payload(self, payload: Payload) -> dict[str, Payload]:
        """
        Return the payloads with this one, replacing any payload of its link.

        Raises
        ------
        ModelError
            The link does not move or has no slot, or the inertia is not physical.

        """
        self.slot_body(payload.link)
        check_body(payload)
        payloads = {**self.payloads, payload.link: payload}
        if not payload.mass:
            del payloads[payload.link]
        return payloads

    def change(self, payloads, gravity) -> None:
        """Set the payloads and gravity of the dynamics."""
        self.payloads, self.gravity = payloads, np.array(gravity, dtype=float)
        self._runtime[:] = self.runtime_parameters(payloads, gravity)

    def has_slot(self, link: str) -> bool:
        """Return whether the link's body has a payload slot."""
        return self._model.link(link).body in self._slots

    def slot_body(self, link: str) -> int:
        """
        Return the body whose slot holds the payload of a link.

        Raises
        ------
        ModelError
            The link's body has no slot.

        """
        body = self._model.link(link).body
        if body < 0:
            raise ModelError(f'payload on link {link!r}: the link belongs to the immovable base; '
                             'name a link that moves', link=link)
        if body not in self._slots:
            raise ModelError(f'payload on link {link!r}: the dynamics were made without a slot '
                             'there; make them of with_slots(model)', link=link)
        return body

    def parameter_index(self, link: str) -> int:
        """Return the index of the ten parameters of a link's slot in the runtime parameters."""
        return 3 + 10 * self._slots[self.slot_body(link)]


def check_body(payload: Payload) -> None:
    """Raise `ModelError` if mass and inertia are not physical."""
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


def check_gravity(gravity: ArrayLike, model: RobotModel | None = None,
                  present: np.ndarray | None = None) -> None:
    """
    Raise `ModelError` if gravity is implausible.

    Parameters
    ----------
    gravity : (3,) array_like
        Gravity in the base frame, in m/s^2.
    model : RobotModel, optional
        The arm as it was configured: on the same planet, whatever its base does.
    present : (3,) array, optional
        Gravity of an arm that moves; its base does not turn over from one message to the next.

    """
    gravity = checked_gravity(gravity)
    size = float(np.linalg.norm(gravity))
    usual = 0.0 if model is None else float(np.linalg.norm(model.gravity))
    what = f'gravity {gravity.tolist()} m/s^2 is {size:.4g} long'
    if size > _LARGEST_GRAVITY:
        raise ModelError(f'{what}; it must be at most {_LARGEST_GRAVITY:g}, as (0, 0, -9.81)',
                         gravity=gravity.tolist())
    if model is not None and abs(size - usual) > _ACCELERATION:
        raise ModelError(f'{what}, and that of the parameter gravity {usual:.4g}: it may differ '
                         f'by {_ACCELERATION:g} at most; send all three components, or set the '
                         'parameter', gravity=gravity.tolist())
    if present is not None and size and np.linalg.norm(present):
        turn = float(np.arccos(np.clip(
            gravity @ present / size / np.linalg.norm(present), -1.0, 1.0)))
        if turn > _TURN:
            raise ModelError(f'gravity {gravity.tolist()} m/s^2 is {turn:.3g} rad from the '
                             f'present one: at most {_TURN:g} rad at once while the arm is under '
                             'control; deactivate the controller for another way to mount it',
                             gravity=gravity.tolist())
