"""Native loop of a controller node: the control cycle in a thread of machine code."""

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
from robodyn_ros.nodes.conversions import in_seconds, OTHER_JOINTS
from robodyn_ros.nodes.native.choice import open_loop
from robodyn_ros.nodes.native.loop import NativeLoop, Row, Wires
from robodyn_ros.nodes.native.rcl import NativeLoopError
from robodyn_ros.nodes.realtime import configure_thread, enter_realtime
from robodyn_ros.nodes.statistics import CycleStatistics

HELD_UP = 'this process was held up for {:.3f} s'
_SOON, _SELDOM = 0.002, 0.005  # s between updates: with subscribers or linear feedback, without


class NativeControl:
    """
    Runs the cycle of a controller in machine code, and reads its results.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm; its memory is a copy of the loop's while the loop runs.
    states : StateInput
        Joint states.
    output : TorqueOutput
        Publishers of torques.
    guard : GuardLink
        Connection to the guard.
    clock : ControllerClock
        Clock of stamps.
    values : ControllerSettings
        Parameters of the node.

    Attributes
    ----------
    coasting : bool
        Whether the states are silent.
    sent : bool
        Whether the last torque was sent; after a pause of this process it is withheld.

    Raises
    ------
    NativeLoopError
        The platform or the middleware does not support the native loop.

    """

    def __init__(self, node: Node, controller: ArmController, states: StateInput,
                 output: TorqueOutput, guard: GuardLink, clock: ControllerClock,
                 values: ControllerSettings):
        self._controller, self._states, self._output = controller, states, output
        self._guard, self._clock, self._values = guard, clock, values
        self._log = node.get_logger()
        wires = Wires(node, states.subscription, guard.state_subscription, output.publisher,
                      guard.heartbeat.publisher, output.message, output.order)
        self._loop = NativeLoop(
            controller.host, guard.deference, wires, clock.simulated,
            1.0 / values.fixed_rate if values.fixed_rate else math.inf, values.loop_patience)
        self._pause, self._resumes = (controller.host.place(f'acceptance.{name}')
                                      for name in ('pause', 'resumes'))
        self.coasting = self.sent = self._lost = False
        self._count = self._errors = self._others = 0
        self._statistics = CycleStatistics()

    @property
    def running(self) -> bool:
        """Whether the loop runs."""
        return self._loop.running

    def start(self, statistics: CycleStatistics) -> str:
        """Start the loop; return why it cannot run, empty if it runs."""
        self._statistics, self._lost = statistics, False
        heartbeat = self._guard.heartbeat
        problem = next(filter(None, map(self._register, self._states.layouts)), '')
        if not problem:
            try:
                thread = self._loop.start(heartbeat.next_stamp(), heartbeat.subscribed)
            except NativeLoopError as error:
                problem = str(error)
        if not problem:
            configure_thread(thread, self._values.realtime)
        elif self._values.loop == 'native':
            raise StateError(f'loop: native is not possible: {problem}; set loop to auto')
        else:  # real-time settings were not yet applied to the threads of Python
            enter_realtime(self._values.realtime)
        return problem

    def _register(self, layout) -> str:
        return self._loop.register(layout, self._controller.model.joint_names,
                                   self._controller.needs_velocity)

    def stop(self) -> None:
        """Stop the loop, if it runs."""
        if not self.running:
            return
        self._loop.stop()
        self._guard.heartbeat.resume_after(self._loop.block['heartbeat_stamp'])
        self._read_all()

    def close(self) -> None:
        """Release the resources of the loop."""
        self._loop.close()

    def update(self) -> None:
        """Read the results of the loop, and do what the loop leaves to Python."""
        loop, guard, controller = self._loop, self._guard, self._controller
        loop.reset_watchdog()
        loop.block['guard_subscribed'] = guard.heartbeat.subscribed
        answered = self._read_all()
        controller.check_time()
        errors = loop.block['errors']
        if errors != self._errors:
            self._errors = errors
            self._log.error('the middleware failed to wait, to take or to publish, '
                            f'{errors} times so far', throttle_duration_sec=1.0)
        self.sent = not loop.block['unsent']
        guard.update()
        if guard.problem and not controller.fault:
            controller.fail(guard.problem)
        if loop.block['lost']:
            self._defer_to_guard()
        others, self._others = self._others, loop.block['others']
        if self._others != others and not answered:
            self._set_cause(OTHER_JOINTS)
        self._register_unknown()
        loop.submit_changes()

    @property
    def pause(self) -> float:
        """Time until the next update, in s."""
        urgent = self._output.has_subscribers or self._controller.mode is Mode.LINEAR_FEEDBACK
        return _SOON if urgent else _SELDOM

    @property
    def refused(self) -> int:
        """Return how many messages the loop could not read."""
        return self._loop.block['refused']

    def summary(self) -> dict[str, str]:
        """Return error counts since the configuration, for diagnostics."""
        block = self._loop.block
        return {'torques withheld': str(block['withheld']),
                'errors of the middleware': str(block['errors']),
                'cycles not reported': str(self._loop.missed)}

    def _read_all(self) -> bool:
        """Read the cycles since the last call; return whether one of them answered a state."""
        rows = self._loop.rows()
        for row in rows:
            self._read(row)
        if rows:
            self._loop.load_row(rows[-1])
        return any(row.kind == FROM_STATE for row in rows)

    def _read(self, row: Row) -> None:
        """Count a cycle of the loop, and publish its telemetry."""
        sent, self._count = row.sent != self._count, row.sent
        if row.kind == REQUESTS:
            return
        answers = row.kind == FROM_STATE
        if sent and self._output.has_subscribers:
            self._loop.load_row(row)
            self._output.publish_telemetry(self._controller.sent,
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
        """Return the stamp of a torque that answers no state, in ns."""
        return self._clock.ros_stamp() if self._clock.simulated else int(1e9 * row.wall)

    def _defer_to_guard(self) -> None:
        """Stop commanding while the guard commands; then resume from its last torque."""
        if not self._lost:
            self._controller.lose()
            self._loop.submit()
            self._lost = True
        self.coasting = True
        if not self._guard.commands:
            self._guard.resume_from_guard(self._controller)
            self._loop.submit()
            self._loop.block['lost'] = 0
            self._lost = False

    def _register_unknown(self) -> None:
        """Register the layout of a message that the loop could not read."""
        data = self._loop.unknown_message()
        if data is None:
            return
        try:
            layout, problem = self._states.inspect(data)
        except ArgumentError as error:
            problem = str(error)
        else:
            reason = self._register(layout)
            problem = reason and (problem or reason)
        self._set_cause(problem)

    def _set_cause(self, problem: str) -> None:
        """Set why no state is used, for the text about the silence."""
        cause = self._controller.cause(problem)
        self._loop.block.set_number('cause', cause)
        self._controller.host.state.cause[()] = cause


def open_native(node: Node, controller: ArmController, states: StateInput, output: TorqueOutput,
                guard: GuardLink, clock: ControllerClock, values: ControllerSettings
                ) -> tuple[NativeControl | None, str]:
    """Return the native loop, None if it does not run, and the reason; see `open_loop`."""
    problem = ('lockstep is set' if values.lockstep else
               'publish_joint_commands is set' if values.command.publish_joint_commands else
               'own_law is a law in Python' if controller.has_python_law else '')
    return open_loop(values.loop, problem, lambda: NativeControl(
        node, controller, states, output, guard, clock, values))
