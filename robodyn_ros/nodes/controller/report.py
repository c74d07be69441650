"""Diagnostics and log of a controller."""

from __future__ import annotations

from collections.abc import Mapping
import json

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from rclpy.node import Node

from robodyn_ros.control import ArmController
from robodyn_ros.control.arm.loop_response import MeasuredLoop
from robodyn_ros.nodes.controller.control_loop import ControlLoop
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.inputs import Inputs
from robodyn_ros.nodes.controller.other_commanders import OtherCommanders
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.statistics import Diagnostics
from robodyn_ros.nodes.trajectories.interfaces import TrajectoryInterfaces
from robodyn_ros.safety.acceptance import Age
from robodyn_ros.trajectory import Trajectory

# diagnostics of the measured loop
_LOOP, _CHANGED, _MEASURES = 'measured loop', 'changed by it', 'is being measured'
_NUMBERS = 'loop of each joint'
_UNMEASURED = ('; until the log says "loop measured", a few seconds after the activation, the '
               'feedback of a joint is that of the least inertia it may have')
_LATE = 1.0    # s after the last point, then an unmet goal tolerance is a warning
_EQUAL = 0.05  # ratio of velocity and change of position - 1, below which the lag is to blame


def measures_loop(values: Mapping[str, str]) -> bool:
    """Return whether a controller with these diagnostics measures its loop."""
    return values.get(_LOOP, _MEASURES) == _MEASURES


def loop_lines(values: Mapping[str, str]) -> list[str]:
    """Return what a controller with these diagnostics has found about its loop, as lines."""
    found, changed = values.get(_LOOP), values.get(_CHANGED)
    return [f'loop measured: {found}', *(changed.split('; ') if changed else ())] if found else []


def loop_numbers(values: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Return what `Status.loop_numbers` of a controller with these diagnostics returns."""
    return json.loads(values.get(_NUMBERS) or '{}')


class ControllerReport:
    """
    Publishes diagnostics and logs changes.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm.
    states : StateInput
        Joint states.
    cycle : ControlLoop
        Control cycle with its statistics.
    inputs : Inputs
        Inputs besides states and trajectories.
    guard : GuardLink
        Connection to the guard.
    trajectories : TrajectoryInterfaces
        Trajectory interfaces with their refusals.
    other_commanders : OtherCommanders
        Other publishers of torques and joint states.

    """

    def __init__(self, node: Node, controller: ArmController, states: StateInput,
                 cycle: ControlLoop, inputs: Inputs, guard: GuardLink,
                 trajectories: TrajectoryInterfaces, other_commanders: OtherCommanders):
        self._node, self._controller, self._states = node, controller, states
        self._cycle, self._inputs, self._guard = cycle, inputs, guard
        self._trajectories, self._other_commanders = trajectories, other_commanders
        self._logged, self._collisions = '', 0
        self._reduced: set[str] = set()
        self._unstable: object = None  # gains that were logged as unstable
        self._lowered: dict[str, float] = {}  # parts of natural frequencies that were logged
        self._recovers = False
        self._implausible: dict[str, str] = {}
        self._unmet: Trajectory | None = None
        self._loop: MeasuredLoop | None = None
        self._diagnostics = Diagnostics(node, 'controller', controller.model.name)

    def destroy(self) -> None:
        """Close the topic."""
        self._diagnostics.destroy()

    def log_changes(self) -> None:
        """Log the end of a motion, a collision and a new fault; once each."""
        controller, log = self._controller, self._node.get_logger()
        text = controller.fault or controller.message
        if text != self._logged:
            self._logged = text
            if controller.fault:
                log.error(f'fault: {text}')
            elif text and controller.status.aborted:
                log.warning(f'motion aborted: {text}' + (
                    _UNMEASURED if controller.loop.running else ''))
            elif text and not controller.stream.moves:
                log.info(text)
        observation = controller.observation
        if observation.collisions != self._collisions:
            self._collisions = observation.collisions
            if not controller.fault:
                log.warning(f'collision: {observation.last_collision}')

    def log_warnings(self) -> None:
        """Log implausible velocities, unmet goals, reduced gains and recovery; once each."""
        controller, log = self._controller, self._node.get_logger()
        self._log_velocities()
        trajectory, _ = controller.status.trajectory
        if trajectory is not self._unmet and (unmet := self._unmet_goal()):
            self._unmet = trajectory
            log.warning(f'{unmet}; {self._remedy()}widen constraints.<joint>.goal; '
                        'constraints.goal_time > 0 ends the motion')
        self._log_reduced_gains()
        self._log_unstable_gains()
        self._log_oscillations()
        self._log_loop()
        self._log_recovery()

    def _remedy(self) -> str:
        settings = self._controller.settings
        if not settings.disturbance_observer:
            return 'raise ki or the gains, set disturbance_observer, or '
        return ('raise disturbance_limit if the term integral is at it, or the gains, set '
                'armature and friction, or ')

    def _log_reduced_gains(self) -> None:
        """Log once per law the joints whose gains are reduced."""
        controller = self._controller
        law, reduced = controller.status.law_at_work, controller.status.gain_reduction
        if reduced and law not in self._reduced:
            self._reduced.add(law)
            self._node.get_logger().warning(
                f'{law}: feedback of {_percentages(reduced)} is reduced by that much here: at '
                'this rate of torques such light joints would oscillate; set armature if '
                'rotors are missing in the model, lower the gains of these joints, or raise the '
                'rate of the joint states')

    def _log_unstable_gains(self) -> None:
        """Log once per gains that they are too high for the rate or the lateness of the states."""
        reason = self._controller.status.unstable_gains
        if reason and self._controller.design.gains is not self._unstable:
            self._unstable = self._controller.design.gains
            self._node.get_logger().warning(
                f'{reason}; lower natural_frequency or kp and kd, or let joint states come more '
                'often and with less delay')

    def _log_oscillations(self) -> None:
        """Log each time that the feedback of a joint is lowered because it oscillated."""
        found = self._controller.status.oscillations
        for name, (part, text) in found.items():
            if part < self._lowered.get(name, 1.0):
                self._node.get_logger().warning(text)
        self._lowered = {name: part for name, (part, _) in found.items()}

    def _log_loop(self) -> None:
        """Log what the measurement of the loop has changed."""
        controller, log = self._controller, self._node.get_logger()
        if (loop := controller.design.loop) is self._loop or loop is None:
            return
        again = self._loop is not None and not (loop.answers or self._loop.answers)
        self._loop = loop
        if again:  # it was logged
            return
        summary = f'loop measured: {controller.status.loop_summary}'
        if not controller.status.loop_problem:  # two calls: rclpy permits one severity for each
            log.info(summary)
        else:
            log.warning(summary)
        for text in controller.status.measured_loops.values():
            log.info(text)

    def _log_recovery(self) -> None:
        """Log once that joints are beyond their limits, and that they are inside again."""
        recovery, log = self._controller.status.recovery, self._node.get_logger()
        if bool(recovery) == self._recovers:
            return
        self._recovers = bool(recovery)
        if recovery:
            log.warning(f'{recovery}, by a slow trajectory, or by hand while the arm floats')
        else:
            log.info('recovery is over: all joints are within their limits')

    def _log_velocities(self) -> None:
        """Log joints whose velocity has become implausible."""
        controller = self._controller
        found = dict.fromkeys(controller.status.unreported_velocities, 'zero, NaN or not reported')
        found |= {name: f'{ratio:.2f} times the change of position' if abs(ratio - 1.0) > _EQUAL
                  else 'late: filtered, or out of step with the position'
                  for name, ratio in controller.status.contradicted_velocities.items()}
        new = found.keys() - self._implausible.keys()
        self._implausible = found
        if not new:
            return
        named = ', '.join(f'{name} ({found[name]})' for name in sorted(new))
        self._node.get_logger().warning(f'velocity of {named}: ' + (
            'used nevertheless, as velocity_source is measured; correct the driver'
            if controller.status.needs_velocity else
            'estimated from positions, feedback is lowered where the delay requires it; '
            'correct the driver, or start with velocity_source estimated'))

    def _unmet_goal(self) -> str:
        """Return which goal tolerance is still not met `_LATE` after the last point, or ''."""
        trajectory, elapsed = self._controller.status.trajectory
        unmet = self._controller.status.unmet_goal
        late = elapsed - trajectory.duration if trajectory is not None and unmet else 0.0
        return (f'the goal is not reached {late:.1f} s after the last point: {unmet}'
                if late >= _LATE else '')

    def publish(self) -> None:
        """Publish diagnostics; to be called about once a second."""
        states = self._states.verdict()
        self._diagnostics.publish(*self._verdict(states), self._figures(states))

    def _verdict(self, states: Age) -> tuple[bytes, str]:
        controller = self._controller
        if controller.fault:
            return DiagnosticStatus.ERROR, f'fault: {controller.fault}'
        if not states.fresh:
            return DiagnosticStatus.WARN, states.reason
        if self._guard.turns.guard_silent:
            return DiagnosticStatus.WARN, 'the guard is silent'
        if recovery := controller.status.recovery:
            return DiagnosticStatus.WARN, recovery
        if estimated := controller.status.doubted_velocities:
            return DiagnosticStatus.WARN, f'velocity of {", ".join(estimated)} is estimated'
        if shaken := controller.status.oscillations:
            return DiagnosticStatus.WARN, next(iter(shaken.values()))[1]
        if unmet := self._unmet_goal():
            return DiagnosticStatus.WARN, unmet
        if self._other_commanders.problem:
            return DiagnosticStatus.WARN, self._other_commanders.problem
        paused = ', paused' if controller.path_speed.paused else ''
        return DiagnosticStatus.OK, controller.mode.value + paused

    def _figures(self, states: Age) -> dict[str, str]:
        controller, model = self._controller, self._controller.model
        status = controller.status
        return {
            'mode': controller.mode.value, 'law': status.law_at_work,
            'fault': controller.fault, 'recovery': status.recovery,
            'guard': self._guard.summary, 'loop': self._cycle.loop,
            _LOOP: _MEASURES if controller.loop.running else status.loop_summary,
            _NUMBERS: json.dumps(status.loop_numbers),
            _CHANGED: '; '.join(status.measured_loops.values()),
            'last motion': controller.message,
            'motion aborted': str(status.aborted),
            'last result': '' if status.code is None else status.code.name,
            'unmet goal tolerance': status.unmet_goal,
            'speed along the path': controller.path_speed.text,
            'stream': controller.stream.summary,
            'targets refused': str(self._trajectories.streams.refused),
            'trajectories accepted': str(self._trajectories.accepted),
            'trajectories refused': str(self._trajectories.refused),
            'last refusal': self._trajectories.refusal,
            'state age (ms)': f'{1e3 * states.age:.1f}',
            'states refused': str(self._states.refused + self._cycle.other.refused),
            **self._cycle.summary(),
            'feedback (%)': f'{100.0 * status.feedback_scale * status.bandwidth_factor:.0f}',
            'feedback lowered for oscillation': _percentages(
                {name: 1.0 - part for name, (part, _) in status.oscillations.items()}),
            'feedback reduced at most': _percentages(status.gain_reduction),
            'feedback inertia': ', '.join(f"'{name}' {value:.2g}" for name, value in
                                          status.feedback_inertia.items()),
            'velocities estimated': ', '.join(status.estimated_velocities),
            'velocity outliers': str(status.velocity_outliers),
            'saturated joints': ', '.join(status.saturated_joints()),
            'robot': model.name, 'joints': ', '.join(model.joint_names),
            'moving mass (kg)': f'{model.mass.sum():.3f}', **self._inputs.summary(),
            **self._other_commanders.summary(),
            **controller.observation.summary(), **task_summary(controller)}


def _percentages(parts: dict[str, float]) -> str:
    """Return names with fractions in percent."""
    return ', '.join(f"'{name}' ({100.0 * part:.0f} %)" for name, part in parts.items())


def task_summary(controller: ArmController) -> dict[str, str]:
    """Return the diagnostics of a Cartesian law; empty while another law is at work."""
    task = controller.status.task
    if task is None:
        return {}
    linear, angular = (float(np.linalg.norm(part)) for part in np.split(task.pose_error, 2))
    return {'link': controller.design.link, 'pose error (mm)': f'{1e3 * linear:.2f}',
            'pose error (deg)': f'{np.degrees(angular):.2f}',
            'manipulability': f'{task.manipulability:.3g}'}
