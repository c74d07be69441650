"""An arm that is commissioned in this process: our controller, one step of a plant per state."""

from collections import deque

import numpy as np

from robodyn_ros.control import ArmController, Settings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.identification.recording import Run
from robodyn_ros.settings import with_values
from robodyn_ros.trajectory import TrajectoryPoint

_STILL = 0.5  # s recorded after a motion
_MEASURED = 20.0  # s in which the loop must have been measured


class LockstepArm:
    """
    Implements `commission.arm.Arm` without ROS.

    Parameters
    ----------
    robot : Robot
        What is selected of a URDF.
    plant : object
        With `period`, `read()` returning q, qd and effort, and `step(torque)`.
    delay : int
        Steps until a torque acts.

    """

    def __init__(self, robot, plant, delay=0):
        self._robot, self.plant = robot, plant
        self._late = deque(maxlen=delay + 1)
        self.now, self.control = 0.0, None

    def loop(self):
        return [self.control.status.loop_summary, *self.control.status.measured_loops.values()]

    def check_live(self, _dynamics):
        return None

    def start(self, urdf, values):
        from dataclasses import replace
        model = replace(self._robot, urdf=urdf).load()
        self.control = ArmController(Dynamics(model), with_values(Settings(), values))
        q, qd, effort = self.plant.read()
        self.control.activate(self.now, q, qd)
        self._late.extend([self.control.gravity_torque().copy()] * self._late.maxlen)
        self.control.loop.begin()
        begin = self.now
        while self.control.loop.running:
            self._record(self.plant.period)
            self.control.update_loop(wait=True)
            assert self.now < begin + _MEASURED
        self.watch(1.0)

    def change(self, values):
        self.control.changes.change(with_values(self.control.settings, values))

    def execute(self, points):
        times, *rows = points
        duration = self.control.follow(self.now, self.control.model.joint_names, [
            TrajectoryPoint(*row, (), t) for t, *row in zip(times, *rows)])
        unmet = self.control.status.unmet_goal
        return self._record(duration + _STILL, 'tolerance' if unmet else '')

    def watch(self, seconds, floats=False):
        if floats:
            self.control.requests.compensate_gravity()
            run = self._record(seconds)
            self.control.requests.hold()
            self._record(0.5)
            return run
        return self._record(seconds)

    def hold(self):
        self.control.requests.hold()
        return True

    def stop(self):
        self.control = None

    def _record(self, seconds, shortfall=''):
        rows = []
        for _ in range(round(seconds / self.plant.period)):
            q, qd, effort = self.plant.read()
            torque = self.control.update(self.now, q, qd, effort)
            assert not self.control.fault, self.control.fault
            self._late.append(torque.copy())
            rows.append((self.now, self.control.reference.q.copy(), q, qd, effort,
                         torque.copy()))
            self.plant.step(self._late[0])
            self.now += self.plant.period
        return Run(*map(np.array, zip(*rows)), 0.0, shortfall)
