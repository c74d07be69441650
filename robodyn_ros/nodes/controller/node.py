"""
The controller node: joint states in, joint torques out.

Parameters, services, lifecycle transitions, and the loop. `components` builds what a configured
node consists of. Threads: the main one runs callbacks and what is periodic, and, where there is no
native loop, answers joint states between these (`control_loop`); the native loop answers joint
states in a thread of its own (`native`); long trajectories are checked in another one
(`trajectories.validator`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import sys
import time

from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.service import Service
from std_srvs.srv import Trigger

from robodyn_ros import settings
from robodyn_ros.control import ArmController, Mode
from robodyn_ros.control.arm.design import Design
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.nodes.containment import contained, serve, stack_trace
from robodyn_ros.nodes.controller.components import Components, Periodic
from robodyn_ros.nodes.controller.native import NoOtherLoop
from robodyn_ros.nodes.controller.parameters import check_limits, ControllerSettings
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.process import run_process, StopRequest
from robodyn_ros.nodes.realtime import configure_realtime
from robodyn_ros.safety.acceptance import COAST

NAME = 'computed_torque_controller'
_DONE, _FAILED = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_SERVE = 0.01    # s for which Python controls the arm before callbacks
_CALLBACKS = 8   # in a row, until Python controls the arm again
_WAIT = 0.005    # s, longest wait for a callback beside a native loop
_FAST = 0.002    # s, the same where linear feedback is taken
_ATTEMPT = 0.1   # s between two attempts to activate
_DRAIN = 0.2     # s to send the result of the last goal


class ControllerNode(LifecycleNode):
    """
    Lifecycle node around an `ArmController`.

    Attributes
    ----------
    failure : Exception or None
        Cause of the failure of the last transition.
    components : Components or None
        Parts of the node; None unless it is configured.

    """

    def __init__(self):
        super().__init__(NAME)
        self._table = Parameters(self, ControllerSettings, self._check_change, self._change)
        self._table.refuse_unknown()
        self.failure: Exception | None = None
        self.components: Components | None = None
        self._requests: list[Service] = []
        self._starting = self.values.autostart
        self._attempts = Periodic((self._attempt_activation, _ATTEMPT))

    @property
    def configured(self) -> bool:
        """Whether the node is configured: robot loaded, topics open."""
        return self.components is not None

    @property
    def values(self):
        """Snapshot of the parameters."""
        return self._table.values

    def _check_change(self, values: ControllerSettings, names: Sequence[str]) -> Design | None:
        """Return what changed parameters come to; raises `RobodynError` for what is refused."""
        if not names or self.components is None:  # at the start there is no such attribute
            return None
        controller = self.components.controller
        design = controller.changes.check(values.control, 'mode' in names)
        check_limits(controller.model.joint_names, design.bounds, self.components.configured)
        return design

    def _change(self, values: ControllerSettings, names: list[str], design: Design | None) -> None:
        """Put changed parameters into effect, from the next cycle on."""
        if design is not None and self.components is not None:
            self.components.controller.changes.apply(design, 'mode' in names)
            given = settings.values(values)
            changed = (f'{name} = {given[name]}' for name in names)
            self.get_logger().info(f'changed: {", ".join(changed)}')

    # --- lifecycle --------------------------------------------------------------------------

    def on_configure(self, _state) -> TransitionCallbackReturn:
        """Read the robot, compile its dynamics, open the topics."""
        return self._transition(self._configure)

    def on_activate(self, _state) -> TransitionCallbackReturn:
        """Activate the control of the arm at its present position, or log why not."""
        return self._transition(self._activate)

    def on_deactivate(self, _state) -> TransitionCallbackReturn:
        """Bring the arm to rest; the last torque is the gravity torque, or zero."""
        return self._transition(self.deactivate)

    def on_cleanup(self, _state) -> TransitionCallbackReturn:
        """Close the topics and discard the robot model."""
        return self._transition(self._clean_up)

    def on_shutdown(self, _state) -> TransitionCallbackReturn:
        """Bring the arm to rest, and close the topics."""
        return self._transition(self._shut_down)

    def _transition(self, act: Callable[[], None]) -> TransitionCallbackReturn:
        """Run a transition; rclpy would discard its exceptions."""
        self.failure = None
        try:
            act()
        except Exception as error:
            self.failure = error
            if not self._starting:  # otherwise `start` or `_attempt_activation` reports it
                expected = isinstance(error, RobodynError)
                self.get_logger().error(str(error) if expected else stack_trace())
        return _FAILED if self.failure else _DONE

    def _configure(self) -> None:
        components = Components(self, self._table)
        try:
            configure_realtime(self, self.values.realtime,
                               python=isinstance(components.cycle.other, NoOtherLoop))
        except RobodynError:
            components.destroy()
            raise
        self._open_services(components)
        self.components = components  # last: from here on the node counts as configured
        model = components.controller.model
        joints = ', '.join(model.joint_names)
        self.get_logger().info(f'{model.name}: {model.nv} joints ({joints})')
        if missing := components.controller.status.missing_rotors:
            self.get_logger().warning(missing)
        added = components.controller.design.gains.feedback_inertia
        if added.any():
            listed = ', '.join(f"'{name}' {each:.2g}" for name, each in zip(
                model.joint_names, added) if each)
            self.get_logger().info(
                f'feedback of computed_torque with the inertia of likely rotors: {listed} kg m^2 '
                'or kg, as far as rate and delay allow; see armature')

    def _activate(self) -> None:
        assert self.components is not None
        self.components.activation.activate()
        self._starting = False

    def deactivate(self) -> None:
        """Bring the arm to rest, then send the last torque, within a bounded time."""
        if self.components is not None:
            self.components.shutdown.run(self.values)

    def _clean_up(self) -> None:
        assert self.components is not None
        self.components.destroy()
        for service in self._requests:
            self.destroy_service(service)
        self.components, self._starting = None, False

    def _shut_down(self) -> None:
        self.deactivate()
        if self.components is not None:
            self._clean_up()

    # --- start ------------------------------------------------------------------------------

    @property
    def starting(self) -> bool:
        """Whether the node still has to activate itself."""
        return self._starting and self.components is not None and not self.components.cycle.active

    def start(self) -> None:
        """Configure the node if `autostart` is set; raise the cause of a failure."""
        if self._starting and self.trigger_configure() is not _DONE:
            raise self.failure or StateError('configuration failed')

    def _attempt_activation(self) -> None:
        """Activate if the arm is ready; otherwise log periodically what is missing."""
        if not self.starting:
            return
        assert self.components is not None
        activation = self.components.activation
        if not activation.is_possible() or self.trigger_activate() is _DONE:
            return
        if not isinstance(self.failure, StateError):
            raise self.failure or StateError('activation failed')
        activation.log_reason(str(self.failure))  # the arm was ready a moment ago

    # --- the main thread --------------------------------------------------------------------

    def run_once(self, executor: Executor, stop: StopRequest) -> None:
        """Control the arm, or leave that to the native loop; then run the callbacks that wait."""
        components, wait = self.components, _WAIT
        if components is not None:
            cycle, end = components.cycle, time.monotonic() + _SERVE
            if cycle.other.running:
                cycle.update()
                components.inputs.poll_feedback()
                if components.controller.mode is Mode.LINEAR_FEEDBACK:
                    wait = _FAST
            else:
                wait = 0.0
                while time.monotonic() < end and not stop.requested:
                    cycle.run_once()
                    components.inputs.poll_feedback()
            components.periodic.run()
            self._attempts.run()
        serve(executor, self.get_logger(), wait, 1 if wait else _CALLBACKS)

    # --- services ---------------------------------------------------------------------------

    def _open_services(self, components: Components) -> None:
        controller = components.controller

        def reset_fault():
            verdict = components.states.verdict()
            if not verdict.fresh:
                raise StateError(f'the cause is still there: {verdict.reason}')
            if components.guard.problem:
                raise StateError(f'the cause is still there: {components.guard.problem}')
            components.report.log_changes()  # the reason of the end of a motion is cleared, too
            fault = controller.fault
            controller.reset_fault()
            if fault:
                self.get_logger().info(f'fault cleared: {fault}')

        speed = controller.path_speed
        requests = {'pause': speed.pause, 'resume': speed.resume,
                    'hold': controller.requests.hold,
                    'float': controller.requests.compensate_gravity,
                    'stop': lambda: controller.requests.stop('a stop was requested'),
                    'reset_fault': reset_fault}
        self._requests = [
            self.create_service(Trigger, f'~/{name}', _service_callback(
                act, controller,
                lambda: '' if components.cycle.active else components.activation.waits))
            for name, act in requests.items()]


def _service_callback(act: Callable[[], None], controller: ArmController,
                      waits: Callable[[], str]) -> Callable:
    """Return a service callback that acts and responds with the mode, or why it cannot."""
    def callback(_request, response):
        try:
            act()
            response.success, response.message = True, controller.mode.value
        except RobodynError as error:
            reason = waits()
            response.success, response.message = False, (
                f'the controller waits: {reason}' if reason else str(error))
        return response
    return callback


# --- the main thread --------------------------------------------------------------------

def work(node: ControllerNode, stop: StopRequest) -> None:
    """Run the node until a signal is received, then bring the arm to rest."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not stop.requested:
            node.run_once(executor, stop)
    finally:
        try:
            node.deactivate()
        finally:
            if node.components is not None:
                node.components.cycle.other.stop()  # before its topics are destroyed
        _drain(node, executor)
        executor.shutdown(timeout_sec=1.0)


def _drain(node: ControllerNode, executor: SingleThreadedExecutor) -> None:
    """Send the result of the last goal to its client."""
    if node.components is None or not node.components.trajectories.result_pending:
        return
    end = time.monotonic() + _DRAIN  # in full: the middleware needs time for the last message
    while time.monotonic() < end:
        contained(node.get_logger(), node.components.trajectories.poll)
        serve(executor, node.get_logger())
        time.sleep(COAST)


def make_node(_stop: StopRequest) -> ControllerNode:
    """Return the node, configured if `autostart` is set; a signal may interrupt this."""
    node = ControllerNode()
    node.start()
    return node


def main() -> int:
    """Run the node."""
    return run_process(NAME, make_node, work)


if __name__ == '__main__':
    sys.exit(main())
