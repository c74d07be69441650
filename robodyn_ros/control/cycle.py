"""
The control cycle of one arm: reference, law, supervision. It returns a torque, whatever happens.

Pure: time is an argument, arrays come in model order, and nothing here knows about ROS.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.adaptive.adaptation import Adaptation
from robodyn_ros.control.braking import LimitBrake
from robodyn_ros.control.cadence import Cadence
from robodyn_ros.control.contact.observation import Observation
from robodyn_ros.control.external import ExternalWrenches
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.guests.guests import Guests
from robodyn_ros.control.guests.own_law import OwnLawRunner
from robodyn_ros.control.law import COASTING_SWIFTNESS, ControlLaw
from robodyn_ros.control.mean_torque import MeanTorque
from robodyn_ros.control.memory import Memory, Past
from robodyn_ros.control.motion import Motion
from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.control.prediction import Prediction
from robodyn_ros.control.reflection import Reflection
from robodyn_ros.control.response import compile_response
from robodyn_ros.control.settings import Bounds, CycleSettings, Mode
from robodyn_ros.control.status import CycleStatus
from robodyn_ros.control.takeover import unusable_state
from robodyn_ros.control.terms import Term
from robodyn_ros.control.transition import Transition
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.safety import ABSURD, Ramp, Supervisor, Verdict
from robodyn_ros.trajectory import Reference


class Cycle(CycleStatus):
    """
    Closes the torque loop of one arm; what may be asked of it is `ArmController`.

    Parameters
    ----------
    dynamics : Dynamics
        The arm.
    gains : Gains
        Of the laws.
    settings : CycleSettings
        See there.
    own_law : OwnLawRunner, optional
        The law of the user.
    task_gains : TaskGains, optional
        Of the Cartesian laws.

    """

    def __init__(self, dynamics: Dynamics, gains: Gains, settings: CycleSettings | None = None,
                 own_law: OwnLawRunner | None = None, task_gains: TaskGains | None = None):
        self.settings = settings = settings or CycleSettings()
        self.model = model = dynamics.model
        self.bounds = bounds = Bounds.from_settings(model, settings)
        self._supervisor = Supervisor(bounds.effort, bounds.rate, model.joint_names,
                                      bounds.margin)
        self._dynamics = dynamics
        self._law = ControlLaw(dynamics, gains, settings.tracking, bounds.usable,
                               settings.energy_tank, task_gains, settings.gain_schedule)
        self._motion = Motion(dynamics, settings, self._law.task_gains)
        self._authority, self._cadence = Ramp(settings.activation_time), Cadence()
        self._transition = Transition(bounds.usable, settings.transition_time)
        response = compile_response(dynamics)
        self._brake = LimitBrake(model, response)
        self.loads, self.wrenches = Loads(dynamics), ExternalWrenches(dynamics)
        self.target = ExternalWrenches(dynamics)  # what the link is to press, turned round
        self.reflection = Reflection(model, bounds.usable, settings.reflection)
        self.adaptation = Adaptation(dynamics, self.loads, settings.adaptation)
        self._memory = Memory(self._law, response, self.adaptation)
        self._guests = Guests(dynamics, self._law, self._motion, self._transition, self.fail,
                              own_law)
        self._guests.check(settings.guest)
        self._prediction = Prediction(dynamics)
        self.observation = Observation(dynamics, self._law, self.loads, self.wrenches, settings,
                                       bounds.usable)
        self._verdict = Verdict(*np.zeros((2, model.nv), dtype=bool), None)
        self._before = 0.0
        self._coasting = False
        self._q, self._qd, self._desired, self._fallback, self._sent = np.zeros((5, model.nv))
        self._given = MeanTorque(model.nv)
        self.fault = ''
        self.warm()

    def warm(self) -> None:
        """Compile all that the cycle and the requests call."""
        zero, state = np.zeros(self.model.nv), Reference.zeros(self.model.nv)
        self._law.follow(zero, zero, state)
        self._law.compensate(zero, zero)
        self._dynamics.warm('gravity')
        self._dynamics.inverse_dynamics(zero[None], zero[None], zero[None])

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
            What supervision did.

        """
        # the squares are a quick look, the numbers decide
        if not q.dot(q) + qd.dot(qd) < ABSURD and (
                unusable := unusable_state(self.model.joint_names, q, qd)):
            self.fail(unusable)
            return self.coast(now)
        self._see(q, qd)
        elapsed, given = self._given.finish(now - self._before, self._sent)
        seen, motion = self.observation, self._motion
        if reaction := seen.advance(elapsed, q, qd, given, effort, motion.free):
            self.fault = self.fault or f'collision: {seen.told}'
            motion.give_way(reaction == 'float', self.fault, q, qd)
            self._transition.cancel()  # what is left of another torque would push on
            self._guests.dismiss(self.fault)
            self._guests.leave()
        return self._answer(now, q, qd)

    def between(self, now: float) -> tuple[np.ndarray, Verdict]:
        """
        Return the torque between two states: what the law says to the predicted one.

        The prediction has the external torque that the observer sees: what the model does not
        know would otherwise soften feedback, because between two states there would be no error.
        """
        predicted, dt = self._prediction, self._passed(now)
        self._given.add(dt, self._sent)
        predicted.advance(dt, self._sent + self.observation.torque, self._law.gains)
        if not predicted.believable(dt, self._q):
            predicted.start(self._q, self._qd)
        return self._answer(now, predicted.q, predicted.qd)

    def _see(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Take note of a measured state."""
        self._coasting = False
        self._q[:], self._qd[:] = q, qd
        self._prediction.start(q, qd)

    def _answer(self, now: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, Verdict]:
        dt, motion, gains = self._passed(now), self._motion, self._law.gains
        self._cadence.note(dt)
        self.loads.advance(dt)
        authority = self._authority.value(now)
        part = self.feedback_part * authority
        terms = (self._float(now, dt, q, qd) if motion.free
                 else self._follow(now, dt, q, qd, authority, part))
        self._desired[:] = terms[Term.TOTAL]
        self._transition.apply(self._desired, self._sent, dt)
        self._brake.add(self._desired, q, qd, gains.armature, motion.led)
        self._dynamics.gravity(q, out=self._fallback)
        self._fallback *= gains.weight_scale
        self._fallback -= gains.damping * qd
        answer = self._send(now)
        following = not motion.free and not self._guests.at_work
        undisturbed = part == 1.0 and not self._transition.under_way
        self._memory.advance(Past(dt, q, qd, motion.reference, following, undisturbed,
                                  not self.fault))
        return answer

    def _float(self, now: float, dt: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        self._motion.anchor(q, qd)
        self._guests.leave()
        self.wrenches.torque(now, dt, q)  # not borne, but they time out
        return self._law.compensate(q, qd, self.reflection.torque(now, dt))

    def _follow(self, now: float, dt: float, q: np.ndarray, qd: np.ndarray, authority: float,
                part: float) -> np.ndarray:
        self.reflection.clear()  # only a hand feels it, and the next one not what is over
        self._motion.advance(now, dt, q, qd)
        external = self.wrenches.torque(now, dt, q)
        ready = authority == 1.0 and not self.fault
        terms = self._guests.answer(now, dt, (q, qd, external), ready)
        if terms is not None:
            return terms
        if self._law.law.cartesian:
            external = external + self.target.torque(now, dt, q)
        seen = self.observation
        return self._law.follow(q, qd, self._motion.reference, part, external,
                                self._memory.integral.value, seen.disturbance, seen.contact)

    def coast(self, now: float,
              reason: str = 'the joint states are silent') -> tuple[np.ndarray, Verdict]:
        """
        Return the torque while no state can be used.

        The reference comes to rest, and the law brings there an arm that the model predicts from
        the last state seen and the torques since. What remains at rest is the weight. A motion
        ends with the `reason` as its message.
        """
        if self._motion.moves:
            self.come_to_rest(reason, aborted=True)
        self._guests.leave()
        dt, reference, gains = self._passed(now), self._motion.reference, self._law.gains
        if self._coasting:
            self._cadence.note(dt)
        else:  # the prediction makes up for the silence until now
            self._coasting = True
            self._transition.begin()
            self._cadence.reset()
        self.observation.restart()
        predicted = self._prediction
        external = self.wrenches.torque(now, dt, predicted.q)
        predicted.advance(dt, self._sent - external, gains)
        self.loads.advance(dt)
        self._motion.advance(now, dt, reference.q, reference.qd)
        if not predicted.believable(dt, reference.q):  # then it is taken to be where it should
            predicted.start(reference.q, reference.qd)
        authority = self._authority.value(now) * self._cadence.part(*COASTING_SWIFTNESS)
        terms = self._law.coast(predicted.q, predicted.qd, reference, authority, external)
        self._desired[:] = terms[Term.TOTAL]
        self._transition.apply(self._desired, self._sent, dt)
        self._dynamics.gravity(predicted.q, out=self._fallback)
        self._fallback *= gains.weight_scale
        return self._send(now)

    def resume(self, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """
        Hold where the arm is found after silence; feedback grows from nothing.

        Also after a pause in which nobody called `coast`; an arm that floats then goes on.
        """
        if self.mode is Mode.INACTIVE:
            return
        self._see(q, qd)
        self._before = now
        self.observation.restart()
        self._guests.leave()
        if self.mode is Mode.FLOAT:
            return
        moved = self.mode in (Mode.TRACK, Mode.REACH)
        message = 'the motion is given up after a pause' if moved else self.message
        self._motion.anchor(q, qd)
        self._motion.stop(message, aborted=moved or self.aborted)
        # feedback is not there yet to make up for what is left of another torque
        self._transition.cancel()
        self._memory.reset()
        self._authority.jump(0.0)
        self._authority.toward(1.0, now)

    def start_from(self, torque: np.ndarray) -> None:
        """Go on from a torque, (nv,), that somebody else has sent."""
        self._supervisor.reset(torque)
        self._sent[:] = self._supervisor.last

    def stop(self, message: str) -> None:
        """Decelerate from the present motion, then hold, by the built-in law; never raises."""
        self._guests.dismiss(message)
        self.come_to_rest(message)

    def come_to_rest(self, message: str, aborted: bool = False) -> None:
        """Decelerate and hold with the law that is at work, see `aborted`; never raises."""
        if self.mode is Mode.INACTIVE:
            return
        if self._motion.led:  # a motion goes over into a stop by itself
            self._transition.begin()
        self._motion.stop(message, aborted)

    def fail(self, fault: str) -> None:
        """Latch a fault and stop; the first fault stays."""
        if not self.fault:
            self.fault = fault
        self._guests.dismiss(fault)
        if self._motion.moves:
            self.come_to_rest(fault)

    def _passed(self, now: float) -> float:
        """Return the seconds since the last cycle; a clock that leaps or goes back counts not."""
        return min(max(0.0, now - self._before), self.settings.longest_pause)

    def _send(self, now: float) -> tuple[np.ndarray, Verdict]:
        dt, self._before = now - self._before, now
        torque, verdict = self._supervisor.supervise(self._desired, self._fallback, dt)
        self._verdict = verdict
        if verdict.fault:
            self.fail(verdict.fault)
        self._sent[:] = torque
        terms = self._law.terms
        terms[Term.LIMIT] += torque - terms[Term.TOTAL]
        terms[Term.TOTAL] = torque
        return torque, verdict
