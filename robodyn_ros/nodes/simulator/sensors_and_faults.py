"""Sensors and faults between a simulated arm and its topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.simulator.sensor_parameters import (
    campaign_from, ErrorSettings, faults_from, sensors_from)
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.faults import Fault, FaultSchedule
from robodyn_ros.simulation.reports import FaultyReports, StateReport
from robodyn_ros.simulation.sensors import Sensors

_FAULTS = ('fault', 'seed')  # first letters of parameters that change the schedule


class SensorsAndFaults:
    """
    Sensors and faults of one arm; time is that of the plant.

    Parameters
    ----------
    model : RobotModel
        The arm.
    values : namespace
        Parameters, see `sensor_parameters`.

    Attributes
    ----------
    sensors : Sensors
    stopped : bool
        Whether the emergency stop is pressed.
    commands_dropped : bool
        Whether commands are dropped.

    Raises
    ------
    RobodynError
        A parameter is invalid for this arm.

    """

    def __init__(self, model: RobotModel, values: ErrorSettings):
        self._model = model
        self._values = values
        self.sensors = Sensors(model.nv, sensors_from(values, model), values.seed)
        self._reports = FaultyReports()
        self._motors: NDArray | None = None  # gains of their torques
        self.stopped = self.commands_dropped = False
        self._known: tuple[Fault, ...] = ()
        self._schedule = self._new_schedule(values, 0.0, begin=0.0)

    def _new_schedule(self, values: ErrorSettings, now: float, begin: float) -> FaultSchedule:
        return FaultSchedule(self._model.body_joints, faults_from(values, self._model, now),
                             campaign_from(values), begin)

    @property
    def active(self) -> tuple[Fault, ...]:
        """Return the active faults."""
        return self._schedule.active

    @property
    def nominal(self) -> bool:
        """Whether states are published as measured, without faults."""
        return not self._schedule.active and self._reports.idle

    @property
    def quiet_until(self) -> float:
        """Return the time (s) of the next fault; -inf while sensors or states are not nominal."""
        return self._schedule.event if self.nominal and self.sensors.ideal else -math.inf

    def check(self, values: ErrorSettings, now: float) -> None:
        """Raise `RobodynError` for parameters that make no sense for this arm, at a time (s)."""
        sensors_from(values, self._model)
        self._new_schedule(values, now, begin=now)

    def change(self, values: ErrorSettings, names: Sequence[str], now: float) -> None:
        """Apply parameters that were set at run time and checked, at a time (s)."""
        sensors = sensors_from(values, self._model)
        if any(name.startswith(_FAULTS) for name in names):
            schedule = self._new_schedule(values, now, begin=now)
            schedule.follow(self._schedule)
            self._schedule = schedule
        if 'seed' in names:
            dropped, self.sensors = self.sensors.dropped, Sensors(
                self._model.nv, sensors, values.seed)
            self.sensors.dropped = dropped
        elif any(name.startswith('sensors.') for name in names):
            self.sensors.change(sensors)
        self._values = values

    def reset(self) -> None:
        """Start again at time 0, without the faults with START `now`."""
        values = replace(self._values, faults=tuple(
            entry for entry in self._values.faults if entry.split()[:1] != ['now']))
        schedule = self._new_schedule(values, 0.0, begin=0.0)
        schedule.counts.update(self._schedule.counts)
        self._schedule = schedule
        self._reports.reset()
        self.sensors.reset()

    def update(self, time: float) -> list[Fault]:
        """Update the faults to a time (s); return those that have just begun."""
        self._schedule.update(time)
        known, self._known = self._known, self._schedule.active
        if known is self._known:
            return []
        effects = [fault.numbers(self._model.joint_names) for fault in self._known]
        self.stopped, self.commands_dropped = (
            any(name in each for each in effects) for name in ('brakes', 'deaf'))
        gains = [each['motor'] for each in effects if 'motor' in each]
        self._motors = np.prod(np.array(gains, dtype=float), axis=0) if gains else None
        return [fault for fault in self._known if fault not in known]

    def torque(self, commanded: NDArray) -> NDArray:
        """Return the torque that the motors apply, in model order."""
        return commanded if self._motors is None else self._motors * commanded

    def measure(self, plant: Plant) -> bool:
        """Measure the state of a plant; return whether there is a new measurement."""
        q, qd = plant.q, plant.qd
        if self._values.sensors.encoder == 'motor':
            q, qd = q + plant.gap, qd + plant.gap_rate
        return self.sensors.measure(plant.time, q, qd, plant.applied)

    def apply(self, time: float, report: StateReport) -> list[StateReport]:
        """Return the states to publish instead of a nominal one."""
        return self._reports.apply(time, report, self._schedule.active)

    def figures(self, time: float) -> dict[str, str]:
        """Return faults and sensor errors, for diagnostics."""
        now = [f'{" ".join([fault.kind, *fault.joints])} ({fault.end - time:.3g} s left)'
               for fault in self._schedule.active]
        figures = {'faults now': ', '.join(now) or 'none'}
        for kind, count in sorted(self._schedule.counts.items()):
            figures[f'faults so far: {kind}'] = str(count)
        figures['sensors differ in'] = (', '.join(self.sensors.settings.differences())
                                        or 'nothing')
        if self.sensors.dropped:
            figures['states lost by sensors'] = str(self.sensors.dropped)
        return figures
