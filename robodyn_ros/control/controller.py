"""
Controller of one arm: requests to its control cycle, and its state.

A request that is refused raises, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast, TypeVar

import numpy as np

from robodyn_ros.control.activation_checks import check_effort, joint_values
from robodyn_ros.control.adaptive.adaptation import Adaptation
from robodyn_ros.control.compiled import CompiledCycle
from robodyn_ros.control.contact.observation import ContactObserver
from robodyn_ros.control.controlled_arm import ControlledArm
from robodyn_ros.control.design import Design
from robodyn_ros.control.external_inputs import ExternalInputs
from robodyn_ros.control.external_laws.compiled_law import CompiledLaw
from robodyn_ros.control.external_laws.linear_feedback import LinearCommand
from robodyn_ros.control.external_laws.own_law import OwnLawRunner
from robodyn_ros.control.gain_schedule import ScheduledGains
from robodyn_ros.control.host import Host, law_function
from robodyn_ros.control.initial_memory import write_initial_memory
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.load_changes import LoadChanges
from robodyn_ros.control.messages import Messages
from robodyn_ros.control.mode import EXTERNAL_LAWS, Mode
from robodyn_ros.control.motions import Motions, StartState
from robodyn_ros.control.path_speed import PathSpeed
from robodyn_ros.control.program_writer import write_constants, write_gains
from robodyn_ros.control.readiness import check_activation
from robodyn_ros.control.requests import Requests
from robodyn_ros.control.setting_changes import SettingChanges
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.state import BETWEEN, DUE, FROM_STATE, RECEIVED, REQUESTS, SILENT, WAITING
from robodyn_ros.control.status import Status
from robodyn_ros.control.steps import external_law, modes
from robodyn_ros.control.stream import Stream
from robodyn_ros.control.supervision_report import SupervisionReport
from robodyn_ros.control.terms import Term
from robodyn_ros.control.torque_bounds import Bounds
from robodyn_ros.control.trajectory_table import Paths
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import Payload
from robodyn_ros.trajectory import Reference, Tolerances, Trajectory, TrajectoryPoint

_USUAL_LAW = 'computed_torque'
_OTHER = 'another trajectory'  # that replaces a stream
_T = TypeVar('_T')


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
    own_law : CompiledLaw or OwnLawRunner, optional
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
                 own_law: CompiledLaw | OwnLawRunner | None = None, simulated: bool = False):
        settings = settings or Settings()
        self.model = model = dynamics.model
        design = Design.make(dynamics, settings)
        law = settings.mode if settings.mode in TRACKING else _USUAL_LAW
        schedule = ScheduledGains(model, settings.gain_schedule)
        schedule.check(design.gains)
        self.loads = Loads(dynamics)
        learning_link, tool = settings.adaptive.link or model.tip, design.task_gains.link
        made = CompiledCycle(
            dynamics, tool, learning_link,
            self.loads.parameter_index(learning_link) if self.loads.has_slot(learning_link)
            else None,
            settings.stale.stop, schedule.table)
        made.prepare(law)
        self._own = own_law
        self.host = host = Host(made, self._own_law_function(made))
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
        self.observation = ContactObserver(dynamics, host, messages,
                                           settings.observer.link or model.tip)
        self._changes = SettingChanges(arm, status, self._requests, schedule, inputs,
                                       self.adaptation, self.observation, own_law is not None)
        reference = self._m.motion.reference
        self.reference = Reference(reference.q, reference.qd, reference.qdd, reference.effort)
        self.terms = self._m.terms.reshape(len(Term), model.nv)
        self.verdict = SupervisionReport(self._m.verdict, messages)
        self._latest = -np.inf  # time of the last cycle
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
        """Stop the compilation that `compile_others` started."""
        self.host.made.stop()

    # --- the cycle --------------------------------------------------------------------------

    def update(self, now: float, q: np.ndarray, qd: np.ndarray,
               effort: np.ndarray | None = None) -> tuple[np.ndarray, SupervisionReport]:
        """
        Return the torque for a fresh state.

        Parameters
        ----------
        now : float
            Seconds, of a clock that never goes back.
        q, qd : (nv,)
            Measured. A state that is not finite is a fault, and counts as silence.
        effort : (nv,), optional
            Measured, for the observer; NaN where it is not.

        Returns
        -------
        torque : (nv,)
            To be sent; overwritten by the next call.
        verdict : SupervisionReport
            What supervision did; of the last call as well.

        """
        state = self._state
        try:
            state.q[:], state.qd[:] = q, qd
            state.effort[:] = np.nan if effort is None else effort
        except (TypeError, ValueError):
            for row in (('position', q), ('velocity', qd), ('effort', effort)):
                joint_values(self.model.joint_names, *row)
            raise
        return self.host.run(FROM_STATE, now), self.verdict

    def receive(self, arrival: float, stamp: float, clock: float, permitted: bool = True
                ) -> np.ndarray | None:
        """
        Return the torque for a state that was received, or None: see `states`.

        The state is written into `host.state` before: q, qd, effort (NaN where there is none).

        Parameters
        ----------
        arrival : float
            Time of a steady clock, in s.
        stamp : float
            Of the state, in s; 0 if it has none.
        clock : float
            Time of the clock of the stamps at arrival.
        permitted : bool
            Whether a torque may be sent.

        """
        state = self._state
        state.stamp[()], state.clock[()], state.cause[()] = stamp, clock, 0.0
        return self._accept(RECEIVED, arrival, permitted)

    def wait(self, arrival: float, permitted: bool = True, due: bool = False,
             problem: str = '') -> np.ndarray | None:
        """
        Return the torque that is due without a new state, or None.

        Parameters
        ----------
        arrival, permitted
            As for `receive`.
        due : bool
            Whether a torque is due between two states.
        problem : str
            Reason why received states could not be read, for the message of a silence.

        """
        self._state.cause[()] = self.cause(problem)
        return self._accept(DUE if due else WAITING, arrival, permitted)

    def _accept(self, kind: float, arrival: float, permitted: bool) -> np.ndarray | None:
        state = self._state
        state.arrival[()], state.permitted[()] = arrival, permitted
        torque = self.host.run(kind, arrival)
        self.check_time()
        return None if self._m.acceptance.kind == REQUESTS else torque

    def check_time(self) -> None:
        """Drop timed inputs if a simulation has set its clock back; after each cycle."""
        before, self._latest = self._latest, float(self._m.before)
        if self._latest < before - self.settings.external_wrench.timeout:
            self._inputs.clear()

    def lose(self) -> None:
        """Record that another node commands the arm: the next state starts control anew."""
        self._p.acceptance.lost += 1.0

    def between(self, now: float) -> tuple[np.ndarray, SupervisionReport]:
        """
        Return the torque between two states: that of the law for the predicted one.

        The prediction has the external torque that the observer sees: what is not in the model
        would otherwise soften feedback, because between two states there would be no error.
        """
        return self.host.run(BETWEEN, now), self.verdict

    def coast(self, now: float, reason: str = '') -> tuple[np.ndarray, SupervisionReport]:
        """
        Return the torque while no state can be used.

        The reference comes to rest, and the law brings there an arm that the model predicts from
        the last state used and the torques since. At rest the gravity torque remains. A motion
        ends with the `reason` as its message.
        """
        self._state.cause[()] = self.cause(reason)
        return self.host.run(SILENT, now), self.verdict

    @property
    def has_python_law(self) -> bool:
        """Whether there is an own law in Python."""
        return isinstance(self._own, OwnLawRunner)

    def cause(self, text: str) -> float:
        """Return the code of a text that names the cause of something; 0 for none."""
        return self._requests.cause(text)

    def _own_law_function(self, made: CompiledCycle) -> Callable | None:
        """Return the law of the user as a C function, None if there is none."""
        if isinstance(self._own, CompiledLaw):
            return self._own.function(made.dimensions)
        return None if self._own is None else law_function(
            made.dimensions, partial(self._evaluate_own_law, self._own))

    def _evaluate_own_law(self, own: OwnLawRunner, runtime: np.ndarray, rows: np.ndarray
                          ) -> tuple[np.ndarray, float]:
        """Evaluate an own law; return its terms, and the code of a problem."""
        self._arm.dynamics.runtime[:] = runtime
        m, now = self._m, float(self._state.now)
        q, qd, *reference, external = rows[:7]
        problem = own.start_or_evaluate(
            bool(m.external_law.active != external_law.OWN), now,
            min(max(0.0, now - float(m.before)), self.settings.stale.stop),
            (q, qd, external), Reference(*reference))
        return own.rows, self.cause(problem)

    # --- activation and deactivation --------------------------------------------------------

    def activate(self, now: float, q: np.ndarray, qd: np.ndarray, arrival: float = 0.0) -> None:
        """
        Activate at the measured position: the first torque is the gravity torque.

        `arrival` is the time of the steady clock of `receive`.

        Raises
        ------
        StateError
            The state is not one number a joint, is not finite, or a joint is outside its limits.

        """
        self.check_state(q, qd)
        self._inputs.clear()
        self.path_speed.release()
        p = self._p
        p.motion.floats[()] = self.settings.mode == Mode.FLOAT.value
        p.external_law.choice[()] = EXTERNAL_LAWS.get(self.settings.mode, external_law.NONE)
        self._state.arrival[()] = arrival
        self._requests.make_at(modes.TO_TAKE_OVER, now, q, qd)

    def check_state(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Raise `StateError` if control cannot be activated in this state."""
        check_activation(self.status, q, qd)

    def check_effort(self, q: np.ndarray, qd: np.ndarray, effort: np.ndarray,
                     driver_compensates_gravity: bool = False) -> str:
        """
        Compare the effort of the resting arm, (nv,), with its gravity torque, see `handshake`.

        Returns
        -------
        notice : str
            Reason why all or some joints were not compared; '' if all were.

        Raises
        ------
        StateError
            They contradict each other; the message names the joint, and the likely cause.

        """
        if not self.settings.handshake:
            return ''
        return check_effort(self.dynamics, self.loads, q, qd, effort, self.bounds.handshake,
                            driver_compensates_gravity)

    def deactivate(self) -> None:
        """End all motion; the last torque to be sent is `gravity_torque`."""
        self._requests.make(modes.TO_DEACTIVATE)

    def shut_down(self, message: str, release: float | None = None) -> None:
        """End control within some seconds, see `Requests.shut_down`, then deactivate."""
        self._requests.shut_down(message, release)

    def resume(self, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """
        Hold at the measured position after silence; feedback grows from zero.

        Also after a pause without calls of `coast`; an arm that floats continues to float.
        """
        if self.mode is not Mode.INACTIVE:
            self._requests.make_at(modes.TO_RESUME, now, q, qd)

    def start_from(self, torque: np.ndarray) -> None:
        """Start from the last torque, (nv,), of another commander."""
        self._requests.start_from(torque)

    # --- motion -----------------------------------------------------------------------------

    def hold(self) -> None:
        """Decelerate and hold."""
        self._requests.hold()

    def stop(self, message: str) -> None:
        """Decelerate from the present motion, then hold, by the built-in law; never raises."""
        self._requests.stop(message)

    def come_to_rest(self, message: str) -> None:
        """Decelerate and hold with the law that is at work; never raises."""
        self._requests.rest(message)

    def compensate_gravity(self) -> None:
        """Compensate gravity without position feedback: the arm floats."""
        self._requests.compensate_gravity()

    def fail(self, fault: str) -> None:
        """Latch a fault and stop; the first fault stays."""
        self._requests.fail(fault)

    def reset_fault(self) -> None:
        """
        Allow motion again.

        Raises
        ------
        StateError
            A collision is not over.

        """
        if self.fault and self.observation.collision_text:
            raise StateError(f'the cause is still there: {self.observation.collision_text}')
        self._requests.reset_fault()

    def reach(self, position, quaternion) -> None:
        """Move the link to a pose, in place of the present motion; see `Motions.reach`."""
        self._motions.reach(position, quaternion)

    def follow(self, now: float, joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
               start_delay: float = 0.0, tolerances: Tolerances | None = None) -> float:
        """Follow a trajectory from now on; return its duration in s; see `Motions.follow`."""
        duration = self._motions.follow(now, joint_names, points, start_delay, tolerances)
        self.stream.give_way(_OTHER)
        return duration

    def start_state(self, lead: float = 0.0) -> StartState:
        """Return the start state of a motion in `lead` seconds; see `Motions.start_state`."""
        return self._motions.start_state(lead)

    def plan(self, start_state: StartState, joint_names: Sequence[str],
             points: Sequence[TrajectoryPoint], zero: float | None = None) -> Trajectory:
        """Return the trajectory along the points, checked, in any thread; see `Motions.plan`."""
        return self._motions.plan(start_state, joint_names, points, zero)

    def begin(self, start_state: StartState, trajectory: Trajectory,
              tolerances: Tolerances | None = None, source: str = _OTHER) -> bool:
        """
        Follow a planned trajectory; return False if it must be planned again; see `Motions`.

        A stream gives way to it; `source` names it in the log.
        """
        begun = self._motions.begin(start_state, trajectory, tolerances)
        if begun:
            self.stream.give_way(source)
        return begun

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

    def enter(self, mode: str) -> None:
        """Change the mode, now and for the next activation; see `SettingChanges.enter`."""
        self._changes.enter(mode)

    def change(self, settings: Settings, enters: bool = False) -> None:
        """Use other settings from the next cycle on; see `SettingChanges.change`."""
        self._changes.change(settings, enters)

    def check_change(self, settings: Settings, enters: bool = False) -> Design:
        """Return the design of other settings, for `apply`; see `SettingChanges.check`."""
        return self._changes.check(settings, enters)

    def apply(self, design: Design, enters: bool = False) -> None:
        """Use a design that was checked, from the next cycle on."""
        self._changes.apply(design, enters)

    # --- loads and external torques ---------------------------------------------------------

    def set_payload(self, payload: Payload) -> None:
        """Set the payload of a link; mass 0 removes it; see `LoadChanges.set_payload`."""
        self._load_changes.set_payload(payload)

    def set_gravity(self, gravity) -> None:
        """Set the gravity vector, (3,) in the base frame; see `LoadChanges.set_gravity`."""
        self._load_changes.set_gravity(gravity)

    def apply_wrench(self, now: float, link: str, wrench) -> None:
        """Take into account a wrench on a link; see `ExternalInputs.apply_wrench`."""
        self._inputs.apply_wrench(now, link, wrench)

    def press(self, now: float, link: str, wrench) -> None:
        """Apply a wrench to the environment by a link; see `ExternalInputs.press`."""
        self._inputs.press(now, link, wrench)

    def reflect(self, now: float, torque) -> None:
        """Reflect another arm's external torque; see `ExternalInputs.reflect`."""
        self._inputs.reflect(now, torque)

    def take_linear_feedback(self, now: float, command: LinearCommand) -> None:
        """Apply a command of linear feedback; see `ExternalInputs.take_linear_feedback`."""
        self._inputs.take_linear_feedback(now, command)

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
    frequency_part = _reported(Status.frequency_part)
    unstable_gains = _reported(Status.unstable_gains)
    missing_rotors = _reported(Status.missing_rotors)
    gains_not_borne = _reported(Status.gains_not_borne)
    feedback_inertia = _reported(Status.feedback_inertia)
    recovery = _reported(Status.recovery)
    states = _reported(Status.states)
    state_problem = _reported(Status.state_problem)
    needs_velocity = _reported(Status.needs_velocity)
    estimated_velocities = _reported(Status.estimated_velocities)
    doubted_velocities = _reported(Status.doubted_velocities)
    unreported_velocities = _reported(Status.unreported_velocities)
    contradicted_velocities = _reported(Status.contradicted_velocities)
    velocity_outliers = _reported(Status.velocity_outliers)

    def silence(self, age: float) -> str:
        """Return why no state is used; age: of the newest one that was, in s."""
        return self.status.silence(age)

    def saturated_joints(self) -> list[str]:
        """Return the joints whose torque was clamped in the last cycle."""
        return self.status.saturated_joints()

    def gravity_torque(self) -> np.ndarray:
        """Return the gravity torque, (nv,), at the last measured, or predicted, position."""
        return self.status.gravity_torque()

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Return the pose of the link at joint positions, (4, 4) in the base frame."""
        return self._arm.dynamics.forward_kinematics(q, self.design.task_gains.link)

    def tool_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the measured pose of the link, and that of its reference."""
        return self.pose(self._m.q), self.pose(self.reference.q)
