"""
Controller of one arm: requests to its control cycle, and its state.

A request that is refused raises, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.activation_checks import (
    check_effort, check_state, recovery_notice, sides_beyond)
from robodyn_ros.control.adaptive.adaptation import Adaptation
from robodyn_ros.control.compiled import CompiledCycle
from robodyn_ros.control.contact.observation import ContactObserver
from robodyn_ros.control.design import Design, require_settings
from robodyn_ros.control.external_laws.compiled_law import CompiledLaw
from robodyn_ros.control.external_laws.linear_feedback import LinearCommand, LinearFeedback
from robodyn_ros.control.external_laws.own_law import OwnLawRunner
from robodyn_ros.control.gain_design import missing_rotors
from robodyn_ros.control.gain_schedule import ScheduledGains
from robodyn_ros.control.host import Host, law_function
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.control.messages import ABORTS, Messages
from robodyn_ros.control.mode import EXTERNAL_LAWS, Mode, MODES
from robodyn_ros.control.pose.target import checked_target
from robodyn_ros.control.pose.task_report import TaskReport
from robodyn_ros.control.program_writer import (
    request, write_constants, write_gain_change, write_gains, write_settings)
from robodyn_ros.control.reflection import Reflection
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.state import BETWEEN, DUE, FROM_STATE, RECEIVED, REQUESTS, SILENT, WAITING
from robodyn_ros.control.steps import acceptance, external_law, feedback_share, motion, shutdown
from robodyn_ros.control.steps.velocity_check import CONTRADICTED, SMALL, WRONG
from robodyn_ros.control.terms import Term
from robodyn_ros.control.torque_bounds import Bounds
from robodyn_ros.control.trajectory_table import Paths
from robodyn_ros.control.verdict import Verdict
from robodyn_ros.control.wrenches import ExternalWrenches
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import check_gravity, Loads
from robodyn_ros.exceptions import ModelError, near_matches, ParameterError, shown, StateError
from robodyn_ros.model import Payload
from robodyn_ros.settings import parameters, values
from robodyn_ros.trajectory import (
    check_feasibility, check_recovery, check_trajectory, Reference, ResultCode, Tolerances,
    Trajectory, TrajectoryPoint)

_MODES = (Mode.INACTIVE, Mode.HOLD, Mode.FLOAT, Mode.TRACK, Mode.STOP, Mode.REACH,
          Mode.LINEAR_FEEDBACK, Mode.CARRY)  # in the order of `steps.motion`
_SAME = 1e-6       # rad or m, difference of the reference from a start state
_LEAD = 0.02       # s from a request to the start of a motion in the native loop,
_CLOSE = 5e-4      # rad or m, difference of its reference from the expected one,
_LATE, _NEAR = 0.05, 5e-3  # s and rad or m by which it may have advanced meanwhile
_NOTICED = 0.05    # reduction of gains that is reported
_LINEAR = Mode.LINEAR_FEEDBACK.value
_USUAL_LAW = 'computed_torque'


@dataclass(frozen=True, eq=False)
class StartState:
    """
    Start of a motion.

    Attributes
    ----------
    moment : float
        Time of the cycle at which the motion starts, in s.
    reference : Reference
        Reference at that time.
    here : (2, nv) array
        Lower and upper bounds of the position: beyond the position limits at most as far as the
        joints are now.
    side : (nv,) array
        1 for a joint in recovery beyond its upper limit, -1 below its lower limit, else 0.

    """

    moment: float
    reference: Reference
    here: np.ndarray
    side: np.ndarray


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
    design : Design
        Present settings, and the gains and bounds of this arm made of them.
    law : str
        Law that follows references, a key of `laws.TRACKING`.
    host : Host
        Memory and program of the cycle.
    loads : Loads
        Known payloads.
    adaptation : Adaptation
        Payload estimated by the adaptive law.
    wrenches, target : ExternalWrenches
        Known external wrenches, and the negative of the wrench that a link is to apply.
    observation : ContactObserver
        External torque and collisions.
    reference : Reference
        Present reference of the joints.
    terms : (12, nv) array
        Terms of the last torque, rows as in `Term`. TOTAL is the torque sent; LIMIT its difference
        from that of the law: saturation, brakes at position limits, transitions, and the limits of
        rate and effort.

    """

    def __init__(self, dynamics: Dynamics, settings: Settings | None = None,
                 own_law: CompiledLaw | OwnLawRunner | None = None, simulated: bool = False):
        settings = settings or Settings()
        self.model = model = dynamics.model
        self.design = design = Design.make(dynamics, settings)
        self.law = settings.mode if settings.mode in TRACKING else _USUAL_LAW
        self._dynamics, self._own = dynamics, own_law
        self._schedule = ScheduledGains(model, settings.gain_schedule)
        self._schedule.check(design.gains)
        self.loads = Loads(dynamics)
        learning_link, tool = settings.adaptive.link or model.tip, design.task_gains.link
        made = CompiledCycle(
            dynamics, tool, learning_link,
            self.loads.parameter_index(learning_link) if self.loads.has_slot(learning_link)
            else None,
            settings.stale.stop, self._schedule.table)
        made.prepare(self.law)
        if isinstance(own_law, CompiledLaw):
            own = own_law.function(made.dimensions)
        else:
            own = own_law and law_function(made.dimensions, self._ask_own)
        self.host = host = Host(made, own)
        self._m, self._p = m, p = host.memory, host.program
        self._messages = Messages(model, tool)
        self._paths = Paths(host)
        self.wrenches = ExternalWrenches(dynamics, m, p.external)
        self.target = ExternalWrenches(dynamics, m, p.target)
        self.reflection = Reflection(model, p.reflection)
        self._linear = LinearFeedback(dynamics, p.external_law)
        self.adaptation = Adaptation(dynamics, self.loads, host, settings.adaptive)
        self.observation = ContactObserver(dynamics, host, self._messages,
                                           settings.observer.link or model.tip)
        reference = m.motion.reference
        self.reference = Reference(reference.q, reference.qd, reference.qdd, reference.effort)
        self.terms = m.terms.reshape(len(Term), model.nv)
        self._latest = -np.inf  # time of the last cycle
        self._task, self.verdict = TaskReport(m.report), Verdict(m.verdict, self._messages)
        self._state = host.state
        self._check_mode(settings.mode)
        self._begin_memory(simulated)

    def _begin_memory(self, simulated: bool) -> None:
        """Write the first program, and the memory of an arm that was never under control."""
        m, p, design = self._m, self._p, self.design
        write_constants(p, design, self.model, simulated)
        write_gains(p, design, self.law)
        self._write_settings(design)
        for springs, stiffness in ((m.springs, design.gains.stiffness),
                                   (m.task_springs, design.task_gains.stiffness)):
            springs.value[:] = springs.target[:] = stiffness
            springs.energy[()] = design.settings.impedance.energy_tank
        m.schedule.fill(1.0)
        model = self.model  # the dynamics may have the loads of another controller
        m.loads.known[:] = m.loads.start[:] = p.loads.target[:] = np.concatenate(
            [model.gravity, np.ravel(model.payload_parameters)])
        m.loads.elapsed[()] = m.loads.duration[()] = -1.0
        m.motion.result[()] = motion.RUNNING
        m.observer.begins[()] = 1.0
        m.acceptance.remark.code[()] = acceptance.NEVER
        m.acceptance.measured[()] = m.acceptance.stamp[()] = m.acceptance.called[()] = -np.inf
        m.acceptance.min_delay[()] = np.inf
        m.walls.lower[:], m.walls.upper[:] = self.model.lower, self.model.upper
        m.share.since[()] = np.inf  # feedback grows from the activation on

    def compile_others(self, done: Callable[[], None]) -> list[str]:
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
               effort: np.ndarray | None = None) -> tuple[np.ndarray, Verdict]:
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
        verdict : Verdict
            What supervision did; of the last call as well.

        """
        state = self._state
        state.q[:], state.qd[:] = q, qd
        state.effort[:] = np.nan if effort is None else effort
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
            self._drop_announced()

    def lose(self) -> None:
        """Record that another node commands the arm: the next state starts control anew."""
        self._p.acceptance.lost += 1.0

    def between(self, now: float) -> tuple[np.ndarray, Verdict]:
        """
        Return the torque between two states: that of the law for the predicted one.

        The prediction has the external torque that the observer sees: what is not in the model
        would otherwise soften feedback, because between two states there would be no error.
        """
        return self.host.run(BETWEEN, now), self.verdict

    def coast(self, now: float, reason: str = '') -> tuple[np.ndarray, Verdict]:
        """
        Return the torque while no state can be used.

        The reference comes to rest, and the law brings there an arm that the model predicts from
        the last state used and the torques since. At rest the gravity torque remains. A motion
        ends with the `reason` as its message.
        """
        self._state.cause[()] = self.cause(reason)
        return self.host.run(SILENT, now), self.verdict

    @property
    def states(self) -> SimpleNamespace:
        """Return the memory of the states that were received, see `steps.acceptance.Memory`."""
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
            why['bound'] = self._state.cause
        return self._messages.text(SimpleNamespace(**why))

    # --- activation and deactivation --------------------------------------------------------

    def activate(self, now: float, q: np.ndarray, qd: np.ndarray, arrival: float = 0.0) -> None:
        """
        Activate at the measured position: the first torque is the gravity torque.

        `arrival` is the time of the steady clock of `receive`.

        Raises
        ------
        StateError
            The state is not finite, or a joint is outside its limits, naming it.

        """
        self.check_state(q, qd)
        self._drop_announced()
        p = self._p
        p.motion.floats[()] = self.settings.mode == Mode.FLOAT.value
        p.external_law.choice[()] = EXTERNAL_LAWS.get(self.settings.mode, external_law.NONE)
        self._state.arrival[()] = arrival
        self._locate(motion.TO_TAKE_OVER, now, q, qd)

    def check_state(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Raise `StateError` if control cannot be activated in this state."""
        check_state(self.model, q, qd, self.settings.position_limits)
        problem = self._overload(self._gravity_torque(q), self.bounds)
        if problem:
            raise StateError(f'{problem}; move the arm to a pose with less gravity torque, or '
                             'raise effort_margin or effort_limit')
        for name, ratio in self.contradicted_velocities.items():
            if not -SMALL < ratio < WRONG:
                reason = self._messages.text(SimpleNamespace(
                    code=CONTRADICTED, joint=self.model.joint_names.index(name), value=ratio,
                    bound=0.0, time=0.0))
                raise StateError(f'{reason}; correct and restart the driver, or move the arm by '
                                 'hand until they agree', joint=name, value=ratio)

    def check_effort(self, q: np.ndarray, qd: np.ndarray, effort: np.ndarray,
                     driver_compensates_gravity: bool = False) -> str:
        """
        Compare the effort of the resting arm, (nv,), with its gravity torque, see `takeover`.

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
        self._ask(motion.TO_DEACTIVATE)

    def shut_down(self, message: str, release: float | None = None) -> None:
        """
        End control within some seconds: see `shutdown_over`, then deactivate. Never raises.

        The built-in law brings the arm to rest; then feedback fades to the gravity torque. An arm
        that swings without feedback is stopped again.

        Parameters
        ----------
        message : str
            How a motion under way ends.
        release : float, optional
            Time in s of a ramp to zero at the end; by default the gravity torque is the last one.

        """
        if self.mode is Mode.INACTIVE:
            return
        p = self._p.motion.shutdown
        p.releases[()], p.release[()] = release is not None, release or 0.0
        p.number += 1.0
        self.stop(message)

    @property
    def shutdown_over(self) -> bool:
        """Whether the last torque of a shutdown has been returned."""
        m, p = self._m.motion.shutdown, self._p.motion.shutdown
        return self.mode is Mode.CARRY and bool(shutdown.over(m, p))

    def resume(self, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """
        Hold at the measured position after silence; feedback grows from zero.

        Also after a pause without calls of `coast`; an arm that floats continues to float.
        """
        if self.mode is not Mode.INACTIVE:
            self._locate(motion.TO_RESUME, now, q, qd)

    def start_from(self, torque: np.ndarray) -> None:
        """Start from the last torque, (nv,), of another commander."""
        self._p.start_torque[:] = torque
        self._p.start += 1.0
        self.host.apply()

    # --- motion -----------------------------------------------------------------------------

    def hold(self) -> None:
        """Decelerate and hold."""
        self._require_ready()
        self._ask(motion.TO_REST, 'hold was requested', disables=1.0)

    def stop(self, message: str) -> None:
        """Decelerate from the present motion, then hold, by the built-in law; never raises."""
        if self.mode is not Mode.INACTIVE:
            self._ask(motion.TO_REST, message, disables=2.0)

    def come_to_rest(self, message: str) -> None:
        """Decelerate and hold with the law that is at work; never raises."""
        if self.mode is not Mode.INACTIVE:
            self._ask(motion.TO_REST, message)

    def compensate_gravity(self) -> None:
        """Compensate gravity without position feedback: the arm floats."""
        self._require_ready()
        self._ask(motion.TO_FLOAT, 'float was requested', disables=1.0)

    def fail(self, fault: str) -> None:
        """Latch a fault and stop; the first fault stays."""
        p = self._p.motion
        p.fault_code[()] = self._code(fault)
        p.fault += 1.0
        self.host.apply()

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
        self._p.motion.reset += 1.0
        self.host.apply()

    def reach(self, position, quaternion) -> None:
        """
        Move the link to a pose, in place of the present motion; in any mode with references.

        Parameters
        ----------
        position : (3,)
            Of its origin in the base frame, in m.
        quaternion : (4,)
            Its orientation: x, y, z, w.

        Raises
        ------
        ArgumentError
            Not finite numbers, or not a unit quaternion.
        StateError
            The arm may not move.

        """
        target = checked_target(position, quaternion)
        self._require_free()
        self._require_inside('a pose')
        self._p.motion.pose.target[:] = target
        self._ask(motion.TO_REACH)

    def follow(self, now: float, joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
               start_delay: float = 0.0, tolerances: Tolerances | None = None) -> float:
        """
        Follow a trajectory from now on, in place of the present motion.

        Parameters
        ----------
        now : float
            Time of the cycle.
        joint_names, points
            As received.
        start_delay : float
            Seconds until the trajectory's time zero.
        tolerances : Tolerances, optional
            In place of those of the settings.

        Returns
        -------
        duration : float
            Seconds until the last point.

        Raises
        ------
        TrajectoryError, StateError
            The trajectory is rejected; the present motion continues.

        """
        start_state = self.start_state()
        trajectory = self.plan(start_state, joint_names, points,
                               now + start_delay if start_delay else None)
        self.begin(start_state, trajectory, tolerances)
        return trajectory.duration

    def start_state(self, lead: float = 0.0) -> StartState:
        """
        Return the start state of a motion, now or in `lead` seconds.

        Raises
        ------
        StateError
            The arm may not move.

        """
        if self.host.remote is not None:
            self.host.remote.refresh()
        self._require_free()
        self._load_dynamics()  # for `plan`
        # time goes on from the reference of the last cycle
        if self.host.remote is not None and self.mode not in (Mode.FLOAT, Mode.REACH):
            lead = max(lead, _LEAD)  # the native loop continues meanwhile
        model, walls = self.model, self._m.walls
        tolerance, side = self.settings.position_limits.tolerance, self._recovering
        seen = np.clip(self._m.q, model.lower - tolerance, model.upper + tolerance)
        here = np.array([np.where(side < 0.0, walls.lower, np.minimum(seen, model.lower)),
                         np.where(side > 0.0, walls.upper, np.maximum(seen, model.upper))])
        return StartState(float(self._m.before) + lead, self._paths.expected(lead), here, side)

    def plan(self, start_state: StartState, joint_names: Sequence[str],
             points: Sequence[TrajectoryPoint], zero: float | None = None) -> Trajectory:
        """
        Return the trajectory along the points, checked; may be called in any thread.

        Parameters
        ----------
        start_state : StartState
            Its moment is time 0 of the result.
        joint_names, points
            As received.
        zero : float, optional
            Time of the cycle from which the points count; default the start state.

        Raises
        ------
        TrajectoryError
            With the result code as evidence.

        """
        delay = 0.0 if zero is None else zero - start_state.moment
        trajectory = check_trajectory(
            self.model, joint_names, points, start_state.reference, start_delay=delay,
            allow_partial_joints=self.settings.allow_partial_joints_goal,
            here=start_state.here)
        model, bounds, limits = self.model, self.bounds, self.settings.position_limits
        check_recovery(model, trajectory, start_state.side, limits.tolerance,
                       limits.recovery_speed)
        check_feasibility(trajectory, self._needed, bounds.usable, model.joint_names,
                          units=model.effort_units, margin=bounds.margin)
        trajectory.table  # computed here, not in the cycle
        return trajectory

    def begin(self, start_state: StartState, trajectory: Trajectory,
              tolerances: Tolerances | None = None) -> bool:
        """
        Follow a planned trajectory from its start state on, in place of the present motion.

        Parameters
        ----------
        start_state, trajectory
            As planned.
        tolerances : Tolerances, optional
            In place of those of the settings.

        Returns
        -------
        bool
            False, without any change, if the start state has passed or differs from the reference
            by now: plan again.

        Raises
        ------
        StateError
            The arm may not move.

        """
        elsewhere = self.host.remote is not None
        if elsewhere:
            self.host.remote.refresh()
        self._require_free()
        lead = start_state.moment - float(self._m.before)
        away = np.abs(self._paths.expected(lead).q - start_state.reference.q).max()
        if self.mode in (Mode.FLOAT, Mode.REACH):
            # the later position of an arm moved by hand is not known; the native loop has
            # continued meanwhile
            late, near = (_LATE, _NEAR) if elsewhere else (0.0, _SAME)
            good = -late <= lead <= 0.0 and away < near
        else:
            good = lead >= 0.0 and away < (_CLOSE if elsewhere else _SAME)
        if not good:
            return False
        self._paths.put(trajectory, start_state.moment, tolerances or self.design.tolerances)
        self._messages.goal_time = float(self._p.motion.upcoming.goal_time)
        self._ask(motion.TO_FOLLOW)
        return True

    # --- settings ---------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """Return the settings as changed last."""
        return self.design.settings

    @property
    def bounds(self) -> Bounds:
        """Return the bounds of the torque of this arm."""
        return self.design.bounds

    def enter(self, mode: str) -> None:
        """
        Change the mode, now and for the next activation.

        Parameters
        ----------
        mode : str
            'gravity_compensation', a law of `laws.TRACKING`, 'own_law' or 'linear_feedback'. A
            law for tracking takes over the motion that is under way; an arm that floats is held.
            While the controller is inactive only its next activation is affected.

        Raises
        ------
        StateError
            A fault is latched, or the law is still being compiled, see `compile_others`.
        ParameterError
            There is no such mode, or no such law.
        ModelError
            The mode adaptive has no link to estimate a payload on.

        """
        if mode not in MODES:
            raise ParameterError(f'there is no mode {shown(mode)}: {near_matches(mode, MODES)}',
                                 parameter='mode', value=mode)
        self.change(replace(self.settings, mode=mode), enters=True)

    def change(self, settings: Settings, enters: bool = False) -> None:
        """
        Use other settings from the next cycle on; the torque goes over smoothly.

        The integral of a joint whose `ki` is 0 is zero from then on. Its torque, for example the
        gravity torque of an unknown load, fades within `transition_time` (at once, but for the
        torque rate limit, where that is 0), and the joint then settles beside its reference. A
        change from one `ki` above 0 to another keeps the integral, and with it the torque.

        Raises as `check_change`, and changes nothing then.
        """
        self.apply(self.check_change(settings, enters), enters)

    def check_change(self, settings: Settings, enters: bool = False) -> Design:
        """
        Return the design of other settings, for `apply`; nothing changes.

        Parameters
        ----------
        settings : Settings
            All settings.
        enters : bool
            Whether the mode is entered even if it is the present one.

        Raises
        ------
        ParameterError
            A wrong length or value; gains that are unstable in contact (`check_shaping`) or where
            the gain schedule has its least factor; bounds with which the arm could not be held
            where it is, naming the joint; a setting that is read-only while there is a controller.
        StateError, ModelError
            As `enter`.

        """
        before = self.settings
        self._check_read_only(settings)
        design = Design.make(self.dynamics, settings, self.design)
        self._schedule.check(design.gains)
        if self.mode is not Mode.INACTIVE and design.bounds.usable.tolist() != (
                self.bounds.usable.tolist()):
            problem = self._overload(self._gravity_torque(self._m.q), design.bounds)
            if problem:
                raise ParameterError(f'{problem}: the arm would fall')
        if enters or settings.mode != before.mode:
            if self.mode is not Mode.INACTIVE:
                self._require_ready()
            self._check_mode(settings.mode)
        return design

    def apply(self, design: Design, enters: bool = False) -> None:
        """Use a design that was checked, from the next cycle on."""
        before, self.design = self.design, design
        enters |= design.settings.mode != before.settings.mode
        law = design.settings.mode if design.settings.mode in TRACKING else self.law
        switches = law != self.law
        if switches:
            self.law = law
            self.target.clear()
        switches |= write_gain_change(self._p, before, design, law)
        program = self.host.values['program'].copy()
        self._write_settings(design)
        if design.settings.adaptive != before.settings.adaptive:
            self.adaptation.change(design.settings.adaptive)
        if switches or not np.array_equal(program, self.host.values['program']):
            self._p.switch += 1.0
        self.host.apply()
        if enters and self.mode is not Mode.INACTIVE:
            self._enter(design.settings.mode)

    def _enter(self, mode: str) -> None:
        """Start a mode of an active controller."""
        if mode == Mode.FLOAT.value:
            self.compensate_gravity()
        elif self.mode is Mode.FLOAT or (mode == _LINEAR and not self._expects_linear):
            self.hold()
        self._p.external_law.choice[()] = EXTERNAL_LAWS.get(mode, external_law.NONE)
        self._p.external_law.request += 1.0
        self.host.apply()

    def _check_mode(self, mode: str) -> None:
        """Raise unless the law of a mode is there; compile it if the controller is inactive."""
        if mode == 'own_law' and self._own is None:
            raise ParameterError('mode own_law needs the parameter own_law: module:Class, or the '
                                 'name of a registered law, see docs/own_law.md',
                                 parameter='own_law')
        if mode not in TRACKING:
            return
        if TRACKING[mode].adapts:
            self.adaptation.require()
        made = self.host.made
        if not made.ready(mode):
            if made.compiling:  # a control thread does not wait for that
                raise StateError(f'law {mode} is still being compiled; try again in a few '
                                 'seconds')
            made.prepare(mode)

    def _check_read_only(self, settings: Settings) -> None:
        """Raise `ParameterError` if a setting differs that cannot change any more."""
        require_settings(settings)
        before, after = values(self.settings), values(settings)
        for row in parameters(Settings):
            if row.read_only and after[row.name] != before[row.name]:
                raise ParameterError(f'parameter {row.name!r} is read-only: make a new controller '
                                     'to change it', name=row.name)

    def _write_settings(self, design: Design) -> None:
        write_settings(self._p, design)
        self.reflection.change(design.bounds.usable, design.settings.reflection)
        self.observation.change(design.settings, design.bounds.usable)

    # --- loads and external torques ---------------------------------------------------------

    def set_payload(self, payload: Payload) -> None:
        """
        Set the payload of a link; mass 0 removes it.

        It is blended in within `load_time`, at once while inactive. On the link of
        `adaptation` it also replaces the estimate.

        Raises
        ------
        ModelError
            The link does not move, no real body has such an inertia, or the motors could not
            hold it; the message names link, value and remedy.

        """
        self._use_loads(self.loads.with_payload(payload), self.loads.gravity,
                        f'payload of {payload.mass:g} kg on link {payload.link!r}',
                        forget=payload.link == self.adaptation.link)

    def set_gravity(self, gravity) -> None:
        """
        Set the gravity vector, (3,) in the frame of the base (m/s^2), blended in as a payload.

        Raises
        ------
        ModelError
            It is not finite, too large, or the motors could not hold the arm.

        """
        check_gravity(gravity)
        self._use_loads(self.loads.payloads, gravity, f'gravity {list(map(float, gravity))}')

    def _use_loads(self, payloads, gravity, what: str, forget: bool = False) -> None:
        active = self.mode is not Mode.INACTIVE
        target = self.loads.runtime_parameters(payloads, gravity)
        if active:
            learned = 0.0 if forget else self._m.loads.learned
            problem = self._overload(
                self.loads.gravity_torque(self._m.q, target + learned), self.bounds)
            if problem:
                raise ModelError(f'{what}: {problem}; check the number and its unit')
        self.loads.payloads, self.loads.gravity = payloads, np.array(gravity, dtype=float)
        p = self._p
        p.loads.target[:] = target
        p.loads.duration[()] = self.settings.load_time if active else 0.0
        p.loads.change += 1.0
        p.learning.forget += forget
        self.host.apply()

    def apply_wrench(self, now: float, link: str, wrench) -> None:
        """
        Take into account a wrench, (6,), that the environment applies to a link.

        It is used for `external_wrench.timeout` while the arm follows or holds; a floating arm
        yields to it. Raises as `ExternalWrenches.apply`, and ModelError for a wrench that the
        motors could not bear here.
        """
        self._check_wrench(link, wrench, 'wrench', 'against it',
                           '; check the sensor and its unit')
        self.wrenches.apply(now, link, wrench, self.settings.external_wrench.timeout)

    def press(self, now: float, link: str, wrench) -> None:
        """
        Apply a wrench, (6,) in the axes of a link, to the environment.

        It is used for `external_wrench.timeout` while a Cartesian law is active. Raises as
        `ExternalWrenches.apply`, StateError in other modes, and ModelError for a wrench that the
        motors could not apply here.
        """
        law = self.law
        if not TRACKING[law].cartesian:
            raise StateError(f'a target wrench is used in the Cartesian modes only, the mode is '
                             f'{law}; set mode to cartesian_impedance or operational_space')
        self._require_ready()
        reaction = -np.asarray(wrench, dtype=float)
        self._check_wrench(link, reaction, 'target wrench', 'for it')
        self.target.apply(now, link, reaction, self.settings.external_wrench.timeout)

    def reflect(self, now: float, torque) -> None:
        """
        Reflect another arm's external torque, (nv,), while this one floats.

        It is used for `external_wrench.timeout`. Raises as `Reflection.take`, and StateError if
        the gain is 0.
        """
        if not self.reflection.enabled:
            raise StateError('reflection.gain is 0: no torque is reflected; set it, for example '
                             'to 0.5')
        self.reflection.take(now, torque, self.settings.external_wrench.timeout)

    def take_linear_feedback(self, now: float, command: LinearCommand) -> None:
        """
        Apply a command of linear feedback, for `linear_feedback.timeout`.

        Raises
        ------
        StateError, ArgumentError
            The command is rejected; the one before is used until its timeout.

        """
        if not self._expects_linear:
            raise StateError('linear feedback is not active: set the parameter mode to '
                             'linear_feedback, again if it was disabled meanwhile')
        self._require_inside('linear feedback')
        self._load_dynamics()  # for the checks
        bounds = self.settings.linear_feedback
        self._linear.take(now, command, (self._m.q, self._m.qd), self.design.gains.armature,
                          self.bounds.usable, bounds)
        self._messages.timeout = bounds.timeout

    @property
    def dynamics(self) -> Dynamics:
        """Return the dynamics, with the present blend of loads."""
        self._load_dynamics()
        return self._dynamics

    def _load_dynamics(self) -> None:
        loads = self._m.loads
        np.add(loads.known, loads.learned, out=self._dynamics.runtime)

    # --- status -----------------------------------------------------------------------------

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
        return None if result == motion.RUNNING else ResultCode(result)

    @property
    def unmet_goal(self) -> str:
        """Return the goal tolerance that a trajectory does not meet after its last point."""
        event = self._paths.unmet_goal(self._m.q, self._m.qd)
        return self._messages.text(event).rsplit(', ', 2)[0] if event else ''

    @property
    def sent(self) -> np.ndarray:
        """Return the torque that was sent last, (nv,)."""
        return self._m.sent

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
    def task(self) -> TaskReport | None:
        """Return the report of a Cartesian law; None while another law is active."""
        led = self.mode in (Mode.FLOAT, Mode.LINEAR_FEEDBACK)
        return self._task if TRACKING[self.law].cartesian and not led else None

    @property
    def effort_limit(self) -> np.ndarray:
        """Effort limits in use, (nv,), in N m or N."""
        return self.bounds.effort

    @property
    def at_rest(self) -> bool:
        """Whether no motion is commanded."""
        return self.mode in (Mode.INACTIVE, Mode.HOLD, Mode.FLOAT, Mode.CARRY)

    @property
    def feedback_part(self) -> float:
        """Return the part of the feedback that the interval of the torques permits."""
        return float(feedback_share.stable_share(
            self._m.share, float(self._p.law_damping), float(self._p.law_stiffness),
            float(self._m.acceptance.plausibility.delay)))

    @property
    def recovery(self) -> str:
        """Return which joints are beyond their limits, and may move inwards only; '' if none."""
        if self.mode is Mode.INACTIVE:
            return ''
        return recovery_notice(self.model, self._m.q, self._recovering)

    @property
    def missing_rotors(self) -> str:
        """Return the joints that seem to lack rotor inertia; '' if none."""
        gains = self.design.gains
        return missing_rotors(self.model, gains.inertia - gains.armature, gains.armature)

    @property
    def gains_not_borne(self) -> dict[str, float]:
        """Return by joint the largest reduction of its gains under the present law."""
        return {name: float(part) for name, part in zip(
            self.model.joint_names, self._m.light.reduction) if part > _NOTICED}

    @property
    def law_at_work(self) -> str:
        """Return the active mode, which may differ from the chosen one."""
        if self.mode is Mode.FLOAT:
            return Mode.FLOAT.value
        active = self._m.external_law.active
        return next((name for name, each in EXTERNAL_LAWS.items() if each == active),
                    self.law)

    @property
    def needs_velocity(self) -> bool:
        """Whether states without velocities cannot be used."""
        return self.settings.velocity_source == 'measured'

    @property
    def estimated_velocities(self) -> list[str]:
        """Joints whose velocity is estimated from positions now."""
        return self._names(self._m.acceptance.plausibility.replaced > 0.0)

    @property
    def doubted_velocities(self) -> list[str]:
        """Joints whose velocity is estimated, although velocities are to be measured."""
        chosen = self.settings.velocity_source == 'estimated'
        return [] if chosen else self.estimated_velocities

    @property
    def unreported_velocities(self) -> list[str]:
        """Joints that report no velocity, or nearly zero while they move."""
        seen = self._m.acceptance.plausibility
        return self._names((seen.absent > 0.0) | (np.abs(seen.mismatch + 1.0) < SMALL))

    @property
    def contradicted_velocities(self) -> dict[str, float]:
        """Ratio of velocity and change of position, of joints where they disagree."""
        return {name: 1.0 + float(each) for name, each in zip(
            self.model.joint_names, self._m.acceptance.plausibility.mismatch)
            if each and abs(each + 1.0) >= SMALL}

    @property
    def velocity_outliers(self) -> int:
        """How many velocities were replaced by estimates because they contradict positions."""
        return int(self._m.acceptance.plausibility.outliers)

    def _names(self, chosen) -> list[str]:
        if not np.any(chosen):  # the usual case, and called often
            return []
        return [name for name, each in zip(
            self.model.joint_names, np.broadcast_to(chosen, self.model.nv)) if each]

    def saturated_joints(self) -> list[str]:
        """Return the joints whose torque was clamped in the last cycle."""
        return self._names(self._m.verdict.saturated)

    def gravity_torque(self) -> np.ndarray:
        """Return the gravity torque, (nv,), at the last measured, or predicted, position."""
        m = self._m
        scale = self.design.gains.safe_gravity_scale
        return self._gravity_torque(m.predicted.q if m.coasting else m.q) * scale

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Return the pose of the link at joint positions, (4, 4) in the base frame."""
        return self._dynamics.forward_kinematics(q, self.design.task_gains.link)

    def tool_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the measured pose of the link, and that of its reference."""
        return self.pose(self._m.q), self.pose(self.reference.q)

    # --- requests to the cycle --------------------------------------------------------------

    def _ask(self, kind: float, text: str = '', disables: float = 0.0, now: float = 0.0) -> None:
        """Write a request into the program, and apply it to the memory at a time."""
        request(self._p, kind, self.cause(text), disables)
        self.host.apply(now)

    def _locate(self, kind: float, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Make a request that starts from a measured state."""
        state = self._state
        state.q[:], state.qd[:] = q, qd
        self._ask(kind, now=now)

    def cause(self, text: str) -> float:
        """Return the code of a text that names the cause of something; 0 for none."""
        return self._code(text) if text else 0.0

    @property
    def has_python_law(self) -> bool:
        """Whether there is an own law in Python."""
        return isinstance(self._own, OwnLawRunner)

    def _code(self, text: str) -> float:
        m = self._m
        evidence = [*vars(m.motion.message).values(), *vars(m.motion.fault).values()]
        return self._messages.code(text, (*evidence, m.external_law.reason))

    def _ask_own(self, runtime: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, float]:
        """Evaluate the own law; return its terms, and the code of a problem."""
        self._dynamics.runtime[:] = runtime
        m, now = self._m, float(self._state.now)
        q, qd, *reference, external = rows[:7]
        problem = self._own.start_or_evaluate(
            bool(m.external_law.active != external_law.OWN), now,
            min(max(0.0, now - float(m.before)), self.settings.stale.stop),
            (q, qd, external), Reference(*reference))
        return self._own.rows, self.cause(problem)

    def _drop_announced(self) -> None:
        """Drop inputs with a timeout."""
        for announced in (self.wrenches, self.target, self.reflection):
            announced.clear()
        self._p.external_law.until[()] = -np.inf

    # --- checks -----------------------------------------------------------------------------

    @property
    def _expects_linear(self) -> bool:
        """Whether linear feedback was chosen."""
        return bool(self._m.external_law.chosen == external_law.LINEAR)

    def _require_ready(self) -> None:
        if self.mode is Mode.INACTIVE:
            raise StateError('the controller is not active; activate it first')
        if self._m.motion.shutdown.attempt:
            raise StateError('the control of the arm is being ended; activate it again first')
        if self.fault:
            raise StateError(f'a fault is latched: {self.fault}; remove its cause, then call '
                             'reset_fault')

    def _require_free(self) -> None:
        """Raise `StateError` if no motion may begin."""
        self._require_ready()
        if self._expects_linear:
            raise StateError('the mode is linear_feedback: torques come from ~/linear_feedback; '
                             'choose another mode, such as computed_torque, to follow '
                             'trajectories')

    @property
    def _recovering(self) -> np.ndarray:
        """Return 1 for joints beyond their upper limit, in recovery, -1 below the lower, (nv,)."""
        walls = self._m.walls
        return sides_beyond(self.model, walls.lower, walls.upper,
                            self.settings.position_limits.tolerance)

    def _require_inside(self, what: str) -> None:
        """Raise `StateError` for a request that is refused while a joint is in recovery."""
        if self.recovery:
            raise StateError(f'{self.recovery}, so {what} is refused: bring it inside by a '
                             'trajectory, or by hand while the arm floats')

    def _check_wrench(self, link: str, wrench, what: str, role: str, remedy: str = '') -> None:
        """Raise `ModelError` for a wrench, (6,), beyond the torque of the motors here."""
        torque = np.abs(self.wrenches.effect(self._m.q, link, wrench))
        share = torque / self.bounds.usable
        j = int(np.argmax(share))
        if share[j] > 1.0:
            raise ModelError(
                f"{what} on link {link!r}: joint '{self.model.joint_names[j]}' would need "
                f'{self._effort(j, torque[j])} {role}, its motor may give '
                f'{self._effort(j, self.bounds.usable[j])}{remedy}', link=link)

    def _overload(self, gravity: np.ndarray, bounds: Bounds) -> str:
        """Return the motor that could not hold the arm with such a gravity torque, or ''."""
        torque = gravity * self.design.gains.safe_gravity_scale
        with np.errstate(divide='ignore', invalid='ignore'):
            share = np.abs(torque) / bounds.usable
        j = int(np.argmax(np.nan_to_num(share)))
        if not share[j] > 1.0:
            return ''
        return (f"joint '{self.model.joint_names[j]}' would need {self._effort(j, torque[j])} to "
                f'hold the arm here, its motor may give {self._effort(j, bounds.usable[j])}')

    def _effort(self, joint: int, value: float) -> str:
        return f'{value:.4g} {self.model.effort_units[joint]}'

    def _gravity_torque(self, q: np.ndarray) -> np.ndarray:
        """Return g(q), (nv,), with the present blend of loads."""
        return self.dynamics.gravity(q)

    def _needed(self, q, qd, qdd):
        """Return the torque of motions, (N, nv), without friction."""
        return self._dynamics.inverse_dynamics(q, qd, qdd) + self.design.gains.armature * qdd
