"""What stands between a simulated arm and the wire: its sensors, and what goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

from numpy.typing import NDArray

from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.simulator.sensor_parameters import (
    campaign_from, ErrorSettings, faults_from, sensors_from)
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.fault_injection import (
    commands_dropped, emergency_stop, FaultInjector, lost_torque, StateReport)
from robodyn_ros.simulation.faults import Fault, FaultSchedule
from robodyn_ros.simulation.sensors import Sensors

_FAULTS = ('fault', 'seed')  # first letters of parameters that change the schedule


class SensorsAndFaults:
    """
    Sensors and faults of one arm; time is that of the plant.

    Parameters
    ----------
    model : RobotModel
        The arm.
    values : ErrorSettings
        Parameters.

    Attributes
    ----------
    sensors : Sensors
    stopped : bool
        Whether the emergency stop is pressed.
    commands_dropped : bool
        Whether commands do not arrive.

    Raises
    ------
    RobodynError
        A parameter makes no sense for this arm.

    """

    def __init__(self, model: RobotModel, values: ErrorSettings):
        self._model = model
        self._values = values
        self.sensors = Sensors(model.nv, sensors_from(values, model), values.seed)
        self._injector = FaultInjector()
        self.stopped = self.commands_dropped = False
        self._known: tuple[Fault, ...] = ()
        self._schedule = self._made(values, 0.0, begin=0.0)

    def _made(self, values: ErrorSettings, now: float, begin: float) -> FaultSchedule:
        return FaultSchedule(self._model.body_joints, faults_from(values, self._model, now),
                             campaign_from(values), begin)

    @property
    def active(self) -> tuple[Fault, ...]:
        """Return what is wrong now."""
        return self._schedule.active

    @property
    def nominal(self) -> bool:
        """Whether states are published as the sensors have them."""
        return not self._schedule.active and self._injector.idle

    @property
    def quiet_until(self) -> float:
        """Return the time (s) before which nothing is or goes wrong; -inf: that is not known."""
        return self._schedule.event if self.nominal and self.sensors.ideal else -math.inf

    def check(self, values: ErrorSettings, now: float) -> None:
        """Raise `RobodynError` for parameters that make no sense for this arm, at a time (s)."""
        sensors_from(values, self._model)
        self._made(values, now, begin=now)

    def change(self, values: ErrorSettings, names: Sequence[str], now: float) -> None:
        """Use parameters that were set while running and checked, at a time (s)."""
        sensors = sensors_from(values, self._model)
        if any(name.startswith(_FAULTS) for name in names):
            schedule = self._made(values, now, begin=now)
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
        """Begin again at time 0; what was asked for by hand (`now`) is forgotten."""
        values = replace(self._values, faults=tuple(
            entry for entry in self._values.faults if entry.split()[:1] != ['now']))
        schedule = self._made(values, 0.0, begin=0.0)
        schedule.counts.update(self._schedule.counts)
        self._schedule = schedule
        self._injector.reset()
        self.sensors.reset()

    def advance(self, time: float) -> list[Fault]:
        """Take note of the time (s); return what has just begun to be wrong."""
        self._schedule.update(time)
        known, self._known = self._known, self._schedule.active
        if known is self._known:
            return []
        self.stopped = emergency_stop(self._known)
        self.commands_dropped = commands_dropped(self._known)
        return [fault for fault in self._known if fault not in known]

    def torque(self, commanded: NDArray) -> NDArray:
        """Return what the motors are told in fact, model order."""
        if not self._schedule.active:
            return commanded
        return lost_torque(self._schedule.active, commanded, self._model.joint_names)

    def measure(self, plant: Plant) -> bool:
        """Let the sensors look; return whether they have something new to say."""
        return self.sensors.measure(plant.time, plant.q, plant.qd, plant.applied)

    def apply(self, time: float, report: StateReport) -> list[StateReport]:
        """Return what is published instead of a report."""
        return self._injector.apply(time, report, self._schedule.active)

    def figures(self, time: float) -> dict[str, str]:
        """Return what is wrong, as text for diagnostics."""
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
