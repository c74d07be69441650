"""Status of the controller of an arm, read from the memory of its cycle."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import numpy as np

from robodyn_ros.control.arm.checks import recovery_notice, sides_beyond
from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.gain_design import NO_ROTOR
from robodyn_ros.control.arm.loop_response import SOFT
from robodyn_ros.control.arm.messages import ABORTS
from robodyn_ros.control.arm.trajectory_table import Paths
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.mode import EXTERNAL_LAWS, Mode
from robodyn_ros.control.steps import external_law, feedback, gravity_check, modes, shutdown
from robodyn_ros.control.terms import TaskReport
from robodyn_ros.dynamics.usual_inertia import missing_rotors, slow_rotors
from robodyn_ros.safety import oscillation
from robodyn_ros.safety.velocity_check import SMALL
from robodyn_ros.settings import per_joint
from robodyn_ros.trajectory import ResultCode, Trajectory

_MODES = tuple(Mode)
UNANSWERED = ('no joint moves with its torque: are the drives on and the brakes open, and are '
              'torques executed?')
_TURNED = ('joints that move against their torque: {joints}. Correct the sign in effort_scale, or '
           'of the motors in the driver; they have no feedback until they are measured again, at '
           'the next activation')
_NOTICED = 0.05  # reduction of gains that is reported


class Status:
    """
    Mode, fault, results of motions and reports of a controller.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    paths : Paths
        Its trajectories.

    """

    def __init__(self, arm: ControlledArm, paths: Paths):
        self.arm = arm
        self._m, self._messages, self._paths = arm.memory, arm.messages, paths
        self._task = TaskReport(arm.memory.report)

    # --- modes and motions ------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """Return the present state of the controller."""
        return _MODES[int(self._m.motion.mode)]

    @property
    def fault(self) -> str:
        """Why motion is refused, empty if it is not; latched until `reset_fault` or activation."""
        return self._messages.text(self._m.motion.fault)

    @property
    def message(self) -> str:
        """Return the reason of the end of the last motion."""
        return self._messages.text(self._m.motion.message)

    @property
    def aborted(self) -> bool:
        """Whether it was ended by the controller: a tolerance, silence, a pose out of reach."""
        return float(self._m.motion.message.code) in ABORTS

    @property
    def code(self) -> ResultCode | None:
        """How the last trajectory ended; None while it runs, and if something else ended it."""
        result = int(self._m.motion.result)
        return None if result == modes.RUNNING else ResultCode(result)

    @property
    def unmet_goal(self) -> str:
        """Return the goal tolerance that a trajectory does not meet after its last point."""
        event = self._paths.unmet_goal(self._m.q, self._m.qd)
        if event is None:
            return ''
        return self._messages.text(cast(SimpleNamespace, event)).rsplit(', ', 2)[0]

    @property
    def following(self) -> bool:
        """Whether a trajectory is under way, or about to begin."""
        return self._paths.following

    @property
    def trajectory(self) -> tuple[Trajectory | None, float]:
        """Return the trajectory that is followed, and seconds since its start."""
        return self._paths.current

    @property
    def interruptions(self) -> int:
        """Return the number of motions interrupted, or dropped before their start."""
        return int(self._m.motion.interruptions)

    @property
    def at_rest(self) -> bool:
        """Whether no motion is commanded."""
        return self.mode in (Mode.INACTIVE, Mode.HOLD, Mode.FLOAT, Mode.CARRY, Mode.PASSIVE)

    @property
    def shutdown_over(self) -> bool:
        """Whether the last torque of a shutdown has been returned."""
        return self.mode is Mode.CARRY and bool(shutdown.over(
            self._m.motion.shutdown, self.arm.program.motion.shutdown))

    # --- laws and torques -------------------------------------------------------------------

    @property
    def law_at_work(self) -> str:
        """Return the active mode, which may differ from the chosen one."""
        if self.mode is Mode.FLOAT:
            return Mode.FLOAT.value
        active = self._m.external_law.active
        return next((name for name, each in EXTERNAL_LAWS.items() if each == active),
                    self.arm.law)

    @property
    def expects_linear_feedback(self) -> bool:
        """Whether linear feedback was chosen, and not disabled since."""
        return bool(self._m.external_law.chosen == external_law.LINEAR)

    @property
    def task(self) -> TaskReport | None:
        """Return the report of a Cartesian law; None while another law is active."""
        led = self.mode in (Mode.FLOAT, Mode.LINEAR_FEEDBACK)
        return self._task if TRACKING[self.arm.law].cartesian and not led else None

    @property
    def sent(self) -> np.ndarray:
        """Return the torque that was sent last, (nv,)."""
        return self._m.sent

    @property
    def effort_limit(self) -> np.ndarray:
        """Effort limits in use, (nv,), in N m or N."""
        return self.arm.bounds.effort

    def saturated_joints(self) -> list[str]:
        """Return the joints whose torque was clamped in the last cycle."""
        return self.arm.names(self._m.verdict.saturated)

    def gravity_torque(self) -> np.ndarray:
        """Return the gravity torque, (nv,), at the last measured, or predicted, position."""
        m, scale = self._m, self.arm.design.gains.safe_gravity_scale
        if m.gravity_check.carried in gravity_check.WITHDRAWN:
            scale = 0.0 * scale
        return self.arm.gravity_torque(m.predicted.q if m.coasting else m.q) * scale

    @property
    def feedback_scale(self) -> float:
        """Return the part of the feedback that the intervals of the torques permit."""
        p = self.arm.program
        return float(feedback.stable_scale(
            self._m.feedback, float(p.law_damping), float(p.law_stiffness),
            float(self._m.acceptance.plausibility.delay)))

    @property
    def _lowered(self) -> tuple[float, float]:
        """Return the least factor of a natural frequency, in (0, 1], and the kd of its joint."""
        if self.law_at_work not in feedback.LAWS:
            return 1.0, 0.0
        design, interval = self.arm.design, float(feedback.interval(self._m.feedback))
        kp, kd = TRACKING[self.law_at_work].rates(design.gains, design.task_gains)
        factors = np.array(feedback.factors(kp, kd, np.full(len(kp), interval)))
        worst = int(np.argmin(factors))
        return float(factors[worst]), float(kd[worst])

    @property
    def bandwidth_factor(self) -> float:
        """Return the part of its natural frequency that a joint keeps at least."""
        return self._lowered[0]

    @property
    def unstable_gains(self) -> str:
        """Return why natural frequencies are lowered, see `feedback`; '' if they are not."""
        lowered, kd = self._lowered
        if lowered == 1.0:
            return ''
        intervals = self._m.feedback
        late, interval = float(intervals.lag), float(feedback.interval(intervals))
        causes = ([f'a torque every {1e3 * (interval - late):.2g} ms'] * (interval > late)
                  + [f'states up to {1e3 * late:.2g} ms late'] * (late > _NOTICED * interval))
        return (f'the natural frequency of the error is lowered to {100.0 * lowered:.0f} %: '
                f'kd = {kd:.4g} 1/s is unstable with {" and ".join(causes)}')

    @property
    def oscillations(self) -> dict[str, tuple[float, str]]:
        """Return by joint the part of its natural frequency that is left, and why, as text."""
        m, gains = self._m.oscillation, self.arm.design.gains
        found = {}
        for j, name in enumerate(self.arm.model.joint_names):
            part, frequency = float(m.factor[j]), float(m.frequency[j])
            if part < 1.0:
                late = oscillation.likely_delay(frequency, float(gains.kp[j]), float(gains.kd[j]))
                found[name] = part, (
                    f"joint '{name}' oscillated at {frequency / math.tau:.1f} Hz: its natural "
                    f'frequency is lowered to {100.0 * part:.0f} % until the next activation. '
                    f'Velocities are late by about {1e3 * late:.0f} ms, whatever their stamps '
                    'say, or the joint is elastic, or much lighter than its model')
        return found

    @property
    def loop_summary(self) -> str:
        """Return what was found when the loop was measured, in short; '' if it was not."""
        loop, names = self.arm.design.loop, self.arm.model.joint_names
        if loop is None:
            return ''
        delays = [1e3 * each.delay for each in loop.responses if each is not None]
        if self.loop_problem:
            return self.loop_problem
        unknown = [f"'{name}'" for name, each in zip(names, loop.responses) if each is None]
        found = (f'{min(delays):.1f} to {max(delays):.1f} ms from torque to velocity' if delays
                 else 'nothing')
        return found + (f'; not found for {", ".join(unknown)}' if unknown else '')

    @property
    def loop_problem(self) -> str:
        """Return what the measured loop shows that forbids motions; '' if there is nothing."""
        loop = self.arm.design.loop
        if loop is None:
            return ''
        turned = [f"'{name}'" for name, each in zip(
            self.arm.model.joint_names, loop.turned) if each]
        return (UNANSWERED if not loop.answers else
                _TURNED.format(joints=', '.join(turned)) if turned else '')

    @property
    def loop_numbers(self) -> dict[str, dict[str, float]]:
        """Return by joint the numbers of its measured loop, and its gains; {} if there is none."""
        loop, gains = self.arm.design.loop, self.arm.design.gains
        if loop is None or not loop.answers:
            return {}
        return {name: {
            'delay': float(loop.delay[j]), 'gain': float(loop.excess[j]),
            'resonance': 0.0 if (found := loop.responses[j]) is None else found.resonance,
            'kp': float(gains.kp[j]), 'kd': float(gains.kd[j])}
            for j, name in enumerate(self.arm.model.joint_names)}

    @property
    def measured_loops(self) -> dict[str, str]:
        """Return by joint what its measured loop has changed, as text."""
        loop, gains, found = self.arm.design.loop, self.arm.design.gains, {}
        if loop is None:
            return {}
        model = self.arm.model
        added = gains.armature - per_joint(
            'armature', self.arm.design.settings.armature, model.joint_names)
        blocked = loop.missing > NO_ROTOR * slow_rotors(model)
        for j, (name, each) in enumerate(zip(model.joint_names, loop.responses)):
            unit = 'kg m^2' if model.position_units[j] == 'rad' else 'kg'
            changes = []
            if each is not None and added[j]:
                changes.append(f'{added[j]:.2g} {unit} are added to the model, as of a rotor')
            if each is not None and blocked[j]:
                changes.append(f'it moved as if there were {loop.missing[j]:.2g} {unit} more than '
                               'in the model, which no rotor has, and its gains are those '
                               'without: is it blocked, by a brake or a contact?')
            part = float(self.arm.design.bandwidth_factor[j])
            if loop.answers and loop.still[j]:
                changes.append(
                    f'it did not move with up to {loop.still[j]:.2g} {model.effort_units[j]}, by '
                    'friction, a brake, or because its commands are ignored')
            if loop.unexplained[j] and not loop.turned[j]:
                found[name] = (
                    f"loop of '{name}': neither that of a rigid joint nor that of a rotor on a "
                    f'spring: its natural frequency is lowered to {100.0 * (1.0 - SOFT):.0f} %')
            elif part < 1.0 - _NOTICED:
                changes.append(f'its natural frequency is lowered to {100.0 * part:.0f} %')
            if changes and not loop.unexplained[j]:
                what = 'like the slowest of the others' if each is None else (
                    f'{1e3 * each.delay:.0f} ms, {each.inertia:.2g} {unit}, dry friction '
                    f'{each.friction:.2g} {model.effort_units[j]}' + (
                        f', first resonance {each.resonance:.0f} Hz' if each.resonance else ''))
                found[name] = f"loop of '{name}': {what}: {' and '.join(changes)}"
        return found

    @property
    def missing_rotors(self) -> str:
        """Return the joints that seem to lack rotor inertia; '' if none."""
        gains = self.arm.design.gains
        return missing_rotors(self.arm.model, gains.inertia - gains.armature, gains.armature)

    @property
    def gain_reduction(self) -> dict[str, float]:
        """Return by joint the largest reduction of its gains under the present law."""
        return {name: float(part) for name, part in zip(
            self.arm.model.joint_names, self._m.light.reduction) if part > _NOTICED}

    @property
    def feedback_inertia(self) -> dict[str, float]:
        """Return by joint the inertia that is now added in the feedback, kg m^2 (kg)."""
        if self.law_at_work != 'computed_torque':
            return {}
        added = self.arm.design.gains.feedback_inertia * self._m.light.scale
        return {name: float(each) for name, each in zip(self.arm.model.joint_names, added) if each}

    # --- measured states --------------------------------------------------------------------

    @property
    def recovery(self) -> str:
        """Return which joints are beyond their limits, and may move inwards only; '' if none."""
        if self.mode is Mode.INACTIVE:
            return ''
        return recovery_notice(self.arm.model, self._m.q, self.recovering)

    @property
    def recovering(self) -> np.ndarray:
        """Return 1 for joints beyond their upper limit, in recovery, -1 below the lower, (nv,)."""
        walls, settings = self._m.walls, self.arm.design.settings
        return sides_beyond(self.arm.model, walls.lower, walls.upper,
                            settings.position_limits.tolerance)

    @property
    def states(self) -> SimpleNamespace:
        """Return the memory of the states that were received, see `safety.acceptance.Memory`."""
        return self._m.acceptance

    @property
    def state_problem(self) -> str:
        """Return why the last state that was received is not used; '' if it is."""
        return self._messages.problem(self._m.acceptance.problem)

    def silence(self, age: float) -> str:
        """Return why no state is used; age: of the newest one that was, in s."""
        m = self._m.acceptance
        why = {**vars(m.problem if m.problem.code else m.remark), 'time': age}
        if not m.problem.code:
            why['bound'] = self.arm.host.state.cause
        return self._messages.text(SimpleNamespace(**why))

    @property
    def needs_velocity(self) -> bool:
        """Whether states without velocities cannot be used."""
        return self.arm.design.settings.velocity_source == 'measured'

    @property
    def estimated_velocities(self) -> list[str]:
        """Joints whose velocity is estimated from positions now."""
        return self.arm.names(self._m.acceptance.plausibility.replaced > 0.0)

    @property
    def doubted_velocities(self) -> list[str]:
        """Joints whose velocity is estimated, although velocities are to be measured."""
        chosen = self.arm.design.settings.velocity_source == 'estimated'
        return [] if chosen else self.estimated_velocities

    @property
    def unreported_velocities(self) -> list[str]:
        """Joints that report no velocity, or nearly zero while they move."""
        seen = self._m.acceptance.plausibility
        return self.arm.names((seen.absent > 0.0) | (np.abs(seen.mismatch + 1.0) < SMALL))

    @property
    def contradicted_velocities(self) -> dict[str, float]:
        """Ratio of velocity and change of position, of joints where they disagree."""
        return {name: 1.0 + float(each) for name, each in zip(
            self.arm.model.joint_names, self._m.acceptance.plausibility.mismatch)
            if each and abs(each + 1.0) >= SMALL}

    @property
    def velocity_outliers(self) -> int:
        """How many velocities were replaced by estimates because they contradict positions."""
        return int(self._m.acceptance.plausibility.outliers)
