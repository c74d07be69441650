"""The simulated arm: plant, sensors and faults, and the state of its simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
import time

from geometry_msgs.msg import WrenchStamped
import numpy as np
from numpy.typing import NDArray
from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.commands import Refusals
from robodyn_ros.nodes.simulator.parameters import (
    arm_from, ErrorSettings, faults_from, joints_from, LIVE_JOINT_PARAMETERS,
    plant_from, sensors_from, SimulatorSettings)
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.background_build import BackgroundPlantBuild, change_numbers
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.faults import Fault, FaultSchedule
from robodyn_ros.simulation.reports import FaultyReports, StateReport
from robodyn_ros.simulation.sensors import Sensors

_OF_BODIES = ('payload', 'mismatch')  # groups of parameters that change the rigid bodies


class AppliedWrenches:
    """
    Wrenches on the links of a plant, with their ends.

    Parameters
    ----------
    plant : Plant
        Simulated arm.
    refusals : Refusals
        Counts of refused messages.

    """

    def __init__(self, plant: Plant, refusals: Refusals):
        self._plant = plant
        self._refusals = refusals
        self._ends: dict[str, float] = {}
        self._wrenches: dict[str, np.ndarray] = {}

    def take(self, message: WrenchStamped, timeout: float) -> None:
        """
        Apply a wrench to the link that a message names, for `timeout` simulated seconds.

        The wrench acts at the origin of the link. It is given in the present axes of the link,
        and keeps that direction.
        """
        link, wrench = message.header.frame_id, message.wrench
        plant = self._plant
        try:
            if not link:
                raise ParameterError('its frame_id is empty: name the link')
            plant.model.link(link)
            R = plant.dynamics.forward_kinematics(plant.q, link)[:3, :3]
            force = R @ (wrench.force.x, wrench.force.y, wrench.force.z)
            moment = R @ (wrench.torque.x, wrench.torque.y, wrench.torque.z)
            self._wrenches[link] = np.concatenate([force, moment])
            plant.push(link, self._wrenches[link])
        except RobodynError as error:
            self._refusals.add('wrench', f'dropped a wrench: {error}')
            return
        # at least one step
        self._ends[link] = plant.steps + max(1.0, timeout / plant.step_size)

    @property
    def idle(self) -> bool:
        """Whether no wrench is applied."""
        return not self._ends

    def end(self) -> None:
        """Remove the wrenches whose time is over; to be called before every step."""
        if not self._ends:
            return
        for link in [link for link, end in self._ends.items() if self._plant.steps >= end]:
            del self._ends[link]
            self._plant.push(link, None)

    def move(self, plant: Plant) -> None:
        """Apply the wrenches to another plant from now on."""
        self._plant = plant
        for link in self._ends:
            plant.push(link, self._wrenches[link])

    def clear(self) -> None:
        """Discard all wrenches; the plant was reset."""
        self._ends.clear()


class SensorsAndFaults:
    """
    Sensors and faults of one arm; time is that of the plant.

    Parameters
    ----------
    model : RobotModel
        The arm.
    values : namespace
        Parameters, see `parameters`.

    Attributes
    ----------
    sensors : Sensors
    driver : Driver
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
        self.driver = Driver(values.driver, model.joint_names)
        self._motors: NDArray | None = None  # gains of their torques
        self.stopped = self.commands_dropped = False
        self._known: tuple[Fault, ...] = ()
        self._schedule = self._new_schedule(values, 0.0)

    def _new_schedule(self, values: ErrorSettings, now: float) -> FaultSchedule:
        return FaultSchedule(faults_from(values, self._model, now))

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
        exact = self.nominal and self.sensors.ideal and self.driver.ideal
        return self._schedule.event if exact else -math.inf

    def check(self, values: ErrorSettings, now: float) -> None:
        """Raise `RobodynError` for parameters that make no sense for this arm, at a time (s)."""
        sensors_from(values, self._model)
        self._new_schedule(values, now)

    def change(self, values: ErrorSettings, names: Sequence[str], now: float) -> None:
        """Apply parameters that were set at run time and checked, at a time (s)."""
        sensors = sensors_from(values, self._model)
        if 'faults' in names:
            schedule = self._new_schedule(values, now)
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
        schedule = self._new_schedule(values, 0.0)
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

    def torque(self, command: NDArray, plant: Plant, silence: float) -> NDArray:
        """Return the torque of the motors, in model order, after a silence of commands (s)."""
        torque, *others = command
        if not self.driver.ideal or np.isfinite(others).any():
            torque = self.driver.torque(
                command, plant.q, plant.qd, plant.dynamics.gravity(plant.q), silence,
                plant.step_size, None if plant.brakes else plant.mobility)
        return torque if self._motors is None else self._motors * torque

    def measure(self, plant: Plant) -> bool:
        """Measure the state of a plant; return whether there is a new measurement."""
        q, qd = plant.q, plant.qd
        if self._values.sensors.encoder == 'motor':
            q, qd = q + plant.gap, qd + plant.gap_rate
        effort = plant.applied
        if not self.driver.ideal:
            q, effort = self.driver.reported(q, effort, plant.dynamics.gravity(plant.q))
        return self.sensors.measure(plant.time, q, qd, effort)

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


class SimulatedArm:
    """
    Plant with sensors, faults and applied wrenches.

    Brakes hold it until the first command, after an emergency stop, and after a silence of the
    commander.

    Parameters
    ----------
    model : RobotModel
        Model of the arm, without the parameters' deviations.
    values : SimulatorSettings
        Parameters of the node.
    refusals : Refusals
        Counts of refused messages.
    log : RcutilsLogger
        Logger of the node.

    Attributes
    ----------
    plant : Plant
        The moving bodies.
    pushes : AppliedWrenches
        Wrenches on its links.
    measurement : SensorsAndFaults
        Its sensors and faults.
    total_steps, commanded_step : int
        Steps since the start, not reset by `reset`; the same at the last valid command.
    commanded : float
        Time of the last valid command, steady clock, in s.
    silences : int
        Silences of the commander after which the brakes were applied.
    held : str
        Why brakes that are on stay on whatever is commanded; empty if they do not.
    asked : bool
        Whether a command came meanwhile.

    Raises
    ------
    RobodynError
        A parameter is invalid for this arm.

    """

    def __init__(self, model: RobotModel, values: SimulatorSettings, refusals: Refusals,
                 log: RcutilsLogger):
        self._model, self._log = model, log
        self.plant = plant_from(values, model)
        self.measurement = SensorsAndFaults(model, values.errors)
        self.pushes = AppliedWrenches(self.plant, refusals)
        self._build: BackgroundPlantBuild | None = None
        self.total_steps = self.commanded_step = self.silences = 0
        self.commanded = time.monotonic()
        self.held, self.asked = '', False

    def step(self, command: np.ndarray, timeout: float) -> None:
        """
        Make one step.

        Parameters
        ----------
        command : (5, nv) array
            Last command, see `CommandReader`.
        timeout : float
            Silence of the commander, in s, after which the brakes are applied; 0: none.

        """
        plant, measurement = self.plant, self.measurement
        self.pushes.end()
        for fault in measurement.update(plant.time):
            self._log.info(f'fault: {fault}')
        silence = (self.total_steps - self.commanded_step) * plant.step_size
        if measurement.stopped:
            plant.engage()
        elif 0.0 < timeout < silence and not plant.brakes:
            self.silences += 1
            self.log_silence(silence)
            plant.engage()
        had_fault = bool(plant.fault)
        if not plant.step(measurement.torque(command, plant, silence)) and not had_fault:
            self._log.error(plant.fault + '; ~/reset starts again')
        self.total_steps += 1

    def command_received(self) -> None:
        """Record a valid command; release the brakes, unless a fault holds them."""
        self.commanded_step, self.commanded = self.total_steps, time.monotonic()
        self.asked = bool(self.held)
        if (self.plant.brakes and not self.plant.fault and not self.measurement.stopped
                and not self.held):
            self.measurement.driver.start(self.plant.q)
            self.plant.release()
            self.log_release()

    def hold(self, reason: str) -> None:
        """Keep the brakes on for a reason; '' lets them go, at once if a command has come."""
        self.held = reason
        if self.asked and not reason:
            self.command_received()

    def log_release(self) -> None:
        """Log that the brakes were released."""
        self._log.info('first command: brakes released')

    def log_silence(self, silence: float) -> None:
        """Log that the brakes were applied after a silence (s)."""
        self._log.warning(f'no command for {silence:.3f} s: brakes on')

    def reset(self) -> None:
        """Return to the initial positions, held by brakes."""
        self.plant.reset(brakes=True)
        self.pushes.clear()
        self.measurement.reset()
        self.asked = False
        self.total_steps += 1  # a new stamp for the new state

    def check_change(self, values: SimulatorSettings, names: Sequence[str]) -> RobotModel | None:
        """Return the new bodies, if they change; raise `RobodynError` for a change to refuse."""
        self.measurement.check(values.errors, self.plant.time)
        joints_from(values, self._model)
        changed = any(name.startswith(_OF_BODIES) for name in names)
        return arm_from(values.errors, self._model) if changed else None

    def change(self, values: SimulatorSettings, names: Sequence[str],
               bodies: RobotModel | None) -> None:
        """Apply parameters that were set at run time; `bodies` is the result of their check."""
        self.measurement.change(values.errors, names, self.plant.time)
        if LIVE_JOINT_PARAMETERS.intersection(names):
            self.plant.change(**joints_from(values, self._model))
            if self._build is not None:  # its joints are out of date
                bodies = arm_from(values.errors, self._model)
        if bodies is None:
            return
        self._build = None  # a running build is out of date
        if change_numbers(self.plant, bodies):
            return
        self._build = BackgroundPlantBuild(lambda: plant_from(values, self._model))
        if values.lockstep:  # reproducible: always at the same step
            self._build.wait()
            self.replace_plant()

    @property
    def plant_is_built(self) -> bool:
        """Whether another plant is ready to replace the present one."""
        return self._build is not None and self._build.done

    def replace_plant(self) -> None:
        """Replace the plant by the one that was built, in the same state."""
        assert self._build is not None
        made, self._build = self._build, None
        if made.plant is None:
            self._log.error(f'the arm is unchanged: {made.problem}')
            return
        made.plant.follow(self.plant)
        self.plant = made.plant
        self.pushes.move(self.plant)
        self._log.info('the arm has changed')
