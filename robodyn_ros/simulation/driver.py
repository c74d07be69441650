"""
Habits of drivers: what they make of a command, and what they report of an arm.

Each is a field of `DriverSettings`; they add up. Without any, a motor makes the effort of the last
command, and the driver reports it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.settings import Numbers, parameter, per_joint, settings

_FAULT, _LIMIT, _NONE = 'fault', 'limit', 'none'
_ZERO, _START, _COMMAND = 'zero', 'start', 'command'
_SILENCES = _REPEAT, _DAMP, _DISABLE = 'repeat', 'damp', 'disable'
_DAMPING = 0.5  # N m s/rad of a drive that damps in silence, at least


@settings('driver')
class DriverSettings:
    """Habits of the driver of the simulated arm."""

    gravity: Numbers = parameter(
        (0.0,), 'Part of the gravity torque that the driver adds to the command.', '', 0.0, 2.0,
        per_joint=True, read_only=True)
    kp: Numbers = parameter(
        (0.0,), 'Stiffness of the drives, unless it is commanded.', 'N m/rad', 0.0, 1e4,
        per_joint=True, read_only=True)
    kd: Numbers = parameter(
        (0.0,), 'Damping of the drives, unless it is commanded.', 'N m s/rad', 0.0, 1e3,
        per_joint=True, read_only=True)
    spring: str = parameter(
        _COMMAND, 'Where that stiffness pulls the arm: its commanded position, the zero pose, or '
        'where it was at the start.', choices=(_COMMAND, _ZERO, _START), read_only=True)
    spring_time: float = parameter(
        0.0, 'Time after the first command for which the stiffness and the damping act, as of a '
        'driver that moves to a pose at its activation; 0: always.', 's', 0.0, 60.0,
        read_only=True)
    ignores: str = parameter(
        _NONE, 'Commands that are ignored: none, all, or those of effort without position.',
        choices=(_NONE, 'all', 'effort_alone'), read_only=True)
    factor: Numbers = parameter(
        (1.0,), 'Torque by effort of the command: another unit, factor or sign.', '', -1e3, 1e3,
        per_joint=True, read_only=True)
    quantum: Numbers = parameter(
        (0.0,), 'Steps of torque, towards 0.', 'N m', 0.0, 100.0, per_joint=True, read_only=True)
    rate_limit: float = parameter(
        0.0, 'Largest change of torque; 0: any.', 'N m/s', 0.0, 1e7, read_only=True)
    jump: str = parameter(_LIMIT, 'What a larger change does.', choices=(_LIMIT, _FAULT),
                          read_only=True)
    silence: str = parameter(
        _REPEAT, 'What the drives do without commands.', choices=_SILENCES, read_only=True)
    silence_after: float = parameter(0.1, 'Silence from which on they do.', 's', 1e-3, 60.0,
                                     read_only=True)
    position: str = parameter(
        'measured', 'Position that is reported.', choices=('measured', 'commanded'),
        read_only=True)
    effort: str = parameter(
        'torque', 'Effort that is reported: the torque of the motors, that without gravity, or a '
        'motor current.', choices=('torque', 'without_gravity', 'current'), read_only=True)
    current: float = parameter(
        0.1, 'Torque of 1 A.', 'N m/A', 1e-3, 1e3, read_only=True)


class Driver:
    """
    A driver between commands and motors.

    Parameters
    ----------
    values : DriverSettings
        Its habits.
    joint_names : sequence of str
        Joints of the arm.

    Attributes
    ----------
    ideal : bool
        Whether it has none.
    fault : str
        Why it has disabled the motors; '' while it has not.

    """

    def __init__(self, values: DriverSettings, joint_names):
        self.values, self.ideal = values, values == DriverSettings()
        self._names = joint_names
        self._gravity, self._kp, self._kd, self._factor, self._quantum = (
            per_joint(f'driver.{name}', getattr(values, name), joint_names)
            for name in ('gravity', 'kp', 'kd', 'factor', 'quantum'))
        self.start(np.zeros(len(joint_names)))

    def start(self, q: NDArray) -> None:
        """Begin with an arm that is at rest in a position."""
        self._start, self._commanded, self._qd = q.copy(), q.copy(), np.zeros_like(q)
        self._effort, self._gains, self.fault = np.zeros_like(q), np.zeros_like(q), ''
        self._passed, self._moves = 0.0, False

    def torque(self, command: NDArray, q: NDArray, qd: NDArray, gravity: NDArray,
               silence: float, step: float, mobility: Callable[[], NDArray] | None = None
               ) -> NDArray:
        """
        Return the torque of the motors.

        Parameters
        ----------
        command : (5, nv) array
            Rows `per_joint.COMMAND`; NaN where the message has no such row.
        q, qd, gravity : (nv,) array
            State, and its gravity torque.
        silence, step : float
            Time since the last command, and until the next call, in s.
        mobility : callable, optional
            Returns M^-1 of the arm in this state, (nv, nv): gains of drives act without delay,
            in steps as long as those of an arm; by default, such as for an arm that brakes hold,
            they act at the begin of the step.

        """
        v, (effort, position, velocity, kp, kd) = self.values, command
        has_position = np.isfinite(position).all()
        self._commanded = np.where(np.isfinite(position), position, self._commanded)
        effort = np.zeros_like(q) if v.ignores == 'all' or (
            v.ignores == 'effort_alone' and not has_position) else self._factor * effort
        effort = np.where(self._quantum > 0.0, self._quantum * np.trunc(
            effort / np.where(self._quantum > 0.0, self._quantum, 1.0)), effort)
        largest = v.rate_limit * step
        change = effort - self._effort
        if largest and v.jump == _FAULT and np.abs(change).max() > largest and not self.fault:
            j = int(np.argmax(np.abs(change)))
            self.fault = (f"torque discontinuity of joint '{self._names[j]}': {change[j]:.3g} N m "
                          f'in {step:g} s')
        before = self._effort
        self._effort = before + np.clip(change, -largest, largest) if largest else effort
        to = {_ZERO: np.zeros_like(q), _START: self._start}.get(
            v.spring, np.where(np.isfinite(position), position, self._start))
        to = np.where(np.isfinite(kp) & np.isfinite(position), position, to)
        own = not v.spring_time or self._passed < v.spring_time
        self._passed += step
        kp = np.where(np.isfinite(kp), kp, own * self._kp)
        kd = np.where(np.isfinite(kd), kd, own * self._kd)
        wanted = np.where(np.isfinite(velocity), velocity, 0.0)
        acceleration, self._qd = (qd - self._qd) / step, qd.copy()
        gains = kp * (to - q) + kd * (wanted - qd)
        moved_before, self._moves = self._moves, mobility is not None
        if mobility is not None and moved_before and gains.any():
            # at the end of the step: of what moves the arm, effort and gains are otherwise then
            share = step * (kd + step * kp)
            gains = gains - step * kp * qd - share * acceleration
            moved = share[:, None] * mobility()
            gains = np.linalg.solve(np.eye(len(q)) + moved, gains + moved @ (
                self._gains + before - self._effort))
        self._gains = gains
        if self.fault or (silence > v.silence_after and v.silence == _DISABLE):
            return np.zeros_like(q)
        if silence > v.silence_after and v.silence == _DAMP:
            return self._gravity * gravity - np.maximum(kd, _DAMPING) * qd
        return self._effort + gains + self._gravity * gravity

    def reported(self, q: NDArray, torque: NDArray, gravity: NDArray) -> tuple[NDArray, NDArray]:
        """Return position and effort that are reported, for the true ones."""
        v = self.values
        effort = torque - self._gravity * gravity if v.effort == 'without_gravity' else torque
        return (self._commanded if v.position == 'commanded' else q,
                effort / v.current if v.effort == 'current' else effort)
