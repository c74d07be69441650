"""The loop in machine code between the topics of a controller node, where it can run."""

from __future__ import annotations

import math

from rclpy.node import Node

from robodyn_ros.control import ArmController, Mode
from robodyn_ros.control.state import FROM_STATE, REQUESTS, SILENT
from robodyn_ros.exceptions import ArgumentError, StateError
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.parameters import ControllerSettings
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.controller.torque_output import TorqueOutput
from robodyn_ros.nodes.conversions import in_seconds
from robodyn_ros.nodes.native.choice import open_loop
from robodyn_ros.nodes.native.loop import NativeLoop, Row, Wires
from robodyn_ros.nodes.native.rcl import NativeLoopError
from robodyn_ros.nodes.realtime import bring_on_time, enter_realtime
from robodyn_ros.nodes.statistics import CycleStatistics

HELD_UP = 'this process was held up for {:.3f} s'
# s between two looks at what the loop has done: while somebody waits for what comes of them, else
_SOON, _SELDOM = 0.002, 0.005


class NativeControl:
    """
    Runs the cycle of a controller in machine code, and reads what it does.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Its memory is a copy of that of the loop, while this runs.
    states : StateInput
        Where joint states come from.
    output : TorqueOutput
        Where torques go.
    guard : GuardLink
        Who else may command.
    clock : ControllerClock
        Of stamps.
    values : ControllerSettings
        The parameters.

    Attributes
    ----------
    coasting : bool
        Whether the states are silent.
    sent : bool
        Whether the last torque was sent; after a pause of this process it is held back.

    Raises
    ------
    NativeLoopError
        It cannot run here.

    """

    def __init__(self, node: Node, controller: ArmController, states: StateInput,
                 output: TorqueOutput, guard: GuardLink, clock: ControllerClock,
                 values: ControllerSettings):
        self._controller, self._states, self._output = controller, states, output
        self._guard, self._clock, self._values = guard, clock, values
        self._log = node.get_logger()
        wires = Wires(node, states.subscription, guard.words, output.publisher,
                      guard.heartbeat.publisher, output.message, output.order)
        self._loop = NativeLoop(
            controller.host, guard.deference, wires, clock.simulated,
            1.0 / values.fixed_rate if values.fixed_rate else math.inf, values.loop_patience)
        self._pause, self._resumes = (controller.host.place(f'acceptance.{name}')
                                      for name in ('pause', 'resumes'))
        self.coasting = self.sent = self._lost = False
        self._count = self._errors = 0
        self._statistics = CycleStatistics()

    @property
    def running(self) -> bool:
        """Whether the loop has the arm."""
        return self._loop.running

    def start(self, statistics: CycleStatistics) -> str:
        """Let the loop have the arm; return why it cannot, empty if it has."""
        self._statistics, self._lost = statistics, False
        heartbeat = self._guard.heartbeat
        problem = next(filter(None, map(self._register, self._states.layouts)), '')
        if not problem:
            try:
                thread = self._loop.start(heartbeat.next_stamp(), heartbeat.heard)
            except NativeLoopError as error:
                problem = str(error)
        if not problem:
            bring_on_time(thread, self._values.realtime)
        elif self._values.loop == 'native':
            raise StateError(f'loop is native, which cannot be: {problem}; set loop to auto')
        else:  # what was asked of Linux was not for threads of Python
            enter_realtime(self._values.realtime)
        return problem

    def _register(self, layout) -> str:
        return self._loop.register(layout, self._controller.model.joint_names,
                                   self._controller.needs_velocity)

    def stop(self) -> None:
        """End the loop, if it runs."""
        if not self.running:
            return
        self._loop.stop()
        self._guard.heartbeat.go_on(self._loop.block['beat_stamp'])
        self._read_all()

    def close(self) -> None:
        """Give back what the loop has."""
        self._loop.close()

    def turn(self) -> None:
        """Read what the loop has done, and act on what it leaves to Python."""
        loop, guard, controller = self._loop, self._guard, self._controller
        loop.attend()
        loop.block['heard'] = guard.heartbeat.heard
        self._read_all()
        controller.check_time()
        errors = loop.block['errors']
        if errors != self._errors:
            self._errors = errors
            self._log.error('the middleware has refused to wait, to take or to publish, '
                            f'{errors} times so far', throttle_duration_sec=1.0)
        self.sent = not loop.block['unsent']
        guard.follow()
        if guard.complaint and not controller.fault:
            controller.fail(guard.complaint)
        if loop.block['lost']:
            self._give_way()
        self._read_strange()
        loop.submit_changes()

    @property
    def pause(self) -> float:
        """Time until the next turn, in s."""
        waited = self._output.listened or self._controller.mode is Mode.LINEAR_FEEDBACK
        return _SOON if waited else _SELDOM

    @property
    def refused(self) -> int:
        """Return how many messages the loop could not read."""
        return self._loop.block['refused']

    def summary(self) -> dict[str, str]:
        """Return what went wrong since the configuration, for diagnostics."""
        block = self._loop.block
        return {'torques withheld': str(block['withheld']),
                'errors of the middleware': str(block['errors']),
                'cycles not reported': str(self._loop.missed)}

    def _read_all(self) -> None:
        rows = self._loop.rows()
        for row in rows:
            self._read(row)
        if rows:
            self._loop.show(rows[-1])

    def _read(self, row: Row) -> None:
        """Count a turn of the loop, and publish what it was about."""
        sent, self._count = row.sent != self._count, row.sent
        if row.kind == REQUESTS:
            return
        answers = row.kind == FROM_STATE
        if sent and self._output.listened:
            self._loop.show(row)
            self._output.tell(self._controller.sent,
                              row.stamp if answers else self._stamp_of(row))
        self.coasting = row.kind == SILENT
        if not answers:
            return
        self._loop.block.set_number('cause', 0.0)
        if pause := row.memory[self._pause]:
            self._log.warning(HELD_UP.format(pause))
        if row.memory[self._resumes]:
            self._statistics.restart()
        measured, passed = in_seconds(row.stamp), row.end - row.arrival
        self._statistics.add(measured or row.arrival,
                             self._clock.latency(measured, row.wall + passed), passed)

    def _stamp_of(self, row: Row) -> int:
        """Return the stamp of what answers no state, in ns."""
        return self._clock.ros_stamp() if self._clock.simulated else int(1e9 * row.wall)

    def _give_way(self) -> None:
        """Let the guard command; begin again with its last torque when it gives the arm back."""
        if not self._lost:
            self._controller.lose()
            self._loop.submit()
            self._lost = True
        self.coasting = True
        if not self._guard.commands:
            self._guard.take_back(self._controller)
            self._loop.submit()
            self._loop.block['lost'] = 0
            self._lost = False

    def _read_strange(self) -> None:
        """Let the loop know the layout of a message that it could not read."""
        data = self._loop.strange()
        if data is None:
            return
        try:
            layout, problem = self._states.inspect(data)
        except ArgumentError as error:
            problem = str(error)
        else:
            reason = self._register(layout)
            problem = reason and (problem or reason)
        cause = self._controller.cause(problem)
        self._loop.block.set_number('cause', cause)
        self._controller.host.state.cause[()] = cause  # for what is told of the silence


def open_native(node: Node, controller: ArmController, states: StateInput, output: TorqueOutput,
                guard: GuardLink, clock: ControllerClock, values: ControllerSettings
                ) -> tuple[NativeControl | None, str]:
    """Return the loop in machine code, if it is to run, and why not, see `open_loop`."""
    problem = ('lockstep is set' if values.lockstep else
               'publish_joint_commands is set' if values.command.publish_joint_commands else
               'own_law is a law in Python' if controller.has_python_law else '')
    return open_loop(values.loop, problem, lambda: NativeControl(
        node, controller, states, output, guard, clock, values))
