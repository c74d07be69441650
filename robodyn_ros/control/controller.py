"""
Controller of one arm: requests to its control cycle, and its state.

A request that is refused raises, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, cast, Concatenate, ParamSpec, TypeVar

import numpy as np

from robodyn_ros.control.activation import Activation
from robodyn_ros.control.adaptive.adaptation import Adaptation
from robodyn_ros.control.compiled import CompiledCycle
from robodyn_ros.control.contact.observation import ContactObserver
from robodyn_ros.control.controlled_arm import ControlledArm
from robodyn_ros.control.cycle_calls import CycleCalls
from robodyn_ros.control.design import Design
from robodyn_ros.control.external_inputs import ExternalInputs
from robodyn_ros.control.external_laws.own_law import OwnLaw
from robodyn_ros.control.host import Host
from robodyn_ros.control.initial_memory import write_initial_memory
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.load_changes import LoadChanges
from robodyn_ros.control.loop_measurement import LoopMeasurement
from robodyn_ros.control.loop_response import MeasuredLoop
from robodyn_ros.control.messages import Messages
from robodyn_ros.control.motions import Motions, StartState
from robodyn_ros.control.path_speed import PathSpeed
from robodyn_ros.control.program_writer import write_constants, write_gains
from robodyn_ros.control.readiness import require_slow_for_reset
from robodyn_ros.control.requests import Requests
from robodyn_ros.control.setting_changes import SettingChanges
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.status import Status
from robodyn_ros.control.stream import Stream
from robodyn_ros.control.supervision_report import SupervisionReport
from robodyn_ros.control.terms import Term
from robodyn_ros.control.torque_bounds import Bounds
from robodyn_ros.control.trajectory_table import Paths
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.exceptions import StateError
from robodyn_ros.trajectory import Reference, Tolerances, Trajectory, TrajectoryPoint

_USUAL_LAW = 'computed_torque'
_OTHER = 'another trajectory'  # that replaces a stream
_P = ParamSpec('_P')
_T = TypeVar('_T')


def _of(part: str, method: Callable[Concatenate[Any, _P], _T]
        ) -> Callable[Concatenate[Any, _P], _T]:
    """Return a method of a part of the controller as a method of the controller."""
    @wraps(method)
    def call(self, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return method(getattr(self, part), *args, **kwargs)
    return call


def _reported(member: Callable[[Status], _T]) -> _T:
    """Return a property of the status as a property of the controller."""
    source = cast(property, member)
    return cast(_T, property(lambda self: source.__get__(self.status), doc=source.__doc__))


class ArmController:
    """
    Closes the torque loop of one arm: hosts its control cycle.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm; of `with_slots(model)` for payloads on any link.
    settings : Settings, optional
        Settings of the cycle; default the usual ones.
    own_law : OwnLaw, optional
        Law of the user, for the mode own_law.
    simulated : bool
        Whether the time of the cycle is that of the stamps of the states.

    Attributes
    ----------
    host : Host
        Memory and program of the cycle.
    status : Status
        Mode, fault and reports; each is an attribute of the controller too.
    loads : Loads
        Known payloads.
    adaptation : Adaptation
        Payload estimated by the adaptive law.
    wrenches, target : ExternalWrenches
        Known external wrenches, and the negative of the wrench that a link is to apply.
    reflection : Reflection
        Reflected torque of another arm.
    loop : LoopMeasurement
        Measurement of the loop of each joint.
    observation : ContactObserver
        External torque and collisions.
    path_speed : PathSpeed
        Scaling and pause of motions.
    stream : Stream
        Targets that arrive at any rate.
    reference : Reference
        Present reference of the joints.
    terms : (12, nv) array
        Terms of the last torque, rows as in `Term`. TOTAL is the torque sent; LIMIT its difference
        from that of the law: saturation, brakes at position limits, transitions, and the limits of
        rate and effort.
    verdict : SupervisionReport
        What supervision did to the last torque.

    """

    def __init__(self, dynamics: Dynamics, settings: Settings | None = None,
                 own_law: OwnLaw | None = None, simulated: bool = False):
        settings = settings or Settings()
        self.model = model = dynamics.model
        design = Design.make(dynamics, settings)
        law = settings.mode if settings.mode in TRACKING else _USUAL_LAW
        self.loads = Loads(dynamics)
        learning_link, tool = settings.adaptive.link or model.tip, design.task_gains.link
        made = CompiledCycle(
            dynamics, tool, learning_link,
            self.loads.parameter_index(learning_link) if self.loads.has_slot(learning_link)
            else None,
            settings.stale.stop)
        made.prepare(law)
        self.host = host = Host(
            made, None if own_law is None else own_law.function(made.dimensions))
        self._m, self._p, self._state = host.memory, host.program, host.state
        messages = Messages(model, tool)
        self._arm = arm = ControlledArm(dynamics, host, messages, self.loads, design, law)
        paths = Paths(host)
        self.status = status = Status(arm, paths)
        self._requests = Requests(arm, status)
        self._motions = Motions(arm, status, paths, self._requests)
        self.path_speed = PathSpeed(arm, status)
        self.stream = Stream(arm, status, paths, self._motions)
        self._inputs = inputs = ExternalInputs(arm, status)
        self.wrenches, self.target = inputs.wrenches, inputs.target
        self.reflection = inputs.reflection
        self.adaptation = Adaptation(dynamics, self.loads, host, settings.adaptive)
        self._load_changes = LoadChanges(arm, status, self.adaptation.link)
        self.loop = LoopMeasurement(arm, status)
        self.observation = ContactObserver(dynamics, host, messages,
                                           settings.observer.link or model.tip)
        self._changes = SettingChanges(arm, status, self._requests, inputs,
                                       self.adaptation, self.observation, own_law is not None)
        reference = self._m.motion.reference
        self.reference = Reference(reference.q, reference.qd, reference.qdd, reference.effort)
        self.terms = self._m.terms.reshape(len(Term), model.nv)
        self.verdict = SupervisionReport(self._m.verdict, messages)
        self._calls = CycleCalls(arm, self._requests, inputs, self.verdict)
        self._activation = Activation(arm, status, self._requests, inputs, self.path_speed)
        self._changes.check_mode(settings.mode)
        write_constants(self._p, design, model, simulated)
        write_gains(self._p, design, law)
        self._changes.write(design)
        write_initial_memory(self._m, self._p, design, model)

    def compile_others(self, done: Callable[[], object]) -> list[str]:
        """
        Return the laws that are not compiled yet, and compile them in the background.

        Without this each is compiled when its mode is entered, which takes up to some seconds.
        `done` is called at the end, maybe by a thread.
        """
        return self.host.made.prepare_others(done)

    def compile_all(self) -> None:
        """Compile all laws now, or load them from the cache."""
        self.host.made.prepare(*TRACKING)

    def close(self) -> None:
        """Stop the compilation that `compile_others` started, and a measurement."""
        self.loop.stop()
        self.host.made.stop()

    # --- the cycle --------------------------------------------------------------------------

    update = _of('_calls', CycleCalls.update)
    receive = _of('_calls', CycleCalls.receive)
    wait = _of('_calls', CycleCalls.wait)
    between = _of('_calls', CycleCalls.between)
    coast = _of('_calls', CycleCalls.coast)
    check_time = _of('_calls', CycleCalls.check_time)
    lose = _of('_calls', CycleCalls.lose)
    cause = _of('_requests', Requests.cause)

    # --- activation and deactivation --------------------------------------------------------

    activate = _of('_activation', Activation.activate)
    check_state = _of('_activation', Activation.check_state)
    check_effort = _of('_activation', Activation.check_effort)
    deactivate = _of('_activation', Activation.deactivate)
    resume = _of('_activation', Activation.resume)
    shut_down = _of('_requests', Requests.shut_down)
    start_from = _of('_requests', Requests.start_from)

    # --- modes and motions ------------------------------------------------------------------

    hold = _of('_requests', Requests.hold)
    stop = _of('_requests', Requests.stop)
    come_to_rest = _of('_requests', Requests.rest)
    compensate_gravity = _of('_requests', Requests.compensate_gravity)
    reach = _of('_motions', Motions.reach)
    start_state = _of('_motions', Motions.start_state)
    plan = _of('_motions', Motions.plan)
    fail = _of('_requests', Requests.fail)

    def follow(self, now: float, joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
               start_delay: float = 0.0, tolerances: Tolerances | None = None) -> float:
        """Follow a trajectory, not a stream any more; return its duration; see `Motions`."""
        duration = self._motions.follow(now, joint_names, points, start_delay, tolerances)
        self.stream.replaced_by(_OTHER)
        return duration

    def begin(self, start_state: StartState, trajectory: Trajectory,
              tolerances: Tolerances | None = None, source: str = _OTHER) -> bool:
        """
        Follow a planned trajectory; return False if it must be planned again; see `Motions`.

        It replaces a stream; `source` names it in the log.
        """
        begun = self._motions.begin(start_state, trajectory, tolerances)
        if begun:
            self.stream.replaced_by(source)
        return begun

    def reset_fault(self) -> None:
        """
        Allow motion again.

        Raises
        ------
        StateError
            A collision is not over, or a joint moves too fast.

        """
        if self.fault and self.observation.collision_text:
            raise StateError(f'the cause is still there: {self.observation.collision_text}')
        if self.fault:
            require_slow_for_reset(self.status)
        self._requests.reset_fault()

    # --- settings ---------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """Return the settings as changed last."""
        return self._arm.design.settings

    @property
    def design(self) -> Design:
        """Return these settings, and the gains and bounds of this arm made of them."""
        return self._arm.design

    @property
    def law(self) -> str:
        """Return the law that follows references, a key of `laws.table.TRACKING`."""
        return self._arm.law

    @property
    def bounds(self) -> Bounds:
        """Return the bounds of the torque of this arm."""
        return self._arm.bounds

    enter = _of('_changes', SettingChanges.enter)
    change = _of('_changes', SettingChanges.change)
    check_change = _of('_changes', SettingChanges.check)
    apply = _of('_changes', SettingChanges.apply)

    def continue_as(self, design: Design, loop: LoopMeasurement) -> None:
        """Go on with the design and the measurement of an arm whose blocks are in the host."""
        self._arm.design, self.loop = design, loop

    def update_loop(self, wait: bool = False) -> bool:
        """Continue the measurement of the loop; return True when its result comes into use."""
        over = self.loop.update(wait)
        if over:
            self._changes.use_loop(cast(MeasuredLoop, self.loop.result))
        return over

    # --- loads and external torques ---------------------------------------------------------

    set_payload = _of('_load_changes', LoadChanges.set_payload)
    set_gravity = _of('_load_changes', LoadChanges.set_gravity)
    apply_wrench = _of('_inputs', ExternalInputs.apply_wrench)
    press = _of('_inputs', ExternalInputs.press)
    reflect = _of('_inputs', ExternalInputs.reflect)
    take_linear_feedback = _of('_inputs', ExternalInputs.take_linear_feedback)

    @property
    def dynamics(self) -> Dynamics:
        """Return the dynamics, with the present blend of loads."""
        return self._arm.loaded_dynamics()

    # --- status: see `Status` ---------------------------------------------------------------

    mode = _reported(Status.mode)
    fault = _reported(Status.fault)
    message = _reported(Status.message)
    aborted = _reported(Status.aborted)
    code = _reported(Status.code)
    unmet_goal = _reported(Status.unmet_goal)
    following = _reported(Status.following)
    trajectory = _reported(Status.trajectory)
    interruptions = _reported(Status.interruptions)
    at_rest = _reported(Status.at_rest)
    shutdown_over = _reported(Status.shutdown_over)
    law_at_work = _reported(Status.law_at_work)
    task = _reported(Status.task)
    sent = _reported(Status.sent)
    effort_limit = _reported(Status.effort_limit)
    feedback_part = _reported(Status.feedback_part)
    bandwidth_factor = _reported(Status.bandwidth_factor)
    unstable_gains = _reported(Status.unstable_gains)
    missing_rotors = _reported(Status.missing_rotors)
    gain_reduction = _reported(Status.gain_reduction)
    oscillations = _reported(Status.oscillations)
    feedback_inertia = _reported(Status.feedback_inertia)
    loop_numbers = _reported(Status.loop_numbers)
    loop_summary = _reported(Status.loop_summary)
    measured_loops = _reported(Status.measured_loops)
    recovery = _reported(Status.recovery)
    states = _reported(Status.states)
    state_problem = _reported(Status.state_problem)
    needs_velocity = _reported(Status.needs_velocity)
    estimated_velocities = _reported(Status.estimated_velocities)
    doubted_velocities = _reported(Status.doubted_velocities)
    unreported_velocities = _reported(Status.unreported_velocities)
    contradicted_velocities = _reported(Status.contradicted_velocities)
    velocity_outliers = _reported(Status.velocity_outliers)

    silence = _of('status', Status.silence)
    saturated_joints = _of('status', Status.saturated_joints)
    gravity_torque = _of('status', Status.gravity_torque)

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Return the pose of the link at joint positions, (4, 4) in the base frame."""
        return self._arm.dynamics.forward_kinematics(q, self.design.task_gains.link)

    def tool_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the measured pose of the link, and that of its reference."""
        return self.pose(self._m.q), self.pose(self.reference.q)
