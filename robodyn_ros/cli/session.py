"""A simulator, a controller and a recorder as three processes on a ROS domain of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import json
import os
from pathlib import Path
import signal
import time
from types import TracebackType

import numpy as np

from robodyn_ros.cli.domain import isolate
from robodyn_ros.cli.motion import Motion
from robodyn_ros.cli.processes import Child, Children
from robodyn_ros.exceptions import StateError, TrajectoryError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import controller, simulator
from robodyn_ros.nodes.description import joint_values
from robodyn_ros.nodes.recorder import JointLog, Recorder

_START = 30.0    # s until the controller must be active
_LEAVE = 10.0    # s in which it must have left
_ANSWERED = 0.1  # s after which a state is answered, or never
_ATTEMPTS = 4    # at a motion that is refused or interrupted
_SLOWER = 1.25   # by how much it is slower after a refusal
_NEAR = 1e-3     # rad or m from its start that a motion makes up for
_REST = 0.3      # s to come to rest
_WAY = 0.95      # part of a motion that is all of it, for states that may be missed


@dataclass(frozen=True)
class Robot:
    """
    Which robot the processes load.

    Attributes
    ----------
    urdf : Path
    base, tip : str
        Links, or empty.
    locked : tuple of str
        Each as joint:position.

    """

    urdf: Path
    base: str = ''
    tip: str = ''
    locked: tuple[str, ...] = ()

    def load(self) -> RobotModel:
        """Return the model (raises as `RobotModel.from_urdf`)."""
        return RobotModel.from_urdf(self.urdf, base=self.base or None, tip=self.tip or None,
                                    locked=joint_values('--lock', self.locked))

    def parameters(self) -> dict[str, object]:
        """Return the parameters for a node."""
        values = {'urdf_file': str(self.urdf.absolute()), 'base': self.base, 'tip': self.tip,
                  'locked': list(self.locked)}
        return {name: value for name, value in values.items() if value}


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

    Attributes
    ----------
    recorder : Recorder
    simulator, controller : Child
    domain : str
        ROS_DOMAIN_ID.

    """

    def __init__(self, robot: Robot, model: RobotModel, start: np.ndarray, rate: float,
                 logs: Path, look: Callable[[], None] | None = None):
        self._robot, self._model, self._start, self._rate = robot, model, start, rate
        self._logs, self._look = logs, look
        self._children = Children()
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
        places = [f'{name}:{q!r}' for name, q in zip(self._model.joint_names,
                                                     self._start.tolist())]
        self.recorder = Recorder(self._alive)
        if self._foreign_domain:
            self._refuse_company()
        self.simulator = self._child('simulator', {
            **common, 'step': 1.0 / self._rate, 'initial_positions': places})
        self.controller = self._child('controller', common)
        # ROS may find the one long before the other
        if not self.recorder.wait(lambda: self.recorder.states and self.recorder.references,
                                  _START):
            raise StateError(f'the controller was not active within {_START:g} s; it said: '
                             + self.controller.last_words())

    def _child(self, name: str, parameters: dict[str, object]) -> Child:
        arguments = ['--ros-args']
        for key, value in parameters.items():
            # JSON is YAML, as which ROS reads it: quotes keep a path or a name a text
            arguments += ['-p', f'{key}:={json.dumps(value)}']
        return self._children.start(name, f'robodyn_ros.nodes.{name}', arguments,
                                    self._logs / f'robodyn_demo_{name}.log')

    def _alive(self) -> None:
        self._children.check()
        if self._look is not None:
            self._look()

    def _refuse_company(self) -> None:
        """Raise if an arm is there already."""
        if self.recorder.wait(lambda: self.recorder.publishers() > 0, 0.5):
            raise StateError(
                f'somebody publishes joint_states on ROS_DOMAIN_ID={self.domain}: leave that '
                'variable unset, and the demo chooses a domain where nobody is')

    def remove_logs(self) -> None:
        """Remove what the processes said."""
        for child in (self.simulator, self.controller):
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
        return (self.recorder.states.log(self._model.joint_names, begin, end),
                self.references(begin, end + round(1e9 * _ANSWERED)))

    def references(self, begin: int, end: int) -> JointLog:
        """Return what the controller said in a time, in model order."""
        return self.recorder.references.log(self._model.joint_names, begin, end)

    def terms(self, begin: int, end: int) -> dict[str, JointLog]:
        """Return the terms of the torque that were recorded in a time, in model order."""
        return {name: stream.log(self._model.joint_names, begin, end)
                for name, stream in self.recorder.terms.items()}

    def move(self, motion: Motion, settle: float) -> tuple[Motion, int, int]:
        """
        Let the controller follow a motion; again if it refuses or stops, and then more slowly.

        After a fault, which a busy machine can cause, it is made again as it is.

        Returns
        -------
        motion : Motion
            As it was followed.
        begin, end : int
            When, in ns; the end is `settle` seconds after the last point.

        Raises
        ------
        TrajectoryError
            It did not come to the end of it; with its reason.

        """
        for _ in range(_ATTEMPTS):
            self._approach(motion.start)
            heard = self.controller.log.stat().st_size
            begin = self._send(motion.times, motion.positions, motion.velocities,
                               motion.accelerations)
            self.recorder.wait(lambda: self._moves() or self.news(heard), 2.0)
            if not self.news(heard):
                self.record(motion.times[-1] + settle - 1e-9 * (time.time_ns() - begin))
            end = begin + round(1e9 * (motion.times[-1] + settle))
            reasons = self.news(heard)
            if not reasons and self._made(motion, begin, end):
                return motion, begin, end
            if any(reason.startswith('trajectory refused') for reason in reasons):
                motion = motion.stretched(_SLOWER)
            self.recorder.ask('reset_fault')
        raise TrajectoryError('the controller did not make the motion: '
                              + (reasons or ['it stopped on the way'])[-1])

    def _made(self, motion: Motion, begin: int, end: int) -> bool:
        """Return whether the reference went all the way."""
        way = np.ptp(motion.positions, axis=0)
        references = self.references(begin, end)
        return bool((np.ptp(references.position, axis=0) >= _WAY * way).all())

    def _approach(self, start: np.ndarray) -> None:
        """Go to where a motion starts, if what stopped the one before has left the arm apart."""
        reference = self.recorder.references.newest(self._model.joint_names)
        away = np.abs(reference.position[-1] - start)
        if away.max() < _NEAR:
            return
        with np.errstate(divide='ignore', invalid='ignore'):
            duration = max(1.0, 4.0 * np.nanmax(away / self._model.velocity_limit))
        self._send([duration], [start], [0.0 * start], [0.0 * start])
        self.record(duration + _REST)

    def _send(self, *rows) -> int:
        return self.recorder.send(self._model.joint_names, *rows)

    def ask(self, name: str) -> None:
        """Ask the controller to hold or to float, after clearing a fault that may be there."""
        try:
            self.recorder.ask(name)
        except StateError:
            self.recorder.ask('reset_fault')
            self.recorder.ask(name)

    def _moves(self) -> bool:
        reference = self.recorder.references.newest(self._model.joint_names)
        return bool(np.abs(reference.velocity).max() > 1e-6)

    def news(self, heard: int = 0) -> list[str]:
        """Return the errors that the controller logged from a byte of its log on."""
        return [text for level, text in self.controller.messages(heard) if level == 'ERROR']

    def scale_gravity(self, part: float) -> None:
        """Let the controller command this part of the modelled gravity."""
        self.recorder.set_parameter(controller.NAME, 'gravity_scale', [part])

    def scale_friction(self, part: float) -> None:
        """Let the simulated arm have this part of the URDF's friction."""
        self.recorder.set_parameter(simulator.NAME, 'friction_scale', part)

    def leave(self) -> tuple[int, int, float]:
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
