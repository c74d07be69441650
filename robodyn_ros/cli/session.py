"""A simulator, a controller and a recorder as three processes on a ROS domain of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import json
import os
from pathlib import Path
import signal
import time
from types import TracebackType

import numpy as np

from robodyn_ros.cli.domain import isolate
from robodyn_ros.cli.processes import Child, Children
from robodyn_ros.cli.robot import Robot
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.controller import node as controller
from robodyn_ros.nodes.recorder import JointLog, Recorder
from robodyn_ros.nodes.simulator import node as simulator

# rad/s, the natural frequency of the error: twice the node's default, which is meant for a first
# launch on a real arm
STIFFNESS = 40.0
_START = 30.0    # s until the controller must be active
_LEAVE = 10.0    # s in which it must have left
_ANSWERED = 0.1  # s after which a state is answered, or never
_RECOVER = 10.0  # s that the cause of a fault may last


class Session:
    """
    The three processes, alive in a `with` block, whatever ends it.

    Parameters
    ----------
    robot : Robot
        What is simulated and controlled.
    model : RobotModel
        The same, as it is here.
    start : (nv,) array
        Where the arm stands at first.
    rate : float
        Steps and states per second.
    logs : Path
        Folder for what the processes say.
    look : callable, optional
        Called many times per second while waiting.
    everything : bool
        Whether to record all that belongs into a bag.

    Attributes
    ----------
    model : RobotModel
    recorder : Recorder
    simulator, controller : Child
    domain : str
        ROS_DOMAIN_ID.
    gravity : float
        Part of the modelled gravity that the controller commands.

    """

    def __init__(self, robot: Robot, model: RobotModel, start: np.ndarray, rate: float,
                 logs: Path, look: Callable[[], None] | None = None, everything: bool = False):
        self._robot, self.model, self._start, self._rate = robot, model, start, rate
        self._logs, self._look, self._everything = logs, look, everything
        self._children = Children()
        self._beside: list[Child] = []
        self.gravity = 1.0
        self._foreign_domain = bool(os.environ.get('ROS_DOMAIN_ID'))
        self.domain = isolate()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._children.stop()
        if hasattr(self, 'recorder'):
            self.recorder.close()

    def start(self) -> None:
        """
        Start all processes, and wait until the controller holds the arm.

        Raises
        ------
        RobodynError
            A process ended, with what it said last; or it takes too long.

        """
        common = self._robot.parameters()
        places = [f'{name}:{q!r}' for name, q in zip(self.model.joint_names,
                                                     self._start.tolist())]
        self.recorder = Recorder(self._alive, self._everything)
        if self._foreign_domain:
            self._refuse_other_commanders()
        self.simulator = self._child('simulator', {
            **common, 'step': 1.0 / self._rate, 'initial_positions': places})
        self.start_controller()

    def start_controller(self) -> None:
        """Start the controller, and wait until it holds the arm (raises as `start`)."""
        recorder = self.recorder
        before = len(recorder.references)
        self.controller = self._child('controller', {
            **self._robot.parameters(), 'natural_frequency': [STIFFNESS]})
        # ROS may find the one long before the other
        if not recorder.wait(lambda: recorder.states and len(recorder.references) > before,
                             _START):
            raise StateError(f'the controller was not active within {_START:g} s; it said: '
                             + self.controller.last_words())

    def start_beside(self, name: str, module: str, arguments: Sequence[str]) -> Child:
        """Start another process that lives as long as these, unless it ends before."""
        child = self._children.start(name, module, arguments, self._log_of(name))
        child.may_end = True
        self._beside.append(child)
        return child

    def idle(self, seconds: float) -> None:
        """Let a time pass in which nothing is recorded (raises if a process has ended)."""
        self._children.check()
        time.sleep(seconds)

    def _child(self, name: str, parameters: dict[str, object]) -> Child:
        arguments = ['--ros-args']
        for key, value in parameters.items():
            # JSON is YAML, as which ROS reads it: quotes keep a path or a name a text
            arguments += ['-p', f'{key}:={json.dumps(value)}']
        return self._children.start(name, f'robodyn_ros.nodes.{name}.node', arguments,
                                    self._log_of(name))

    def _log_of(self, name: str) -> Path:
        return self._logs / f'robodyn_demo_{name}.log'

    def _alive(self) -> None:
        self._children.check()
        if self._look is not None:
            self._look()

    def _refuse_other_commanders(self) -> None:
        """Raise if an arm is there already."""
        if self.recorder.wait(lambda: self.recorder.publishers() > 0, 0.5):
            raise StateError(
                f'somebody publishes joint_states on ROS_DOMAIN_ID={self.domain}: leave that '
                'variable unset, and the demo chooses a domain where nobody is')

    def remove_logs(self) -> None:
        """Remove what the processes said."""
        for child in (self.simulator, self.controller, *self._beside):
            child.log.unlink(missing_ok=True)

    def record(self, duration: float) -> tuple[int, int]:
        """Record for a time in s; return its begin and end in ns."""
        begin = time.time_ns()
        self.recorder.wait(timeout=duration)
        end = time.time_ns()
        self.recorder.wait(timeout=_ANSWERED)
        return begin, end

    def logs(self, begin: int, end: int) -> tuple[JointLog, JointLog]:
        """Return what the arm said in a time, and the controller in reply, in model order."""
        return (self.recorder.states.log(self.model.joint_names, begin, end),
                self.references(begin, end + round(1e9 * _ANSWERED)))

    def references(self, begin: int, end: int) -> JointLog:
        """Return what the controller said in a time, in model order."""
        return self.recorder.references.log(self.model.joint_names, begin, end)

    def terms(self, begin: int, end: int) -> dict[str, JointLog]:
        """Return the terms of the torque that were recorded in a time, in model order."""
        return {name: stream.log(self.model.joint_names, begin, end)
                for name, stream in self.recorder.terms.items()}

    def send(self, *rows) -> int:
        """Send times, positions, velocities and accelerations; return when that was, in ns."""
        return self.recorder.send(self.model.joint_names, *rows)

    def reference(self) -> JointLog:
        """Return what the controller asks of the joints now; one row."""
        return self.recorder.references.newest(self.model.joint_names)

    def ask(self, name: str) -> None:
        """Ask the controller to hold or to float, after clearing a fault that may be there."""
        try:
            self.recorder.call_service(name)
        except StateError:
            self.recover()
            self.recorder.call_service(name)

    def recover(self) -> None:
        """Clear a fault, as soon as its cause is gone (raises as `Recorder.ask`)."""
        end = time.monotonic() + _RECOVER
        while True:
            try:
                self.recorder.call_service('reset_fault')
                return
            except StateError:
                if time.monotonic() > end:
                    raise
                self.recorder.wait(timeout=0.2)

    def news(self, heard: int = 0) -> list[str]:
        """Return the errors that the controller logged from a byte of its log on."""
        return [text for level, text in self.controller.messages(heard) if level == 'ERROR']

    def scale_gravity(self, part: float) -> None:
        """Let the controller command this part of the modelled gravity."""
        self.recorder.set_parameter(controller.NAME, 'gravity_scale', [part])
        self.gravity = part

    def scale_friction(self, part: float) -> None:
        """Let the simulated arm have this part of the URDF's friction."""
        self.recorder.set_parameter(simulator.NAME, 'friction_scale', part)

    def leave(self) -> tuple[int, int, int]:
        """
        Interrupt the controller, as Ctrl-C would.

        Returns
        -------
        begin, end : int
            When it was told and when it was gone, in ns.
        exit_code : int

        Raises
        ------
        StateError
            It does not leave.

        """
        begin = time.time_ns()
        self.controller.may_end = True
        self.controller.signal(signal.SIGINT)
        if not self.recorder.wait(lambda: self.controller.exit_code is not None, _LEAVE):
            raise StateError(f'the controller did not leave within {_LEAVE:g} s of Ctrl-C')
        return begin, time.time_ns(), self.controller.exit_code
