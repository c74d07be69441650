"""Check whether the motors can hold a payload."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError


def check_payload(dynamics: Dynamics, q: np.ndarray, link: str, mass: float) -> None:
    """Raise `ArgumentError` if a motor cannot hold a mass (kg) at the origin of a link at `q`."""
    model, unloaded = dynamics.model, dynamics.gravity(q)
    torque = unloaded - dynamics.jacobian(q, link)[:3].T @ (mass * model.gravity)
    # a joint that cannot hold the arm alone may have a payload that reduces its torque
    over = np.abs(torque) > np.maximum(model.effort_limit, np.abs(unloaded))
    if over.any():
        j = int(np.argmax(over))
        name, unit = model.joint_names[j], model.effort_units[j]
        raise ArgumentError(
            f"joint '{name}' would need {torque[j]:.4g} {unit} to hold {mass:g} kg here, its "
            f'motor has {model.effort_limit[j]:g} {unit}: choose less, or another pose',
            joint=name, value=float(torque[j]), limit=float(model.effort_limit[j]))
