"""What may be asked of an arm under control. Requests raise, and change nothing when they do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodyn_ros.control.contact.collision import checked_threshold
from robodyn_ros.control.contact.feedback import check_shaping
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.guests.guests import GUESTS, LINEAR
from robodyn_ros.control.guests.linear_feedback import LinearCommand
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.control.reaching import Reaching
from robodyn_ros.control.settings import Bounds, CycleSettings, Mode
from robodyn_ros.control.takeover import check_effort, check_state
from robodyn_ros.dynamics.loads import check_gravity
from robodyn_ros.exceptions import ModelError, ParameterError, StateError
from robodyn_ros.model import Payload
from robodyn_ros.model.per_joint import not_negative


class ArmController(Reaching):
    """
    Closes the torque loop of one arm.

    Parameters
    ----------
    dynamics : Dynamics
        The arm; of `with_slots(model)` if it is to take payloads on all of its links.
    gains : Gains
        Of the laws.
    settings : CycleSettings
        See there.

    Attributes
    ----------
    fault : str
        Why the controller refuses motion, empty if it does not. Latched until `reset_fault` or
        the next activation.
    settings : CycleSettings
        As changed last.
    bounds : Bounds
        What they come to for this arm.
    loads : Loads
        What the arm carries.
    adaptation : Adaptation
        What is learned about that by the adaptive law.
    wrenches : ExternalWrenches
        What is known to push it.

    """

    # --- taking over, and leaving -----------------------------------------------------------

    def activate(self, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """
        Take over the arm where it is: the first torque is its weight, and nothing jumps.

        Raises
        ------
        StateError
            The state is not finite, or a joint is outside its limits, naming it.

        """
        self.check_state(q, qd)
        self._see(q, qd)
        self._before = now
        self.wrenches.clear()
        self.target.clear()
        self.reflection.clear()
        self._supervisor.reset(self.weight())
        self._sent[:] = self._supervisor.last
        self._cadence.reset()
        self._authority.jump(0.0)
        self._authority.toward(1.0, now)
        self._memory.reset()
        self.observation.begin()
        self._motion.anchor(q, qd)
        self._motion.stop('')
        self._transition.begin()
        self.fault = ''
        self._guests.leave()
        self._guests.choose(self.settings.guest)
        if self.settings.start_floating:
            self._motion.let_go(Mode.FLOAT, '')

    def check_state(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Raise `StateError` if the arm cannot be taken over in this state."""
        check_state(self.model, q, qd)
        problem = self._unbearable(self._dynamics.gravity(q), self.bounds)
        if problem:
            raise StateError(f'{problem}; bring the arm to where it weighs less, or raise '
                             'effort_margin or effort_limit')

    def check_effort(self, q: np.ndarray, qd: np.ndarray, effort: np.ndarray,
                     driver_compensates_gravity: bool = False) -> str:
        """
        Compare the effort of the resting arm, (nv,), with its weight, see `takeover`.

        Returns
        -------
        notice : str
            Why there was nothing to compare, or only a part; '' if all was.

        Raises
        ------
        StateError
            They contradict each other; the message names the joint, and the likely cause.

        """
        if not self.settings.handshake:
            return ''
        return check_effort(self._dynamics, self.loads, q, qd, effort, self.bounds.handshake,
                            driver_compensates_gravity)

    def deactivate(self) -> None:
        """Forget all motion; the torque to leave behind is `weight`."""
        self._motion.let_go(Mode.INACTIVE, self.message)
        self.loads.settle()

    # --- motion -----------------------------------------------------------------------------

    def hold(self) -> None:
        """Come to rest and stay."""
        self._require_ready()
        self._guests.keep_off('hold was asked for')
        self.come_to_rest('hold was asked for')

    def compensate_gravity(self) -> None:
        """Carry the weight and follow the hand: the arm floats."""
        self._require_ready()
        if self.mode is not Mode.FLOAT:
            self._transition.begin()
        self._guests.keep_off('float was asked for')
        self._motion.let_go(Mode.FLOAT, 'float was asked for')

    def enter(self, mode: str) -> None:
        """
        Work in another mode from now on, and at the next activation.

        Parameters
        ----------
        mode : str
            'gravity_compensation', a law of `laws.TRACKING`, or one of `guests.GUESTS`. A law
            for tracking takes over the motion that is under way; an arm that floats is held.
            While the controller is inactive only its next activation is affected.

        Raises
        ------
        StateError
            A fault is latched.
        ParameterError
            There is no such mode, or no such law.
        ModelError
            A law that learns a payload has no link to put it on.

        """
        floating, guest = mode == Mode.FLOAT.value, mode if mode in GUESTS else ''
        if self.mode is not Mode.INACTIVE:
            self._require_ready()
        self._guests.check(guest)
        if mode in TRACKING and TRACKING[mode].adapts:
            self.adaptation.require()
        if not floating and not guest and self._law.tracking != mode:
            self._law.tracking = mode
            self._transition.begin()
            self.target.clear()
        self.settings = replace(self.settings, tracking=self._law.tracking, guest=guest,
                                start_floating=floating)
        if self.mode is Mode.INACTIVE:
            return
        if floating:
            self.compensate_gravity()
        elif self.mode is Mode.FLOAT or (guest == LINEAR and self._guests.chosen != LINEAR):
            self.hold()
        self._guests.choose(guest)

    def reset_fault(self) -> None:
        """
        Allow motion again.

        Raises
        ------
        StateError
            A collision is not over.

        """
        if self.fault and self.observation.told:
            raise StateError(f'the cause is still there: {self.observation.told}')
        self.fault = self._motion.message = ''

    # --- what the law reckons with ----------------------------------------------------------

    def set_gains(self, gains: Gains) -> None:
        """
        Use other gains from the next cycle on; the torque goes over smoothly.

        The integral of a joint whose `ki` is 0 is zero from then on. Its torque, for example
        the weight of an unknown load, fades within `settings.transition_time` (at once, but for
        the torque rate limit, where that is 0), and the joint then settles beside its reference.
        A change from one `ki` above 0 to another keeps the integral, and with it the torque.

        Raises
        ------
        ParameterError
            They are unstable: in contact, see `check_shaping`, or where the gain schedule has its
            least factor.

        """
        self.check_gains(gains)
        self._law.gains = gains
        self._memory.integral.keep(gains.ki)
        self._law.stiffness.change(gains.stiffness, self.settings.transition_time)
        self._transition.begin()

    def check_gains(self, gains: Gains) -> None:
        """Raise as `set_gains`, and change nothing."""
        check_shaping(gains, self.model)
        self._law.schedule.check(gains)

    def set_bounds(self, settings: CycleSettings) -> None:
        """
        Use the bounds, tolerances and times of other settings from the next cycle on.

        All but law, mode, the link of `adaptation`, `gain_schedule`, `activation_time`,
        `stop_time` and `longest_pause`.

        Raises
        ------
        ParameterError
            A wrong length or value, or the arm could not be held where it is, naming the joint.

        """
        bounds = self.check_bounds(settings)
        self._supervisor.change(bounds.effort, bounds.rate, bounds.margin)  # may still refuse
        self.reflection.change(bounds.usable, settings.reflection)
        self._law.effort_limit = bounds.usable
        self._motion.poses.settings = settings.reach
        self.bounds = bounds
        self.adaptation.settings = settings.adaptation
        self.observation.change(settings.observer, bounds.usable)
        self._transition.change(bounds.usable, settings.transition_time)
        self._transition.begin()
        now = self.settings
        self.settings = replace(
            settings, tracking=now.tracking, guest=now.guest, start_floating=now.start_floating,
            activation_time=now.activation_time, stop_time=now.stop_time,
            longest_pause=now.longest_pause)

    def check_bounds(self, settings: CycleSettings) -> Bounds:
        """Return the bounds of other settings; raises as `set_bounds`, and changes nothing."""
        bounds = Bounds.from_settings(self.model, settings)
        not_negative('reflection.gain', settings.reflection.gain, self.model)
        checked_threshold(self.model, settings.observer.collision.threshold)
        if self.mode is not Mode.INACTIVE:
            problem = self._unbearable(self._dynamics.gravity(self._q), bounds)
            if problem:
                raise ParameterError(f'{problem}: the arm would fall')
        return bounds

    def set_payload(self, payload: Payload) -> None:
        """
        Reckon with a payload, in place of what its link carried; mass 0 is none.

        It is blended in within `settings.load_time`, at once while inactive. On the link of
        `adaptation` it also takes the place of what was learned.

        Raises
        ------
        ModelError
            The link does not move, no real body has such an inertia, or the motors could not
            hold it; the message names link, value and remedy.

        """
        payloads = self.loads.with_payload(payload)
        self._take_loads(payloads, self.loads.gravity,
                         f'payload of {payload.mass:g} kg on link {payload.link!r}',
                         forget=payload.link == self.adaptation.link)

    def set_gravity(self, gravity) -> None:
        """
        Reckon with another gravity, (3,) in the frame of the base (m/s^2), as with a payload.

        Raises
        ------
        ModelError
            It is not finite, too large, or more than the motors could hold.

        """
        check_gravity(gravity)
        self._take_loads(self.loads.payloads, gravity, f'gravity {list(map(float, gravity))}')

    def apply_wrench(self, now: float, link: str, wrench) -> None:
        """
        Reckon with a wrench, (6,), that the environment applies to a link.

        It counts for `settings.wrench_timeout` while the arm follows or holds; a floating arm
        gives way to it. Raises as `ExternalWrenches.apply`, and ModelError for a wrench that the
        motors could not bear here.
        """
        self._check_wrench(link, wrench, 'wrench', 'against it',
                           '; check the sensor and its unit')
        self.wrenches.apply(now, link, wrench, self.settings.wrench_timeout)

    def reflect(self, now: float, torque) -> None:
        """
        Let the hand feel another arm's external torque, (nv,), while this one floats.

        It counts for `settings.wrench_timeout`. Raises as `Reflection.take`, and StateError if
        none of it is to be shown.
        """
        if not self.reflection.shown:
            raise StateError('reflection.gain is 0: nothing of it is shown; set a part, 0.5 say')
        self.reflection.take(now, torque, self.settings.wrench_timeout)

    def take_linear_feedback(self, now: float, command: LinearCommand) -> None:
        """
        Let the arm do what a command says, for `settings.linear.timeout`.

        Raises
        ------
        StateError, ArgumentError
            Why not; the command before counts until it is out of date.

        """
        self._guests.check_expected()
        self._guests.linear.take(now, command, (self._q, self._qd), self._law.gains.armature,
                                 self.bounds.usable, self.settings.linear)

    def _take_loads(self, payloads, gravity, what: str, forget: bool = False) -> None:
        active = self.mode is not Mode.INACTIVE
        if active:
            self._check_bearable(self.loads.planned(payloads, gravity, not forget), what)
        if forget:
            self.adaptation.forget()
        self.loads.change(payloads, gravity, self.settings.load_time if active else 0.0)

    def _check_bearable(self, numbers: np.ndarray, what: str) -> None:
        """Raise `ModelError` if a motor could not hold the arm with such loads."""
        problem = self._unbearable(self.loads.weight(self._q, numbers), self.bounds)
        if problem:
            raise ModelError(f'{what}: {problem}; check the number and its unit')

    def _unbearable(self, gravity: np.ndarray, bounds: Bounds) -> str:
        """Return which motor could not hold the arm against such a gravity, or ''."""
        weight = gravity * self._law.gains.weight_scale
        with np.errstate(divide='ignore', invalid='ignore'):
            share = np.abs(weight) / bounds.usable
        j = int(np.argmax(np.nan_to_num(share)))
        if not share[j] > 1.0:
            return ''
        return (f"joint '{self.model.joint_names[j]}' would need {self._effort(j, weight[j])} to "
                f'hold the arm here, its motor may give {self._effort(j, bounds.usable[j])}')
