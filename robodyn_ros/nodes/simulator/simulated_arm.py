"""The simulated arm: plant with brakes, sensors, faults and applied wrenches, step by step."""

from __future__ import annotations

from collections.abc import Sequence
import time

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.commands import Refusals
from robodyn_ros.nodes.simulator.applied_wrenches import AppliedWrenches
from robodyn_ros.nodes.simulator.parameters import (
    joints_from, LIVE_JOINT_PARAMETERS, plant_from, SimulatorSettings)
from robodyn_ros.nodes.simulator.sensor_parameters import arm_from
from robodyn_ros.nodes.simulator.sensors_and_faults import SensorsAndFaults
from robodyn_ros.simulation.background_build import BackgroundPlantBuild, change_numbers

_OF_BODIES = ('payload', 'mismatch')  # groups of parameters that change the rigid bodies


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

    def step(self, torque: np.ndarray, timeout: float) -> None:
        """
        Make one step.

        Parameters
        ----------
        torque : (nv,) array
            Last commanded torques, in N m or N.
        timeout : float
            Silence of the commander, in s, after which the brakes are applied; 0: none.

        """
        plant, measurement = self.plant, self.measurement
        self.pushes.end()
        for fault in measurement.update(plant.time):
            self._log.info(f'fault: {fault}')
        silent = (self.total_steps - self.commanded_step) * plant.step_size
        if measurement.stopped:
            plant.engage()
        elif 0.0 < timeout < silent and not plant.brakes:
            self.silences += 1
            self.log_silence(silent)
            plant.engage()
        had_fault = bool(plant.fault)
        if not plant.step(measurement.torque(torque)) and not had_fault:
            self._log.error(plant.fault + '; ~/reset starts again')
        self.total_steps += 1

    def command_received(self) -> None:
        """Record a valid command; release the brakes, unless a fault holds them."""
        self.commanded_step, self.commanded = self.total_steps, time.monotonic()
        if self.plant.brakes and not self.plant.fault and not self.measurement.stopped:
            self.plant.release()
            self.log_release()

    def log_release(self) -> None:
        """Log that the brakes were released."""
        self._log.info('first command: brakes released')

    def log_silence(self, silent: float) -> None:
        """Log that the brakes were applied after a silence (s)."""
        self._log.warning(f'no command for {silent:.3f} s: brakes on')

    def reset(self) -> None:
        """Return to the initial positions, held by brakes."""
        self.plant.reset(brakes=True)
        self.pushes.clear()
        self.measurement.reset()
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
