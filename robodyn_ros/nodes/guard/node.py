"""
The guard node: takes over an arm whose controller falls silent.

It is a small process of its own, without the code of the controller. When the heartbeat of the
controller stops, the guard commands gravity torque and damping, and holds the arm where it comes
to rest, until its service `~/reset` is called.
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
from robodyn_ros.nodes.command_writer import CommandWriter
from robodyn_ros.nodes.compilation_log import compilation_logged
from robodyn_ros.nodes.containment import contained, serve
from robodyn_ros.nodes.description import load_robot
from robodyn_ros.nodes.guard.configuration_check import ConfigurationCheck
from robodyn_ros.nodes.guard.controller_switch import Fallback
from robodyn_ros.nodes.guard.parameters import GuardSettings
from robodyn_ros.nodes.guard.report import GuardReport
from robodyn_ros.nodes.guard.topics import CommandPublisher, ControllerMonitor, StateSubscriber
from robodyn_ros.nodes.guard.torque import GuardTorque
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.process import run_process, StopRequest
from robodyn_ros.nodes.realtime import configure_realtime
from robodyn_ros.safety import drive, Guard, GuardState
from robodyn_ros.safety.acceptance import FROM_STATE, REQUESTS, SILENT

NAME = 'guard'
_CHECKS = 5     # checks of the heartbeat per timeout while the controller commands
_COAST = 0.005  # s between torques without a state
_LISTEN = 1.0   # s for which other guards are listened for before this one is armed
_SERVE = 0.05   # s between polls of services and timers


class GuardNode(Node):
    """
    Watches a controller, and takes over its arm.

    Attributes
    ----------
    guard : Guard
        State machine of the guard.
    torque : GuardTorque
        Torques that the guard commands.
    states : StateSubscriber
        Joint states.

    """

    def __init__(self):
        super().__init__(NAME)
        self._table = Parameters(self, GuardSettings, self._check_change, self._change)
        self._table.refuse_unknown()
        values = self._table.values
        robot = load_robot(self, values.robot, values.limits.effort_limit)
        model = with_slots(robot.model)  # as in the controller
        dynamics = Dynamics(model)
        with compilation_logged(self.get_logger(), model.name):
            self.torque = GuardTorque(dynamics, values)
        writer = CommandWriter(model.joint_names, values.command, values.drives,
                               drive.without_reference(model.nv))
        self.guard = Guard(values.timeout, values.patience)
        try:
            self._controller = ControllerMonitor(self, model, values, writer)
            self.states = StateSubscriber(self, dynamics, values, self.torque.usable,
                                          writer.scale)
            self._commands = CommandPublisher(self, model, values, writer)
            self._configuration = ConfigurationCheck(
                self, model, values, self._commands.command_topic)
        except InvalidTopicNameException as error:
            reason = str(error).splitlines()[0].rstrip(':')
            raise ParameterError(f'controller is {values.controller!r}, effort_command_topic is '
                                 f'{values.command.effort_command_topic!r}: {reason}') from error
        self._fallback = Fallback(self, values)
        self._period = values.timeout / _CHECKS
        self._published = 0.0
        self._listens_until = time.monotonic() + _LISTEN
        self.create_service(Trigger, '~/reset', self._reset)
        self._report = GuardReport(self, self.guard, self.states, self.torque, model.name,
                                   values.controller)
        self.get_logger().info(f'{model.name}: watches {values.controller}, takes over after '
                               f'{values.timeout:g} s of silence')

    # --- the loop ---------------------------------------------------------------------------

    def work(self, stop: StopRequest) -> None:
        """Guard until a signal is received."""
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(self)
        configure_realtime(self, self._table.values.realtime, alone=stop.owns_process)
        due = 0.0
        try:
            while not stop.requested and self.context.ok():
                self.run_once()
                now = time.monotonic()
                if now >= due:
                    due = now + _SERVE
                    serve(executor, self.get_logger())
        finally:
            self._end()
            executor.shutdown(timeout_sec=1.0)

    def run_once(self) -> None:
        """Wait for a state or for the next check, update the guard, and command if in charge."""
        guard, before, reason = self.guard, self.guard.state, self.guard.reason
        log = self.get_logger()
        if guard.in_charge:
            kind = contained(log, self.states.poll, self.torque.last, _COAST, otherwise=REQUESTS)
        else:
            time.sleep(self._period)
            kind = contained(log, self.states.poll, None, otherwise=REQUESTS)
        self.torque.set_position(self.states.q)
        contained(log, self._controller.poll, guard, self.torque)
        now = time.monotonic()
        self._configuration.poll(guard, self.torque, self._commands.twin(now))
        state = guard.update(now, self.states.complete and now > self._listens_until)
        # published too early, the state would stop a controller that commands by now
        if not guard.observing and (state is not before or now - self._published >= self._period):
            self._published = now
            self._commands.publish_state(state, self._controller.stamp)
        if state is not before or (state is GuardState.REFUSING and guard.reason != reason):
            self._enter(state, before, now)
        if guard.commands:
            self._command(kind, now)

    def _enter(self, state: GuardState, before: GuardState, now: float) -> None:
        """Log a new state, and begin to command from the last torque of the controller."""
        guard, log = self.guard, self.get_logger()
        self.states.bind(state is GuardState.ARMED or guard.in_charge)
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
            q, qd = self.states.q, self.states.qd
            self.torque.start(now, q, qd, self._controller.torque(q, qd))
            self._fallback.switch()

    def _command(self, kind: float, now: float) -> None:
        """Send the torque for a new state, or for the absence of states."""
        states = self.states
        new_driver = self._commands.new_driver(kind == SILENT)
        if kind == FROM_STATE:
            swings = self.torque.swings
            self._commands.command(self.torque.update(now, states.q, states.qd), states.q,
                                   states.qd)
            if self.torque.swings and not swings:
                self.get_logger().error('the arm swings because of the torques of the guard: '
                                        'passive stop')
        elif kind != REQUESTS and not new_driver:  # silence, or a state that is repeated
            self._commands.command(self.torque.update_without_state(now), states.q, 0.0)
        if new_driver:
            self.get_logger().error(
                f'{new_driver} subscribes to {self._commands.command_topic} since the states are '
                'silent, it may be a driver that was restarted: no torque is sent until there are '
                'states of the one before', once=True)
        if self.torque.fault:
            self.get_logger().error(self.torque.fault, throttle_duration_sec=1.0)

    def _end(self) -> None:
        """Publish the end of the guard; if in charge, send the gravity torque as the last one."""
        silent = not self.states.age().fresh
        if self.guard.in_charge and not self._commands.new_driver(silent):
            self.torque.release_hold()
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                self._commands.command(self.torque.update_without_state(time.monotonic()),
                                       self.states.q, 0.0, last=True)
                time.sleep(_COAST)
            self.get_logger().warning('ended: the last torque is the gravity torque, and no node '
                                      'controls the arm')
        self._commands.publish_state(GuardState.GONE, self._controller.stamp)
        self._commands.wait_until_acknowledged()

    # --- services and parameters ------------------------------------------------------------

    def _reset(self, _request, response):
        try:
            self.guard.reset(time.monotonic())
            response.success = True
            response.message = 'the guard ends its commands as soon as the controller commands'
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
