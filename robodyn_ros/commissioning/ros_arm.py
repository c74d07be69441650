"""The arm behind ROS topics: starts the controller node, sends motions, and records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.client.live_check import observe
from robodyn_ros.client.sender import Sender
from robodyn_ros.commissioning.work import Values
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.files import parameter_file
from robodyn_ros.identification.recording import Run
from robodyn_ros.inspection.live import judge, LiveResult
from robodyn_ros.model import Payload, RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.nodes.children import Child, Children
from robodyn_ros.nodes.controller import node as controller
from robodyn_ros.nodes.controller.other_commanders import OTHER_COMMANDER

_START = 60.0   # s until the controller must be active; compilation included
_REFUSALS = 5    # lines, one in 2 s, with which it says what it waits for
_DISCOVERY = 1.0  # s until a controller that runs already is discovered
_STALLED = 30.0  # s without new states after which the recording has failed
_LISTEN = 2.0   # s of the live check
_SETTLE = 0.5   # s after a request to hold
_NS = 1e-9
_PLAUSIBLE = 1.0  # s, longest time from the stamp of a state to its torque


class RosArm:
    """
    Implements `arm.Arm` with the nodes.

    Parameters
    ----------
    robot : Robot
        Selection of the robot, but for its URDF.
    model : RobotModel
    folder : Path
        Folder for the log and the parameters of the controller.
    tick : callable
        Called many times per second while waiting.
    lockstep : bool
        Whether the arm is a simulator in lockstep.
    enclave : str
        SROS 2 enclave with the keys; '' for none.
    gravity_in_driver : bool
        Whether the driver compensates gravity.
    namespace : str
        Namespace of the arm and its controller.

    """

    def __init__(self, robot: Robot, model: RobotModel, folder: Path, tick: Callable[[], None],
                 lockstep: bool = False, enclave: str = '', gravity_in_driver: bool = False,
                 namespace: str = ''):
        self._robot, self._model, self._folder = robot, model, folder
        self._tick, self._lockstep, self._enclave = tick, lockstep, enclave
        self._gravity_in_driver, self._namespace = gravity_in_driver, namespace.strip('/')
        self._children = Children()
        self._controller: Child | None = None
        self._running: Sender | None = None
        self._active, self._starts = False, 0

    @property
    def _sender(self) -> Sender:
        """Return the recorder of the running controller; raise `StateError` if none runs."""
        if self._running is None:
            raise StateError('no controller was started')
        return self._running

    def check_live(self, dynamics: Dynamics) -> LiveResult | None:
        """Return the findings of the live check; None for simulated time."""
        if self._lockstep:
            return None
        seen = observe('joint_states', 'effort_controller/commands', _START, _LISTEN, self._tick,
                       self._enclave, self._namespace)
        return judge(dynamics, seen, self._gravity_in_driver)

    def start(self, urdf: Path, values: Values) -> None:
        """
        Start the controller, and wait until it holds the arm.

        One that runs holds the arm until the new one is ready, which then takes over.
        """
        robot = replace(self._robot, urdf=urdf)
        given = {**robot.parameters(), **values, **({
            'lockstep': True, 'publish_joint_commands': True} if self._lockstep else {})}
        order = sorted(given, key=lambda name: '.' not in name)
        path = self._folder / 'controller.yaml'
        path.write_text(parameter_file({name: given[name] for name in order}, []),
                        encoding='utf-8')
        before = self._controller
        if before is None:
            self._running = self._sender_of_arm()
            self._check_alone(0)
        self._starts += 1
        child = self._children.start(
            'controller', 'robodyn_ros.nodes.controller.node',
            ['--ros-args', *(['-r', f'__ns:=/{self._namespace}'] if self._namespace else []),
             '--params-file', str(path)],
            self._folder / f'controller{self._starts if before else ""}.log')
        if before is not None:
            self._hand_over(before, child)
        self._controller = child
        recorder = self._sender.recorder
        recorder.wait(lambda: recorder.states and recorder.references or _refuses(child), _START)
        if not (recorder.states and recorder.references):
            raise StateError('the controller does not hold the arm: ' + child.last_message())
        self._check_alone(1)
        self._active = True
        if not self._lockstep:
            self._sender.wait_for_loop()

    def _hand_over(self, before: Child, after: Child) -> None:
        """End a controller that holds the arm when the next one waits for nothing else."""
        recorder = self._sender.recorder
        try:
            if not recorder.wait(lambda: any(text.startswith(f'waiting: {OTHER_COMMANDER}')
                                             for _, text in after.messages()), _START):
                raise StateError('the new controller does not become ready, the present one '
                                 f'holds the arm: {after.last_message()}')
        except BaseException:
            after.may_end = True
            after.stop()
            raise
        before.may_end, self._active = True, False
        before.stop()
        recorder.states.messages.clear()
        recorder.references.messages.clear()

    def loop(self) -> list[str]:
        """Return what the controller found when it measured the loop, as lines."""
        return [] if self._lockstep else self._sender.loop()

    def _check_alone(self, own: int) -> None:
        """Raise `StateError` if another controller runs: its references would be recorded."""
        recorder = self._sender.recorder
        alone = (recorder.wait(lambda: recorder.controllers() <= own, _DISCOVERY) if own else
                 not recorder.wait(recorder.controllers, _DISCOVERY))
        if not alone:
            raise StateError(f'another {controller.NAME} runs already: end it, as commissioning '
                             'starts its own')

    def _sender_of_arm(self) -> Sender:
        return Sender(self._model, False, self._poll, self._enclave, self._namespace)

    def attach(self) -> None:
        """Use the controller that runs already; raise `StateError` if there is none."""
        self._running = self._sender_of_arm()
        self._sender.wait_for_controller()

    def publish_payload(self, payload: Payload) -> None:
        """Report a payload to controller and guard."""
        self._sender.recorder.publish_payload(payload)

    def change(self, values: Values) -> None:
        """Set parameters of the running controller."""
        for name, value in values.items():
            self._sender.recorder.set_parameter(controller.NAME, name, value)

    def execute(self, points: tuple[NDArray, ...]) -> Run:
        """Execute a motion, and record it."""
        self._clear()
        shortfall = self._sender.execute(points)
        return self._run(shortfall)

    def watch(self, seconds: float, floats: bool = False) -> Run:
        """Record the resting or floating arm for a time of its clock, in s."""
        recorder = self._sender.recorder
        self._clear()
        if floats:
            recorder.call('float')
        self._wait(seconds)
        run = self._run('')
        if floats:
            recorder.call('hold')
            self._wait(_SETTLE)
        return run

    def hold(self) -> bool:
        """Decelerate and hold, if the controller is active; return whether it is."""
        if not self._active or self._controller is None or self._controller.exit_code is not None:
            return False
        self._sender.recorder.call('hold')
        return True

    def stop(self) -> None:
        """End the controller: it brings the arm to rest, and leaves its gravity torque."""
        self._children.stop()
        self._controller, self._active = None, False
        self.close()

    def close(self) -> None:
        """End the recording, and leave the controller as it is."""
        if self._running is not None:
            self._running.recorder.close()
            self._running = None

    def _poll(self) -> None:
        self._children.check()
        self._tick()

    def _clear(self) -> None:
        self._sender.restart()

    def _wait(self, seconds: float) -> None:
        """Wait until the stamps of the states have advanced by a time."""
        recorder, names = self._sender.recorder, self._model.joint_names
        begin: list[int] = []

        def over() -> bool:
            newest = recorder.states.newest(names).stamp
            begin.extend(newest[:1 - len(begin)])
            return bool(begin) and len(newest) > 0 and _NS * (newest[0] - begin[0]) >= seconds

        if not recorder.wait(over, _STALLED + 20.0 * seconds):
            raise StateError('the joint states have stopped: look at the driver')

    def _run(self, shortfall: str) -> Run:
        """Return what was recorded since the last `_clear`."""
        recorder, names = self._sender.recorder, self._model.joint_names
        states, references = recorder.states.log(names), recorder.references.log(names)
        _, first = np.unique(states.stamp, return_index=True)
        shared, a, b = np.intersect1d(states.stamp[first], references.stamp,
                                      return_indices=True)
        if len(shared) < 2:
            raise RobodynError('no references of the controller were recorded')
        a = first[a]
        latency = _NS * float(np.median(references.sent[b] - references.stamp[b]))
        simulated = self._lockstep or not 0.0 <= latency < _PLAUSIBLE
        return Run(_NS * (shared - shared[0]), references.position[b], states.position[a],
                   states.velocity[a], states.effort[a], references.effort[b],
                   0.0 if simulated else latency, shortfall)


def _refuses(controller: Child) -> bool:
    """Return whether a controller goes on waiting for anything but the end of another one."""
    waits = [text for _, text in controller.messages() if text.startswith('waiting: ')]
    return sum(not text.startswith(f'waiting: {OTHER_COMMANDER}') for text in waits) > _REFUSALS
