"""What a controller tells about itself: diagnostics, and log lines about its motions."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
from rclpy.node import Node

from robodyn_ros.control import ArmController
from robodyn_ros.nodes.controller.cycle import ControlCycle
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.inputs import Inputs
from robodyn_ros.nodes.controller.other_commanders import OtherCommanders
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.statistics import diagnostic_array
from robodyn_ros.nodes.trajectories.interfaces import TrajectoryInterfaces
from robodyn_ros.safety import Freshness, StaleVerdict
from robodyn_ros.trajectory import Trajectory

_LATE = 1.0    # s after the last point from which on an unmet goal tolerance is a warning


class ControllerReport:
    """
    Publishes diagnostics, and logs what has changed.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Of which it tells.
    states : StateInput
        What it knows of the arm.
    cycle : ControlCycle
        Where it runs, and how long its answers take.
    inputs : Inputs
        What it was told.
    guard : GuardLink
        What it knows of its guard.
    trajectories : TrajectoryInterfaces
        Which trajectories it refused.
    other_commanders : OtherCommanders
        Who else publishes torques and states.

    """

    def __init__(self, node: Node, controller: ArmController, states: StateInput,
                 cycle: ControlCycle, inputs: Inputs, guard: GuardLink,
                 trajectories: TrajectoryInterfaces, other_commanders: OtherCommanders):
        self._node, self._controller, self._states = node, controller, states
        self._cycle, self._inputs, self._guard = cycle, inputs, guard
        self._trajectories, self._other_commanders = trajectories, other_commanders
        self._told, self._collisions = '', 0
        self._light: set[str] = set()
        self._recovers = False
        self._doubted: dict[str, str] = {}
        self._unmet: Trajectory | None = None
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 5)

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)

    def tell(self) -> None:
        """Log how a motion ended, a goal that is not reached, and a new fault; once each."""
        controller, log = self._controller, self._node.get_logger()
        text = controller.fault or controller.message
        if text != self._told:
            self._told = text
            if controller.fault:
                log.error(f'fault: {text}')
            elif text and controller.aborted:
                log.warning(f'motion aborted: {text}')
            elif text:
                log.info(text)
        self._tell_velocities()
        trajectory, _ = controller.trajectory
        if trajectory is not self._unmet and (unmet := self._unmet_goal()):
            self._unmet = trajectory
            log.warning(f'{unmet}; raise ki or the gains, set disturbance_observer, or widen '
                        'constraints.<joint>.goal; constraints.goal_time > 0 ends the motion')
        self._tell_light_joints()
        self._tell_recovery()
        seen = controller.observation
        if seen.collisions != self._collisions:
            self._collisions = seen.collisions
            if not controller.fault:
                log.warning(f'collision: {seen.last_collision}')

    def _tell_light_joints(self) -> None:
        """Log once for each law which joints do not bear their gains."""
        controller = self._controller
        law, light = controller.law_at_work, controller.gains_not_borne
        if light and law not in self._light:
            self._light.add(law)
            self._node.get_logger().warning(
                f'{law}: feedback of {_percentages(light)} is reduced by that much here: with '
                'torques this far apart such light joints would shake under it; set armature if '
                'rotors are missing in the model, lower the gains of these joints, or raise the '
                'rate of the joint states')

    def _tell_recovery(self) -> None:
        """Log once that joints are beyond their limits, and that they are inside again."""
        recovery, log = self._controller.recovery, self._node.get_logger()
        if bool(recovery) == self._recovers:
            return
        self._recovers = bool(recovery)
        if recovery:
            log.warning(f'{recovery}, by a slow trajectory, or by hand while the arm floats')
        else:
            log.info('recovery is over: all joints are within their limits')

    def _tell_velocities(self) -> None:
        """Log the joints whose velocity is not plausible, once each time that others are not."""
        controller = self._controller
        found = dict.fromkeys(controller.unreported_velocities, 'zero, or not reported')
        found |= {name: f'{ratio:.2f} times the change of position'
                  for name, ratio in controller.contradicted_velocities.items()}
        new = found.keys() - self._doubted.keys()
        self._doubted = found
        if not new:
            return
        named = ', '.join(f'{name} ({found[name]})' for name in sorted(new))
        self._node.get_logger().warning(f'velocity of {named}: ' + (
            'used all the same, as velocity_source is measured; mend the driver'
            if controller.needs_velocity else
            'estimated from positions, feedback is lowered where the delay of that requires it; '
            'mend the driver, or start with velocity_source estimated'))

    def _unmet_goal(self) -> str:
        """Return which goal tolerance is not met some time after the last point, or ''."""
        trajectory, elapsed = self._controller.trajectory
        unmet = self._controller.unmet_goal
        late = elapsed - trajectory.duration if unmet else 0.0
        return (f'the goal is not reached {late:.1f} s after the last point: {unmet}'
                if late >= _LATE else '')

    def publish(self) -> None:
        """Publish diagnostics; to be called about once a second."""
        node, states = self._node, self._states.verdict()
        level, message = self._verdict(states)
        self._publisher.publish(diagnostic_array(
            node.get_clock().now().to_msg(), f'{node.get_fully_qualified_name()}: controller',
            self._controller.model.name, level, message, self._figures(states)))

    def _verdict(self, states: StaleVerdict) -> tuple[bytes, str]:
        controller = self._controller
        if controller.fault:
            return DiagnosticStatus.ERROR, f'fault: {controller.fault}'
        if states.level is not Freshness.FRESH:
            return DiagnosticStatus.WARN, states.reason
        if self._guard.silent:
            return DiagnosticStatus.WARN, 'the guard is silent'
        if recovery := controller.recovery:
            return DiagnosticStatus.WARN, recovery
        if estimated := controller.doubted_velocities:
            return DiagnosticStatus.WARN, f'velocity of {", ".join(estimated)} is estimated'
        if unmet := self._unmet_goal():
            return DiagnosticStatus.WARN, unmet
        if self._other_commanders.complaint:
            return DiagnosticStatus.WARN, self._other_commanders.complaint
        return DiagnosticStatus.OK, controller.mode.value

    def _figures(self, states: StaleVerdict) -> dict[str, str]:
        controller, model = self._controller, self._controller.model
        return {
            'mode': controller.mode.value, 'law': controller.law_at_work,
            'fault': controller.fault, 'recovery': controller.recovery,
            'guard': self._guard.summary, 'loop': self._cycle.loop,
            'last motion': controller.message,
            'last result': '' if controller.code is None else controller.code.name,
            'unmet goal tolerance': controller.unmet_goal,
            'trajectories refused': str(self._trajectories.refused),
            'last refusal': self._trajectories.refusal,
            'state age (ms)': f'{1e3 * states.age:.1f}',
            'states refused': str(self._states.refused + self._cycle.refused),
            **self._cycle.summary(),
            'feedback (%)': f'{100.0 * controller.feedback_part:.0f}',
            'feedback reduced at most': _percentages(controller.gains_not_borne),
            'velocities estimated': ', '.join(controller.estimated_velocities),
            'velocity outliers': str(controller.velocity_outliers),
            'saturated joints': ', '.join(controller.saturated_joints()),
            'robot': model.name, 'joints': ', '.join(model.joint_names),
            'moving mass (kg)': f'{model.mass.sum():.3f}', **self._inputs.summary(),
            **self._other_commanders.summary(),
            **controller.observation.summary(), **task_summary(controller)}


def _percentages(parts: dict[str, float]) -> str:
    """Return names with parts in percent."""
    return ', '.join(f"'{name}' ({100.0 * part:.0f} %)" for name, part in parts.items())


def task_summary(controller: ArmController) -> dict[str, str]:
    """Return what a Cartesian law tells of its link; nothing while another one is at work."""
    task = controller.task
    if task is None:
        return {}
    linear, angular = (float(np.linalg.norm(part)) for part in np.split(task.pose_error, 2))
    return {'link': controller.task_gains.link, 'pose error (mm)': f'{1e3 * linear:.2f}',
            'pose error (deg)': f'{np.degrees(angular):.2f}',
            'manipulability': f'{task.manipulability:.3g}'}
