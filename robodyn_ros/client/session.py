"""A simulator and a controller as processes on a separate ROS domain, with a recorder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import json
import os
from pathlib import Path
import signal
import time
from types import TracebackType
from typing import cast, TypeVar

import numpy as np

from robodyn_ros.client.recorder import JointLog, Recorder
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.nodes.children import Child, Children
from robodyn_ros.nodes.controller import node as controller
from robodyn_ros.nodes.domain import isolate
from robodyn_ros.nodes.simulator import node as simulator
from robodyn_ros.simulation.motion import STIFFNESS

_START = 30.0    # s until the controller must be active
_EXIT = 10.0     # s until it must have exited
_ANSWERED = 0.1  # s after which no reference follows a state
_RECOVER = 10.0  # s that the cause of a fault may last

_Session = TypeVar('_Session', bound='Session')


class Session:
    """
    Processes of a simulated arm, which run in a `with` block.

    Parameters
    ----------
    robot : Robot
        Robot that is simulated and controlled.
    model : RobotModel
        Its model.
    start : (nv,) array
        Initial position of the arm.
    rate : float
        Steps of the simulation and joint states, in Hz.
    logs : Path
        Folder of the log files.
    on_wait : callable, optional
        Called many times per second while waiting.
    everything : bool
        Whether to record all topics of a bag.

    Attributes
    ----------
    model : RobotModel
    recorder : Recorder
    simulator, controller : Child
    domain : str
        ROS_DOMAIN_ID.
    gravity : float
        Scale of the modelled gravity in the torque of the controller.

    """

    def __init__(self, robot: Robot, model: RobotModel, start: np.ndarray, rate: float,
                 logs: Path, on_wait: Callable[[], None] | None = None,
                 everything: bool = False):
        self._robot, self.model, self._start, self._rate = robot, model, start, rate
        self._logs, self._on_wait, self._everything = logs, on_wait, everything
        self._children = Children()
        self._extra: list[Child] = []
        self.gravity = 1.0
        self._domain_is_given = bool(os.environ.get('ROS_DOMAIN_ID'))
        self.domain = isolate()

    def __enter__(self: _Session) -> _Session:
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
            A process has ended, with its last message; or the time limit is exceeded.

        """
        common = self._robot.parameters()
        positions = [f'{name}:{q!r}' for name, q in zip(self.model.joint_names,
                                                        self._start.tolist())]
        self.recorder = Recorder(self._alive, self._everything)
        if self._domain_is_given:
            self._check_no_other_arm()
        self.simulator = self._child('simulator', {
            **common, 'step': 1.0 / self._rate, 'initial_positions': positions})
        self.start_controller()

    def start_controller(self) -> None:
        """Start the controller, and wait until it holds the arm (raises as `start`)."""
        recorder = self.recorder
        before = len(recorder.references)
        # the arm is its model, with friction that looks invented, and what is shown begins at once
        self.controller = self._child('controller', {
            **self._robot.parameters(), 'natural_frequency': [STIFFNESS],
            'friction.viscous': self.model.damping.tolist(),
            'friction.coulomb': self.model.friction.tolist(), 'measure_loop': False})
        # ROS may discover one of the two topics long before the other
        if not recorder.wait(lambda: recorder.states and len(recorder.references) > before,
                             _START):
            raise StateError(f'the controller was not active within {_START:g} s; its last '
                             f'message: {self.controller.last_message()}; all messages: '
                             + ', '.join(map(str, self.log_files())))

    def start_extra(self, name: str, module: str, arguments: Sequence[str]) -> Child:
        """Start another process, which is stopped with these and may end before."""
        child = self._children.start(name, module, arguments, self._log_of(name))
        child.may_end = True
        self._extra.append(child)
        return child

    def sleep(self, seconds: float) -> None:
        """Wait without recording (raises if a process has ended)."""
        self._children.check()
        time.sleep(seconds)

    def _child(self, name: str, parameters: dict[str, object]) -> Child:
        arguments = ['--ros-args']
        for key, value in parameters.items():
            # ROS parses it as YAML; JSON quotes keep a path or a name a string
            arguments += ['-p', f'{key}:={json.dumps(value)}']
        return self._children.start(name, f'robodyn_ros.nodes.{name}.node', arguments,
                                    self._log_of(name))

    def _log_of(self, name: str) -> Path:
        return self._logs / f'robodyn_demo_{name}.log'

    def _alive(self) -> None:
        self._children.check()
        if self._on_wait is not None:
            self._on_wait()

    def _check_no_other_arm(self) -> None:
        """Raise if joint states are published already."""
        if self.recorder.wait(lambda: self.recorder.publishers() > 0, 0.5):
            raise StateError(
                f'another node publishes joint_states on ROS_DOMAIN_ID={self.domain}: leave that '
                'variable unset, and the demo chooses an unused domain')

    def log_files(self) -> list[Path]:
        """Return the paths of the log files of processes that were started."""
        started = (getattr(self, name, None) for name in ('simulator', 'controller'))
        return [child.log for child in (*started, *self._extra) if child is not None]

    def remove_logs(self) -> None:
        """Remove the log files."""
        for log in self.log_files():
            log.unlink(missing_ok=True)

    def record(self, duration: float) -> tuple[int, int]:
        """Record for a time in s; return begin and end in ns."""
        begin = time.time_ns()
        self.recorder.wait(timeout=duration)
        end = time.time_ns()
        self.recorder.wait(timeout=_ANSWERED)
        return begin, end

    def logs(self, begin: int, end: int) -> tuple[JointLog, JointLog]:
        """Return the joint states of an interval and the references for them, in model order."""
        return (self.recorder.states.log(self.model.joint_names, begin, end),
                self.references(begin, end + round(1e9 * _ANSWERED)))

    def references(self, begin: int, end: int) -> JointLog:
        """Return the references of an interval, in model order."""
        return self.recorder.references.log(self.model.joint_names, begin, end)

    def terms(self, begin: int, end: int) -> dict[str, JointLog]:
        """Return the torque terms of an interval, in model order."""
        return {name: stream.log(self.model.joint_names, begin, end)
                for name, stream in self.recorder.terms.items()}

    def send(self, *rows) -> int:
        """Send times, positions, velocities and accelerations; return the time in ns."""
        return self.recorder.send_motion(self.model.joint_names, *rows)

    def reference(self) -> JointLog:
        """Return the newest reference of the controller; one row."""
        return self.recorder.references.newest(self.model.joint_names)

    def call(self, name: str) -> None:
        """Call ~/hold or ~/float of the controller; reset a fault if necessary."""
        try:
            self.recorder.call(name)
        except StateError:
            self.recover()
            self.recorder.call(name)

    def recover(self) -> None:
        """Reset a fault as soon as its cause is gone (raises as `Connection.call`)."""
        end = time.monotonic() + _RECOVER
        while True:
            try:
                self.recorder.call('reset_fault')
                return
            except StateError:
                if time.monotonic() > end:
                    raise
                self.recorder.wait(timeout=0.2)

    def errors(self, start: int = 0) -> list[str]:
        """Return the errors that the controller logged from a byte of its log on."""
        return [text for level, text in self.controller.messages(start) if level == 'ERROR']

    def scale_gravity(self, scale: float) -> None:
        """Set the scale of the modelled gravity in the torque of the controller."""
        self.recorder.set_parameter(controller.NAME, 'gravity_scale', [scale])
        self.gravity = scale

    def scale_friction(self, scale: float) -> None:
        """Set the scale of the URDF's friction in the simulation."""
        self.recorder.set_parameter(simulator.NAME, 'friction_scale', scale)

    def interrupt_controller(self) -> tuple[int, int, int]:
        """
        Send SIGINT to the controller, as Ctrl-C does, and wait until it has exited.

        Returns
        -------
        begin, end : int
            Times of the signal and of the exit, in ns.
        exit_code : int

        Raises
        ------
        StateError
            The controller does not exit.

        """
        begin = time.time_ns()
        self.controller.may_end = True
        self.controller.signal(signal.SIGINT)
        if not self.recorder.wait(lambda: self.controller.exit_code is not None, _EXIT):
            raise StateError(f'the controller did not exit within {_EXIT:g} s of Ctrl-C')
        return begin, time.time_ns(), cast(int, self.controller.exit_code)
