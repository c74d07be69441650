"""Native loop of a controller node: the control cycle in a thread of machine code."""

from __future__ import annotations

from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import ArgumentError, StateError
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.output import TorqueOutput
from robodyn_ros.nodes.controller.parameters import ControllerSettings
from robodyn_ros.nodes.controller.state_input import ControllerClock, FOREIGN, StateInput
from robodyn_ros.nodes.conversions import in_seconds, OTHER_JOINTS
from robodyn_ros.nodes.native.loop import LoopHandles, NativeLoop
from robodyn_ros.nodes.native.loop_data import LoopData, Row
from robodyn_ros.nodes.native.rcl import NativeLoopError, open_loop
from robodyn_ros.nodes.realtime import configure_thread, enter_realtime
from robodyn_ros.nodes.statistics import CycleStatistics
from robodyn_ros.safety.acceptance import FROM_STATE, REQUESTS, SILENT

HELD_UP_TEXT = 'this process was held up for {:.3f} s'


class Rows:
    """
    Reads the rows of a loop.

    Parameters
    ----------
    data : LoopData
        Programs and rows of the loop.
    controller : ArmController
        Controller of the arm; its memory becomes that of the last row.
    output : TorqueOutput
        Publishers of telemetry.
    clock : ControllerClock
        Clock of stamps.
    log : RcutilsLogger
        Logger of the node.

    Attributes
    ----------
    coasting : bool
        Whether the states are silent.
    statistics : CycleStatistics
        Durations of the cycles.

    """

    def __init__(self, data: LoopData, controller: ArmController, output: TorqueOutput,
                 clock: ControllerClock, log: RcutilsLogger):
        self._data, self._controller, self._telemetry = data, controller, output.telemetry
        self._clock, self._log = clock, log
        self._pause, self._resumes = (controller.host.place(f'acceptance.{name}')
                                      for name in ('pause', 'resumes'))
        self.coasting, self.statistics, self._count = False, CycleStatistics(), 0

    def read_all(self) -> bool:
        """Read all new rows; return whether a state was answered."""
        rows = self._data.rows()
        answered = [self._read(row) for row in rows]
        if rows:
            self._data.load_row(rows[-1])
        return any(answered)

    def _read(self, row: Row) -> bool:
        """Count a cycle and publish its telemetry; return whether it answers a state."""
        sent, self._count = row.sent != self._count, row.sent
        if row.kind == REQUESTS:
            return False
        answers = row.kind == FROM_STATE
        if sent and self._telemetry.has_subscribers:
            self._data.load_row(row)
            self._telemetry.publish(row.stamp if answers else self._stamp_of(row),
                                    self._controller.status.sent)
        self.coasting = row.kind == SILENT
        if not answers:
            return False
        if pause := row.memory[self._pause]:
            self._log.warning(HELD_UP_TEXT.format(pause))
        if row.memory[self._resumes]:
            self.statistics.restart()
        measured, passed = in_seconds(row.stamp), row.end - row.arrival
        self.statistics.add(measured or row.arrival,
                            self._clock.latency(measured, row.wall + passed), passed)
        return True

    def _stamp_of(self, row: Row) -> int:
        """Return the stamp of a torque that answers no state, in ns."""
        return self._clock.ros_stamp() if self._clock.simulated else int(1e9 * row.wall)


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
    sent : bool
        Whether the last torque was sent; after a pause of this process it is withheld.
    name : str
        Kind of the loop, as of the parameter.
    refusal, lost : str
        Reason why the loop cannot be started, or does not run any more; always empty.

    Raises
    ------
    NativeLoopError
        The platform or the middleware does not support the native loop.

    """

    name, refusal, lost = 'native', '', ''

    def __init__(self, node: Node, controller: ArmController, states: StateInput,
                 output: TorqueOutput, guard: GuardLink, clock: ControllerClock,
                 values: ControllerSettings):
        self._controller, self._states = controller, states
        self._guard, self._clock, self._values = guard, clock, values
        self._log = node.get_logger()
        handles = LoopHandles(node, states.subscription, guard.states.subscription,
                              output.publisher, guard.heartbeat.publisher, output.writer)
        self._loop = NativeLoop(controller.host, guard.turns, handles, clock.simulated)
        self._rows = Rows(self._loop.data, controller, output, clock, self._log)
        self.sent = self._lost = False
        self._errors = self._others = self._strangers = 0

    @property
    def running(self) -> bool:
        """Whether the loop runs."""
        return self._loop.running

    def start(self, statistics: CycleStatistics) -> str:
        """Start the loop; return why it cannot run, empty if it runs."""
        self._rows.statistics, self._lost = statistics, False
        heartbeat = self._guard.heartbeat
        sources = self._states.bound
        self._loop.bind('state_source', *sources if len(sources) == 1 else [b''])
        self._loop.bind('guard_source', self._guard.source)
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
                                   self._controller.status.needs_velocity)

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
        loop.data.reset_watchdog()
        loop.block['guard_subscribed'] = guard.heartbeat.subscribed
        answered = self._read_all()
        controller.cycle.check_time()
        errors = loop.block['errors']
        if errors != self._errors:
            self._errors = errors
            self._log.error('the middleware failed to wait, to take or to publish, '
                            f'{errors} times so far', throttle_duration_sec=1.0)
        self.sent = not loop.block['unsent']
        guard.update()
        if guard.turns.guard_silent:  # another one may guard from now on
            loop.bind('guard_source', b'')
        if foreign := loop.foreign:
            self._states.drop(foreign)
        if guard.problem and not controller.fault:
            controller.requests.fail(guard.problem)
        if loop.block['lost']:
            self._defer_to_guard()
        others, self._others = self._others, loop.block['others']
        if self._others != others and not answered:
            self._set_cause(OTHER_JOINTS)
        strangers, self._strangers = self._strangers, loop.block['strangers']
        if self._strangers != strangers and not answered:
            self._set_cause(FOREIGN)
        self._register_unknown()
        loop.data.submit_changes()

    @property
    def coasting(self) -> bool:
        """Whether the states are silent."""
        return self._rows.coasting

    @property
    def refused(self) -> int:
        """Return how many messages the loop could not read."""
        return self._loop.block['refused']

    def summary(self) -> dict[str, str]:
        """Return error counts since the configuration, for diagnostics."""
        block = self._loop.block
        return {'torques withheld': str(block['withheld']),
                'errors of the middleware': str(block['errors']),
                'cycles not reported': str(self._loop.data.missed)}

    def _read_all(self) -> bool:
        """Read the cycles since the last call; return whether one of them answered a state."""
        answered = self._rows.read_all()
        if answered:
            self._loop.block.set_number('cause', 0.0)
        return answered

    def _defer_to_guard(self) -> None:
        """Stop commanding while the guard commands; then resume from its last torque."""
        if not self._lost:
            self._controller.cycle.lose()
            self._loop.data.submit()
            self._lost = True
        self._rows.coasting = True
        if not self._guard.turns.guard_commands:
            self._guard.resume_from_guard(self._controller)
            self._loop.data.submit()
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
        cause = self._controller.requests.cause(problem)
        self._loop.block.set_number('cause', cause)
        self._controller.host.state.cause[()] = cause


class NoOtherLoop:
    """In place of a loop outside of Python, with the reason why there is none."""

    refusal, lost, refused = '', '', 0
    running = coasting = sent = False

    def __init__(self, reason: str):
        self.name, self._reason = f'python: {reason}', reason

    def start(self, _statistics: CycleStatistics) -> str:
        """Return the reason."""
        return self._reason

    def summary(self) -> dict[str, str]:
        """Return nothing for diagnostics."""
        return {}

    def update(self) -> None:
        """Do nothing."""

    stop = close = update


def open_native(node: Node, controller: ArmController, states: StateInput, output: TorqueOutput,
                guard: GuardLink, clock: ControllerClock, values: ControllerSettings
                ) -> NativeControl | NoOtherLoop:
    """Return the native loop, or the reason why there is none; see `open_loop`."""
    problem = ('lockstep is set' if values.lockstep else
               'publish_joint_commands is set' if values.command.publish_joint_commands else '')
    native, reason = open_loop(values.loop, problem, lambda: NativeControl(
        node, controller, states, output, guard, clock, values))
    return native or NoOtherLoop(reason)
