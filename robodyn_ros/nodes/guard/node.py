"""
The guard node: takes over an arm whose controller falls silent.

A process of its own, small, and without the code that it does not trust: it watches the heartbeat
of the controller, and when that stops it commands the weight of the arm and damping itself, and
holds the arm where it comes to rest. It keeps the arm until it is asked to give it back.
"""

from __future__ import annotations

from collections.abc import Sequence
import sys
import time

from rclpy.exceptions import InvalidTopicNameException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import with_slots
from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.nodes.compilation import compilation_logged
from robodyn_ros.nodes.containment import contained, serve_once
from robodyn_ros.nodes.description import load_robot
from robodyn_ros.nodes.guard.configuration_check import ConfigurationCheck
from robodyn_ros.nodes.guard.fallback import Fallback
from robodyn_ros.nodes.guard.parameters import GuardSettings
from robodyn_ros.nodes.guard.report import GuardReport
from robodyn_ros.nodes.guard.topics import CommandPublisher, ControllerMonitor, StateSubscriber
from robodyn_ros.nodes.guard.torque import GuardTorque
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.process import run_process, StopRequest
from robodyn_ros.nodes.realtime import configure_realtime
from robodyn_ros.safety import Freshness, Guard, GuardState

NAME = 'guard'
_SLICES = 5     # looks in the timeout while all is well
_COAST = 0.005  # s between torques while no state comes
_CHORES = 0.05  # s between looks at services and timers


class GuardNode(Node):
    """
    Watches, and takes over.

    Attributes
    ----------
    guard : Guard
        Who commands.
    torque : GuardTorque
        What the guard commands.
    states : StateSubscriber
        What it sees of the arm.

    """

    def __init__(self):
        super().__init__(NAME)
        self._table = Parameters(self, GuardSettings, self._check_change, self._change)
        self._table.refuse_unknown()
        values = self._table.values
        model = with_slots(load_robot(self, values.robot).model)  # as the controller's
        with compilation_logged(self.get_logger(), model.name):
            self.torque = GuardTorque(Dynamics(model), values)
        self.guard = Guard(values.timeout, values.patience)
        try:
            self._controller = ControllerMonitor(self, model, values)
            self.states = StateSubscriber(self, model, values)
            self._commands = CommandPublisher(self, model, values)
            self._configuration = ConfigurationCheck(
                self, model, values, self._commands.command_topic)
        except InvalidTopicNameException as error:
            reason = str(error).splitlines()[0].rstrip(':')
            raise ParameterError(f'controller is {values.controller!r}, effort_command_topic is '
                                 f'{values.command.effort_command_topic!r}: {reason}') from error
        self._fallback = Fallback(self, values)
        self._period = values.timeout / _SLICES
        self._told = 0.0
        self.create_service(Trigger, '~/reset', self._reset)
        self._report = GuardReport(self, model.name, values.controller)
        configure_realtime(self, values.realtime)
        self.get_logger().info(f'{model.name}: watches {values.controller}, takes over after '
                               f'{values.timeout:g} s of silence')

    # --- the loop ---------------------------------------------------------------------------

    def work(self, stop: StopRequest) -> None:
        """Guard until a signal comes."""
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(self)
        chores = 0.0
        try:
            while not stop.requested and self.context.ok():
                self.turn()
                now = time.monotonic()
                if now >= chores:
                    chores = now + _CHORES
                    serve_once(executor, self.get_logger())
        finally:
            self._leave()
            executor.shutdown(timeout_sec=1.0)

    def turn(self) -> None:
        """Wait for the next moment that matters, and do what is due."""
        guard, before, reason = self.guard, self.guard.state, self.guard.reason
        log = self.get_logger()
        if guard.in_charge:
            new = contained(log, self.states.look, _COAST, otherwise=False)
        else:
            time.sleep(self._period)
            self.states.reader.accept_next()
            new = contained(log, self.states.look, otherwise=False)
        if new:
            self.torque.see(self.states.reader.q)
        contained(log, self._controller.listen, guard, self.torque)
        self._configuration.listen(guard, self.torque)
        now = time.monotonic()
        state = guard.update(now, self.states.reader.complete)
        # a controller that commands by now would give way to what a guard publishes too early
        if not guard.observing and (state is not before or now - self._told >= self._period):
            self._told = now
            self._commands.tell(state, self._controller.stamp)
        if state is not before or (state is GuardState.REFUSING and guard.reason != reason):
            self._enter(state, before, now)
        if guard.commands:
            self._command(new, now)

    def _enter(self, state: GuardState, before: GuardState, now: float) -> None:
        """Say what has changed, and begin to command where the controller ended."""
        guard, log = self.guard, self.get_logger()
        if state is GuardState.REFUSING:
            # two calls: rclpy refuses another severity from the same line
            if self._configuration.known:
                log.error(f'{state.value}: {guard.reason}')
            else:
                log.info(f'{state.value}: {guard.reason}')
            return
        if state is not GuardState.COMMANDING:
            log.info(f'{state.value}: {guard.reason}')
            return
        log.error(f'the guard commands the arm: {guard.reason}')
        if before is GuardState.ARMED:
            reader = self.states.reader
            self.torque.start(now, reader.q, self.states.qd, self._controller.torque)
            self._fallback.switch()

    def _command(self, new: bool, now: float) -> None:
        """Send a torque: for a new state, or because none comes."""
        reader = self.states.reader
        fresh = self.states.verdict().level is Freshness.FRESH
        if new and fresh:
            self._commands.command(self.torque.moving(now, reader.q, self.states.qd), reader.q)
        elif not fresh:
            self._commands.command(self.torque.blind(now), reader.q)

    def _leave(self) -> None:
        """Leave in good order: the weight is the last torque, if it was the guard's to send."""
        if self.guard.in_charge:
            self.torque.let_go()
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                self._commands.command(self.torque.blind(time.monotonic()), self.states.reader.q)
                time.sleep(_COAST)
            self.get_logger().warning('left: the last torque is the weight of the arm, and nobody '
                                      'controls it')
        self._commands.tell(GuardState.GONE, self._controller.stamp)
        self._commands.wait_until_heard()

    # --- services and parameters ------------------------------------------------------------

    def _reset(self, _request, response):
        try:
            self.guard.reset(time.monotonic())
            response.success = True
            response.message = "the arm is the controller's as soon as it commands"
        except RobodynError as error:
            response.success, response.message = False, str(error)
        return response

    def _check_change(self, values: GuardSettings, names: Sequence[str]) -> None:
        """Raise `RobodynError` for parameters that make no sense."""
        if names:
            self.torque.check_change(values)

    def _change(self, values: GuardSettings, _names: Sequence[str], _checked: None) -> None:
        """Use parameters that were set while running."""
        self.torque.change(values)


def main(args=None) -> int:
    """Run the guard."""
    return run_process(NAME, lambda stop: GuardNode(), lambda node, stop: node.work(stop), args)


if __name__ == '__main__':
    sys.exit(main())
