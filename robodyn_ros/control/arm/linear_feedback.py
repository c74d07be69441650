"""
Linear feedback from another node, such as model predictive control.

    tau = u + K (x_des - x),    x = (q, qd)

with feedforward u, desired state x_des and gains K from one message. The feedforward must include
the gravity torque: no term is added.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.settings import LinearFeedbackSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError

_SLACK = 1e-3  # rad or m beyond position limits: calibration and rounding


@dataclass(frozen=True, eq=False)
class LinearCommand:
    """
    Contents of one message, in model order.

    Attributes
    ----------
    feedforward : (nv,)
        Torque at the desired state in N m or N.
    position, velocity : (nv,)
        Desired state.
    gain : (nv, 2 nv)
        Gains K: columns of positions, then of velocities.

    """

    feedforward: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    gain: np.ndarray


class LinearFeedback:
    """
    Linear feedback: checks commands and writes them into the program.

    Parameters
    ----------
    dynamics : Dynamics
        The arm.
    program : namespace
        Fields of `steps.external_law.Program`.

    """

    def __init__(self, dynamics: Dynamics, program: SimpleNamespace):
        self._model, self._dynamics, self._program = dynamics.model, dynamics, program
        self._gain: np.ndarray | None = None
        program.until[()] = -math.inf

    def take(self, now: float, command: LinearCommand, state, armature, limit,
             bounds: LinearFeedbackSettings) -> None:
        """
        Apply a command from now on, if it passes the checks.

        Parameters
        ----------
        now : float
            Time of the cycle.
        command : LinearCommand
            Command in the order of the joints of this arm.
        state : tuple of (nv,)
            Measured position and velocity.
        armature, limit : (nv,)
            Rotor inertia, and usable torque.
        bounds : LinearFeedbackSettings
            Bounds of the command.

        Raises
        ------
        ArgumentError
            A check failed, naming the joint; the previous command stays valid until its timeout.

        """
        q, qd = state
        command = self._nearest(command, q)
        self._check_numbers(command, limit)
        self._check_position(command, q, bounds)
        self._check_torque(command, q, qd, limit, bounds)
        if self._gain is None or not np.array_equal(command.gain, self._gain):
            self._check_growth(command.gain, q, armature, bounds)
        self._gain, program = command.gain, self._program
        program.feedforward[:], program.gain[:] = command.feedforward, command.gain.ravel()
        program.position[:], program.velocity[:] = command.position, command.velocity
        program.until[()] = now + bounds.timeout

    def _nearest(self, command: LinearCommand, q) -> LinearCommand:
        """Return the command with continuous joints in the present turn."""
        turns = np.where(self._model.continuous,
                         np.round((q - command.position) / (2.0 * math.pi)), 0.0)
        return LinearCommand(command.feedforward, command.position + 2.0 * math.pi * turns,
                             command.velocity, command.gain)

    # --- checks -----------------------------------------------------------------------------

    def _check_numbers(self, command: LinearCommand, limit) -> None:
        for what in ('feedforward', 'position', 'velocity', 'gain'):
            values = getattr(command, what)
            good = np.isfinite(values.reshape(limit.size, -1)).all(axis=1)
            self._require(good, lambda j: f'{what} is not a finite number')
        u = command.feedforward
        self._require(np.abs(u) <= limit, lambda j: (
            f'feedforward is {self._effort(j, u)}, its motor may give {self._effort(j, limit)}'))

    def _check_position(self, command: LinearCommand, q, bounds: LinearFeedbackSettings) -> None:
        position, lower, upper = command.position, self._model.lower, self._model.upper
        self._require((lower - _SLACK <= position) & (position <= upper + _SLACK), lambda j: (
            f'position is {position[j]:.4g}, outside its limits [{lower[j]:g}, {upper[j]:g}]'))
        self._require(np.abs(position - q) <= bounds.largest_error, lambda j: (
            f'position is {position[j]:.4g}, the joint stands at {q[j]:.4g}: further away than '
            f'{bounds.largest_error:g}'))

    def _check_torque(self, command: LinearCommand, q, qd, limit,
                      bounds: LinearFeedbackSettings) -> None:
        torque = command.feedforward + command.gain @ np.concatenate(
            [command.position - q, command.velocity - qd])
        self._require(np.abs(torque) <= bounds.largest_torque * limit, lambda j: (
            f'the torque would be {self._effort(j, torque)} here, its motor may give '
            f'{self._effort(j, limit)}; more than '
            f'{bounds.largest_torque:g} times that is rejected'))

    def _check_growth(self, gain, q, armature, bounds: LinearFeedbackSettings) -> None:
        growth = fastest_growth(self._dynamics.mass_matrix(q) + np.diag(armature), gain)
        if not growth <= bounds.largest_growth:
            raise ArgumentError(
                f'with these gains the motion of the arm would grow by {growth:.3g} per second '
                f'(at most {bounds.largest_growth:g}): check the sign, '
                'the torque is feedforward + K (desired - measured)', value=growth)

    def _effort(self, joint: int, values) -> str:
        return f'{values[joint]:.4g} {self._model.effort_units[joint]}'

    def _require(self, good, why) -> None:
        if not good.all():
            j = int(np.argmin(good))
            name = self._model.joint_names[j]
            raise ArgumentError(f"joint '{name}': {why(j)}", joint=name)


def fastest_growth(M: np.ndarray, gain: np.ndarray) -> float:
    """
    Return the largest real part of the eigenvalues of `M e'' + Kv e' + Kq e = 0`.

    Parameters
    ----------
    M : (nv, nv)
        Mass matrix, rotors included.
    gain : (nv, 2 nv)
        Kq beside Kv.

    """
    n = len(M)
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    try:
        A[n:] = -np.linalg.solve(M, gain)
        return float(np.linalg.eigvals(A).real.max())
    except np.linalg.LinAlgError:  # a joint that moves no mass
        return math.inf
