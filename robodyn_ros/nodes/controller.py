"""
The controller node: joint states in, joint torques out.

A state triggers the cycle: it is waited for alone, answered at once, and everything else (
services, trajectories, diagnostics) gets its turn right after an answer, while the next state is
on its way. What the torque is, `robodyn_ros.control` decides; here are the wires.
"""

from __future__ import annotations

from collections.abc import Callable
import re
import sys
import time
import traceback

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
from rclpy.duration import Duration
from rclpy.exceptions import InvalidTopicNameException
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robodyn_ros.control import ArmController, with_slots
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, RobodynError, StateError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.controller_parameters import (
    apply_changes, gains_from, PARAMETERS, settings_from)
from robodyn_ros.nodes.conversions import EffortWriter, JointStateReader, seconds
from robodyn_ros.nodes.cycle_clock import CycleClock
from robodyn_ros.nodes.description import load_robot
from robodyn_ros.nodes.inputs import Inputs
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.process import run_process, StopRequest
from robodyn_ros.nodes.realtime import be_on_time
from robodyn_ros.nodes.statistics import CycleStatistics, diagnostic_array
from robodyn_ros.nodes.telemetry import Telemetry
from robodyn_ros.nodes.trajectories import TrajectoryDoors
from robodyn_ros.safety import Freshness, StaleMonitor

NAME = 'computed_torque_controller'
_ATTEMPT = 0.1   # s between two attempts to activate
_REMIND = 2.0    # s between two log lines about the same thing
_FADE = 0.1      # s of the last torques, in which feedback gives way to the weight
_LONGEST_FADE = 3.0  # s that this may take if the torque may only change slowly
_SETTLE = 1.0    # s in which the arm may follow its reference to rest
_STILL = 0.02    # rad/s or m/s below which a joint is at rest
_PART = 0.2      # s in which the end of a goal is passed on
_COAST = 0.005   # s between torques while no state arrives
_CHORES = 0.01   # s between looks at services, timers and other topics
_DONE, _FAILED = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class ControllerNode(LifecycleNode):
    """
    Lifecycle node around an `ArmController`.

    Attributes
    ----------
    failure : Exception or None
        Why the last transition failed.

    """

    def __init__(self):
        super().__init__(NAME)
        self._table = Parameters(self, PARAMETERS, changed=self._changed)
        self._table.refuse_unknown()
        self.failure: Exception | None = None
        self._controller: ArmController | None = None
        self._active = self._coasting = False
        self._starting = self.values.autostart
        self._answered = self._reminded = self._offset = self._latest = 0.0
        self._told = self._waiting = ''

    @property
    def configured(self) -> bool:
        """Whether there is a robot, and its topics are open."""
        return self._controller is not None

    @property
    def values(self):
        """Snapshot of the parameters."""
        return self._table.values

    # --- lifecycle --------------------------------------------------------------------------

    def on_configure(self, _state) -> TransitionCallbackReturn:
        """Read the robot, compile its dynamics, open the topics."""
        return self._transition(self._configure)

    def on_activate(self, _state) -> TransitionCallbackReturn:
        """Take over the arm where it is, or say why not."""
        return self._transition(self._activate)

    def on_deactivate(self, _state) -> TransitionCallbackReturn:
        """Bring the arm to rest and leave its weight, or nothing, as the last torque."""
        return self._transition(self.leave)

    def on_cleanup(self, _state) -> TransitionCallbackReturn:
        """Close the topics and forget the robot."""
        return self._transition(self._clean_up)

    def on_shutdown(self, _state) -> TransitionCallbackReturn:
        """Bring the arm to rest, and close the topics."""
        return self._transition(self._shut_down)

    def _transition(self, act: Callable[[], None]) -> TransitionCallbackReturn:
        """Run a transition; rclpy would swallow what it raises."""
        self.failure = None
        try:
            act()
        except Exception as error:  # of a defect the stack trace is all there is to go by
            self.failure = error
            if not self._starting:  # then whoever started it hears of it
                expected = isinstance(error, RobodynError)
                self.get_logger().error(str(error) if expected else traceback.format_exc())
        return _FAILED if self.failure else _DONE

    def _configure(self) -> None:
        values = self.values
        robot = load_robot(self, values)
        model = robot.model
        self._dynamics = dynamics = Dynamics(with_slots(model))
        controller = ArmController(dynamics, gains_from(values, dynamics),
                                   settings_from(values, model.nv))
        self._writer = EffortWriter(model.joint_names, values.command_joints)
        self._reader = JointStateReader(model.joint_names, model.continuous)
        self._stale = StaleMonitor(values.stale_hold, values.stale_stop, values.stale_max_skew)
        self._statistics = CycleStatistics()
        self._cycle_clock = CycleClock(values.lockstep)
        self._simulated_time = values.lockstep or self.get_parameter('use_sim_time').value
        self._command_publisher = self._publisher_of_commands(values.effort_command_topic)
        self._diagnostic_publisher = self.create_publisher(DiagnosticArray, '/diagnostics', 5)
        self._telemetry = Telemetry(self, model.joint_names,
                                    values.publish_joint_commands or values.lockstep)
        # in lockstep every state is waited for on the other side
        self._states = PolledSubscription(self, JointState, 'joint_states',
                                          qos.reliable(5) if values.lockstep else qos.newest())
        self._trajectories = TrajectoryDoors(self, controller, self._reader, values, self._time,
                                             self._wall)
        self._inputs = Inputs(self, controller, self._time)
        requests = {'hold': ArmController.hold, 'float': ArmController.compensate_gravity,
                    'stop': lambda controller: controller.stop('stop was asked for'),
                    'reset_fault': self._reset_fault}
        self._open_services = [self.create_service(Trigger, f'~/{name}', self._answer(act))
                               for name, act in requests.items()]
        self._open_timers = [self.create_timer(0.1, self._telemetry.look),
                             self.create_timer(1.0, self._report)]
        be_on_time(self, values)
        self._controller = controller  # the last: from here on it counts as configured
        joints = ', '.join(model.joint_names)
        self.get_logger().info(f'{model.name}: {model.nv} joints ({joints})')

    def _publisher_of_commands(self, topic: str):
        try:
            return self.create_publisher(Float64MultiArray, topic, qos.reliable())
        except InvalidTopicNameException as error:
            reason = str(error).splitlines()[0].rstrip(':')
            raise ParameterError(f'effort_command_topic is {topic!r}: {reason}',
                                 value=topic) from error

    def _activate(self) -> None:
        notice = self._check_ready()
        if notice:
            self.get_logger().warning(
                f'the effort of the arm was not compared with its weight: {notice}')
        self._answered = self._cycle_clock.now()
        self._latest = self._time(self._answered)
        self._controller.activate(self._latest, self._reader.q, self._reader.qd)
        self._statistics.restart()
        self._coasting = False
        self._active, self._starting = True, False
        self.get_logger().info('active: the arm is held where it is'
                               if self._controller.mode.value != 'gravity_compensation'
                               else 'active: the arm floats')
        if self._cycle_clock.lockstep:
            self._respond(self._cycle_clock.stamp, self._latest)

    def _check_ready(self) -> str:
        """Raise why the arm cannot be taken over; return what could not be checked."""
        if not self._reader.complete:
            raise StateError(f'no joint state on {self._states.topic} yet: '
                             f'{self._reader.problem}')
        verdict = self._stale.check(self._cycle_clock.now())
        if verdict.level is not Freshness.FRESH:
            raise StateError(f'joint states: {self._silence(verdict)}')
        self._controller.check_state(self._reader.q, self._reader.qd)
        topic = self._command_publisher.topic_name
        if self.count_publishers(topic) > 1:
            raise StateError(
                f'somebody else publishes on {topic}: two commanders would fight over the arm; '
                f'stop the other one (ros2 topic info --verbose {topic})')
        return self._controller.check_effort(self._reader.q, self._reader.qd, self._reader.effort,
                                             self.values.driver_compensates_gravity)

    def leave(self) -> None:
        """Bring the arm to rest, then send the last torque; bounded in time, whatever happens."""
        if not self._active:
            return
        try:
            self._come_to_rest()
        except Exception:  # a defect in the cycle must not leave the last motion's torque behind
            self.get_logger().error(traceback.format_exc())
        self._active = False
        self._fade_out(_FADE, release=False)
        if self.values.shutdown_effort == 'release':
            self._fade_out(self.values.release_time, release=True)
        self._command_publisher.wait_for_all_acked(Duration(seconds=0.2))
        self._controller.deactivate()
        self.get_logger().info(
            'left: the last torque is '
            + ('the weight of the arm' if self.values.shutdown_effort == 'hold' else 'zero'))

    def _come_to_rest(self) -> None:
        controller, values = self._controller, self.values
        controller.stop('the controller leaves')
        self._drive(lambda: controller.at_rest, 2.0 * values.stop_time + 1.0)
        self._drive(lambda: self._coasting or self._reader.fastest < _STILL, _SETTLE)
        if not self._coasting:  # the weight of where the arm is, not of where it should be
            controller.resume(self._time(), self._reader.q, self._reader.qd)

    def _drive(self, until: Callable[[], bool], timeout: float) -> None:
        """Go on with the cycle until a condition holds, from inside a callback."""
        end = time.monotonic() + timeout
        while not until() and time.monotonic() < end:
            self.cycle(_COAST)

    def _fade_out(self, duration: float, release: bool) -> None:
        """Send torques without feedback: the weight, and nothing in the end if `release`."""
        begin = now = time.monotonic()
        far = True
        while now - begin < duration or (far and not release and now - begin < _LONGEST_FADE):
            torque, far = self._parting_torque(now)
            share = max(1.0 - (now - begin) / duration, 0.0) if release else 1.0
            # the commands alone: what is only told may be what has failed
            self._command(share * torque)
            time.sleep(_COAST)
            now = time.monotonic()
        if not release:
            self._look_again()
        self._command(0.0 * torque if release else self._controller.weight())

    def _look_again(self) -> None:
        """Let the last weight be that of where the arm has come to rest meanwhile."""
        fresh = False
        while (message := self._states.take()) is not None:
            fresh = self._reader.read(message)
        if fresh:
            self._controller.resume(self._time(), self._reader.q, self._reader.qd)

    def _parting_torque(self, now: float) -> tuple[np.ndarray, bool]:
        """Return the torque without feedback, and whether it is still far from the weight."""
        weight = self._controller.weight()
        try:
            torque, _ = self._controller.coast(self._time(now))
        except Exception:
            self.get_logger().error(traceback.format_exc(), once=True)
            return weight, False
        away = np.abs(torque - weight) > 0.01 * self._controller.effort_limit
        return torque, bool(away.any())

    def _shut_down(self) -> None:
        self.leave()
        if self.configured:
            self._clean_up()

    def _clean_up(self) -> None:
        self._states.destroy()
        self._trajectories.destroy()
        self._inputs.destroy()
        for service in self._open_services:
            self.destroy_service(service)
        for timer in self._open_timers:
            self.destroy_timer(timer)
        self._telemetry.destroy()
        self.destroy_publisher(self._command_publisher)
        self.destroy_publisher(self._diagnostic_publisher)
        self._controller, self._starting = None, False

    # --- the cycle --------------------------------------------------------------------------

    def cycle(self, patience: float) -> None:
        """Answer the next joint state, or act on its absence after `patience` seconds."""
        message = self._states.wait(patience)
        self._begun = time.monotonic()
        if message is None and self._cycle_clock.lockstep:
            return
        now = self._cycle_clock.now(message)
        if self._active and self._cycle_clock.was_answered():
            self._command(self._torque, message.header.stamp)
            return
        fresh = message is not None and self._take(message, now)
        if not self._active:
            return
        if fresh:
            self._respond(message.header.stamp, now)
        else:
            self._watch(now)

    def listen(self) -> None:
        """Take in what else the law has to reckon with."""
        self._inputs.poll(time.monotonic())

    def _take(self, message: JointState, now: float) -> bool:
        """Read a message; return whether the arm's state is complete, new and fresh now."""
        if not self._reader.read(message):
            return False
        stamp = seconds(message.header.stamp)
        clock = stamp if self._simulated_time else time.time()
        if not self._stale.received(now, stamp, clock):
            return False
        self._offset = now - stamp if self._simulated_time and stamp else 0.0
        return self._stale.check(now).level is Freshness.FRESH

    def _respond(self, stamp, now: float) -> None:
        controller, reader, moment = self._controller, self._reader, self._time(now)
        pause = now - self._answered
        if not self._coasting and pause > self._stale.stop_after:
            # silence as well: the arm was out of control meanwhile
            self.get_logger().warning(f'this process was held up for {pause:.3f} s')
            self._coasting = True
        if self._coasting or moment < self._latest:
            self._coasting = False
            self._statistics.restart()
            controller.resume(moment, reader.q, reader.qd)
        self._latest = moment
        torque, _ = controller.update(moment, reader.q, reader.qd)
        self._send(torque, stamp)
        self._answered = now
        measured = seconds(stamp)
        # the clock of a simulation stands while it waits
        told = measured and not self._simulated_time
        self._statistics.add(measured or now, time.time() - measured if told else 0.0,
                             time.monotonic() - self._begun)

    def _watch(self, now: float) -> None:
        """Act on silence: the model alone brings the arm to rest, then a fault is latched."""
        verdict = self._stale.check(now)
        if verdict.level is Freshness.FRESH:
            if self._cycle_clock.lockstep:  # a state that cannot be used wants an answer as well
                self._send(self._torque)
            return
        self._coasting = True
        moment = self._time(now)
        if verdict.level is Freshness.STOP:
            self._controller.fail(f'joint states: {self._silence(verdict)}')
        torque, _ = self._controller.coast(moment)
        self._send(torque)

    def _silence(self, verdict) -> str:
        """Return why the joint states are stale."""
        problem = self._reader.problem
        return f'{verdict.reason} ({problem})' if problem else verdict.reason

    def _send(self, torque, stamp=None) -> None:
        """Let a torque out and tell of it; `stamp` is that of the state it answers, if any."""
        stamp = stamp or self._cycle_clock.stamp or self.get_clock().now().to_msg()
        self._torque = torque
        self._cycle_clock.answer()
        self._command(torque, stamp)
        self._telemetry.publish(stamp, self._controller, torque)

    def _command(self, torque, stamp=None) -> None:
        if not self._cycle_clock.lockstep:  # there they would not say which state they answer
            self._command_publisher.publish(self._writer.write(torque))
        if self._telemetry.commands:
            self._telemetry.command(stamp or self.get_clock().now().to_msg(), self._controller,
                                    torque)

    def _time(self, now: float | None = None) -> float:
        """Return the time of the control cycle: steady, or that of a simulation."""
        if now is None or self._cycle_clock.lockstep:
            now = self._cycle_clock.now()
        return now - self._offset

    def _wall(self) -> float:
        """Return the time of stamps."""
        if self._cycle_clock.lockstep:
            return self._cycle_clock.now()
        return 1e-9 * self.get_clock().now().nanoseconds if self._simulated_time else time.time()

    # --- requests ---------------------------------------------------------------------------

    def _answer(self, act: Callable) -> Callable:
        def answer(_request, response):
            try:
                act(self._controller)
                response.success, response.message = True, self._controller.mode.value
            except RobodynError as error:
                response.success, response.message = False, str(error)
            return response
        return answer

    def _reset_fault(self, controller: ArmController) -> None:
        verdict = self._stale.check(self._cycle_clock.now())
        if verdict.level is not Freshness.FRESH:
            raise StateError(f'the cause is still there: joint states: {verdict.reason}')
        controller.reset_fault()

    def _changed(self, values, names: list[str]) -> None:
        if self._controller is not None:
            apply_changes(self._controller, values, names, self._dynamics)

    # --- diagnostics ------------------------------------------------------------------------

    def _report(self) -> None:
        controller, model = self._controller, self._dynamics.model
        verdict = self._stale.check(self._cycle_clock.now())
        level, message = DiagnosticStatus.OK, controller.mode.value
        if verdict.level is not Freshness.FRESH:
            level, message = DiagnosticStatus.WARN, f'joint states: {verdict.reason}'
        if controller.fault:
            level, message = DiagnosticStatus.ERROR, f'fault: {controller.fault}'
        values = {
            'mode': controller.mode.value, 'fault': controller.fault,
            'last motion': controller.message, 'state age (ms)': f'{1e3 * verdict.age:.1f}',
            'states refused': str(self._reader.refused), **self._statistics.summary(),
            'saturated joints': ', '.join(controller.saturated_joints()),
            'robot': model.name, 'joints': ', '.join(model.joint_names),
            'moving mass (kg)': f'{model.mass.sum():.3f}', **self._inputs.summary()}
        self._diagnostic_publisher.publish(diagnostic_array(
            self.get_clock().now().to_msg(), f'{self.get_fully_qualified_name()}: controller',
            model.name, level, message, values))

    # --- start ------------------------------------------------------------------------------

    @property
    def starting(self) -> bool:
        """Whether it still has to activate itself."""
        return self._starting and self.configured and not self._active

    def start(self) -> None:
        """Configure, if it is to start itself; raise what is wrong."""
        if self._starting and self.trigger_configure() is not TransitionCallbackReturn.SUCCESS:
            raise self.failure or StateError('configuration failed')

    def attempt_activation(self) -> None:
        """Activate if the arm is ready; otherwise say now and then what is missing."""
        try:
            self._check_ready()
        except StateError as error:
            self._remind(str(error))
            return
        if self.trigger_activate() is not TransitionCallbackReturn.SUCCESS:
            raise self.failure or StateError('activation failed')

    def _remind(self, reason: str) -> None:
        """Log why it waits: at once if that is new, again now and then."""
        now, kind = time.monotonic(), re.sub(r'[\d.]+', '', reason)
        if kind != self._waiting or now - self._reminded > _REMIND:
            self._reminded, self._waiting = now, kind
            self.get_logger().info(f'waiting: {reason}')

    @property
    def called(self) -> bool:
        """Whether a trajectory, or a cancellation, has just come."""
        return self.configured and self._trajectories.called

    def attend(self, executor: SingleThreadedExecutor) -> None:
        """Do one of the things that wait."""
        if not self.configured:
            executor.spin_once(timeout_sec=_CHORES)
            return
        self._trajectories.look()
        for _ in range(self._trajectories.turns()):
            executor.spin_once(timeout_sec=0.0)
        self.tell()

    def part(self, executor: SingleThreadedExecutor) -> None:
        """Let whoever waits for the end of a motion hear of it."""
        if not self.configured:
            return
        self._trajectories.close()
        if not self._trajectories.unheard:
            return
        end = time.monotonic() + _PART  # all of it: what is sent last needs time to get out
        while time.monotonic() < end:
            self.attend(executor)
            time.sleep(_COAST)

    def tell(self) -> None:
        """Log how a motion ended, and a new fault; once each."""
        if self._controller is None:
            return
        text = self._controller.fault or self._controller.message
        if text != self._told:
            self._told = text
            if self._controller.fault:
                self.get_logger().error(f'fault: {text}')
            elif text:
                self.get_logger().info(text)


def make_node(_stop: StopRequest) -> ControllerNode:
    """Return the node, configured if it starts itself; a signal may interrupt this."""
    node = ControllerNode()
    node.start()
    return node


def work(node: ControllerNode, stop: StopRequest) -> None:
    """Control until a signal comes, leave in good order."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        _loop(node, executor, stop)
    finally:
        node.leave()
        node.part(executor)
        executor.shutdown(timeout_sec=1.0)


def _loop(node: ControllerNode, executor: SingleThreadedExecutor, stop: StopRequest) -> None:
    """Alternate between the cycle and, right after a cycle, everything else that waits."""
    chores = attempt = time.monotonic()
    while not stop.requested:
        if node.configured:
            node.cycle(_COAST)
            node.listen()
        now = time.monotonic()
        if now >= chores or node.called or not node.configured:
            chores = now + _CHORES
            node.attend(executor)
        if node.starting and now >= attempt:
            attempt = now + _ATTEMPT
            node.attempt_activation()


def main() -> int:
    """Run the node."""
    return run_process(NAME, make_node, work)


if __name__ == '__main__':
    sys.exit(main())
