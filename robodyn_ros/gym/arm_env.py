"""A simulated arm and its controller in lockstep as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.control import ArmController, Settings
from robodyn_ros.control.arm.linear_feedback import LinearCommand
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, RobodynError, shown
from robodyn_ros.gym.target_reference import towards
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import speeds, usable_range
from robodyn_ros.share import share_path
from robodyn_ros.simulation import Plant
from robodyn_ros.trajectory import Tolerances

ACTIONS = ('position', 'torque')
_SETTLE = 0.2           # s, at most, until the arm is held before the first observation
_TORQUE_LAW = 'linear_feedback'


class ArmEnv(gymnasium.Env):
    """
    One simulated arm: an action per period, several cycles of the controller in between.

    The control cycle is the compiled function that drives an arm, with its limits, brakes and
    faults; nothing needs ROS. An observation has positions, velocities, the reference and the
    torque of the controller, (4 nv,). An episode is terminated by a fault, and truncated after a
    time.

    Parameters
    ----------
    urdf : path or RobotModel
        The arm; default that of the package.
    action : {'position', 'torque'}
        Joint targets, which the reference approaches within the limits of velocity and
        acceleration; or torques of the motors, gravity included, kept for a period.
    rate : float
        Actions per second; a period has a whole number of steps.
    step : float
        Time of a control cycle and of a simulation step, in s.
    seconds : float
        Length of an episode.
    start : (nv,) array_like, optional
        Nominal initial position; default the middle of the position limits.
    spread : float
        Largest random deviation from it, in rad or m.
    acceleration : float
        Acceleration limit of the reference, in rad/s^2 or m/s^2.
    reward : callable, optional
        Called with the environment after each period; default 0.
    settings : Settings, optional
        Settings of the controller.
    physics : mapping, optional
        Arguments of `Plant` that differ from the URDF, such as friction.

    Attributes
    ----------
    model : RobotModel
    plant : Plant
        The simulated arm.
    control : ArmController
        Its controller.

    Raises
    ------
    ArgumentError
        Invalid value; the message names the argument.

    """

    metadata: dict[str, Any] = {'render_modes': []}

    def __init__(self, urdf: str | Path | RobotModel | None = None, action: str = 'position',
                 rate: float = 50.0, step: float = 1e-3, seconds: float = 10.0,
                 start: ArrayLike | None = None, spread: float = 0.1, acceleration: float = 20.0,
                 reward: Callable[[ArmEnv], float] | None = None,
                 settings: Settings | None = None, physics: Mapping[str, Any] | None = None):
        if action not in ACTIONS:
            raise ArgumentError(f'action is {action!r}: it must be one of {", ".join(ACTIONS)}')
        if not 0.0 < step * rate <= 1.0:
            raise ArgumentError(f'rate is {rate!r}: a period must last at least one step of '
                                f'{step:g} s')
        if not (0.0 < seconds < np.inf and 0.0 < acceleration < np.inf and 0.0 <= spread < np.inf):
            raise ArgumentError(f'seconds {seconds!r} and acceleration {acceleration!r} must be '
                                f'above 0, spread {spread!r} 0 or more, and all finite')
        self.model = model = (urdf if isinstance(urdf, RobotModel) else RobotModel.from_urdf(
            urdf or share_path('urdf', 'robodyn7.urdf')))
        self._cycles, self._step = round(1.0 / (rate * step)), step
        self._period = self._cycles * step
        self._length = max(round(seconds / self._period), 1)
        self._torques, self._acceleration, self._spread = action == 'torque', acceleration, spread
        self._reward = reward
        dynamics = Dynamics(model)
        self.plant = Plant(model, step, dynamics, **(physics or {}))
        self.control = ArmController(dynamics, self._settings(settings or Settings()))
        self._first = {name: values.copy() for name, values in self.control.host.values.items()}
        self._tolerances = Tolerances.none(model.nv)
        lower, upper = usable_range(model)
        self._start = _start(model, lower, upper, start)
        self._velocity = speeds(model)
        limit = self.control.bounds.usable
        self.action_space = gymnasium.spaces.Box(
            *((-limit, limit) if self._torques else (lower, upper)), dtype=np.float64)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4 * model.nv,),
                                                      dtype=np.float64)
        self._now, self._count, self._refusal = 0.0, 0, ''

    def _settings(self, settings: Settings) -> Settings:
        """Return settings without a slow start, for torques with the law that takes them."""
        settings = replace(settings, activation_time=0.0)
        if not self._torques:
            return settings
        return replace(settings, mode=_TORQUE_LAW, linear_feedback=replace(
            settings.linear_feedback, timeout=min(2.0 * self._period, 1.0)))

    # --- episodes ---------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[NDArray, dict[str, Any]]:
        """
        Start an episode at rest; the same seed gives the same episode.

        Parameters
        ----------
        seed : int, optional
            Seed of the initial position.
        options : dict, optional
            'q': initial position, (nv,), in place of a random one.

        """
        super().reset(seed=seed)
        deviation = self.np_random.uniform(-self._spread, self._spread, self.model.nv)
        q = np.clip(self._start + deviation, self.model.lower, self.model.upper)
        q = np.asarray((options or {}).get('q', q), dtype=float)
        self.plant.reset(q)
        host = self.control.host
        for name, values in self._first.items():
            host.values[name][:] = values
        host.bound.previous_memory[:] = self._first['memory']
        self._now, self._count, self._refusal = 0.0, 0, ''
        self.control.activate(self._now, self.plant.q, self.plant.qd)
        self._cycle()
        while not self.control.status.at_rest and self._now < _SETTLE:
            self._cycle()
        return self._observation(), self._info()

    def step(self, action: ArrayLike) -> tuple[NDArray, float, bool, bool, dict[str, Any]]:
        """
        Control for a period.

        Raises
        ------
        ArgumentError
            The action has a wrong shape, or is not finite.

        """
        try:
            values = np.asarray(action, dtype=float)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if values.shape != (self.model.nv,) or not np.isfinite(values).all():
            raise ArgumentError(f'an action must be {self.model.nv} finite numbers, got '
                                f'{shown(action)}')
        space = self.action_space
        values = np.clip(values, space.low, space.high)  # type: ignore[attr-defined]
        self._refusal = ''
        try:
            self._send(values)
        except RobodynError as error:  # a fault, or an arm beyond its limits: it comes to rest
            self._refusal = str(error)
        for _ in range(self._cycles):
            self._cycle()
        self._count += 1
        failed = bool(self.control.fault or self.plant.fault)
        reward = 0.0 if self._reward is None else float(self._reward(self))
        return (self._observation(), reward, failed, self._count >= self._length, self._info())

    def _send(self, values: NDArray) -> None:
        control, nv = self.control, self.model.nv
        if self._torques:
            q = np.clip(self.plant.q, self.model.lower, self.model.upper)
            control.inputs.take_linear_feedback(self._now, LinearCommand(
                values, q, self.plant.qd.copy(), np.zeros((nv, 2 * nv))))
            return
        start = control.motions.start_state()
        control.motions.begin(start, towards(start.reference, values, self._period, self._velocity,
                                             self._acceleration), self._tolerances)

    def _cycle(self) -> None:
        torque = self.control.update(self._now, self.plant.q, self.plant.qd, self.plant.applied)
        self.plant.step(torque)
        self._now += self._step

    def _observation(self) -> NDArray:
        plant = self.plant
        return np.concatenate([plant.q, plant.qd, self.control.reference.q,
                               self.control.host.bound.torque])

    def _info(self) -> dict[str, Any]:
        control = self.control
        return {'mode': control.mode.value, 'fault': control.fault or self.plant.fault,
                'refusal': self._refusal}


def _start(model: RobotModel, lower: NDArray, upper: NDArray, start: ArrayLike | None) -> NDArray:
    if start is None:
        return 0.5 * (lower + upper)
    q = np.asarray(start, dtype=float)
    if q.shape != (model.nv,):
        raise ArgumentError(f'start must have shape ({model.nv},), got {q.shape}')
    outside = np.flatnonzero(~((q >= model.lower) & (q <= model.upper)))
    if outside.size:
        j, name = outside[0], model.joint_names[outside[0]]
        raise ArgumentError(f"start of joint '{name}' is {q[j]:.4g}: it must be from "
                            f'{model.lower[j]:.4g} to {model.upper[j]:.4g}', joint=name)
    return q
