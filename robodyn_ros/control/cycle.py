"""
The control cycle of one arm: reference, law, supervision. It returns a torque, whatever happens.

Pure: time is an argument, arrays come in model order, and nothing here knows about ROS.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.braking import LimitBrake
from robodyn_ros.control.external import ExternalWrenches
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.law import ControlLaw
from robodyn_ros.control.memory import Memory, Past
from robodyn_ros.control.motion import Motion
from robodyn_ros.control.prediction import Prediction
from robodyn_ros.control.response import compile_response
from robodyn_ros.control.settings import Bounds, CycleSettings, Mode
from robodyn_ros.control.takeover import unusable_state
from robodyn_ros.control.terms import Term
from robodyn_ros.control.transition import Transition
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.safety import ABSURD, Ramp, Supervisor, Verdict
from robodyn_ros.trajectory import Reference, ResultCode


class Cycle:
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

    """

    def __init__(self, dynamics: Dynamics, gains: Gains, settings: CycleSettings | None = None):
        self.settings = settings = settings or CycleSettings()
        self.model = model = dynamics.model
        self.bounds = bounds = Bounds.from_settings(model, settings)
        self._supervisor = Supervisor(bounds.effort, bounds.rate, model.joint_names,
                                      bounds.margin)
        self._dynamics = dynamics
        self._law = ControlLaw(dynamics, gains, settings.tracking, bounds.usable,
                               settings.energy_tank)
        self._motion = Motion(model, settings)
        self._authority = Ramp(settings.activation_time)
        self._transition = Transition(bounds.usable, settings.transition_time)
        response = compile_response(dynamics)
        self._brake = LimitBrake(model, response)
        self._memory = Memory(self._law, response)
        self._prediction = Prediction(dynamics)
        self.loads, self.wrenches = Loads(dynamics), ExternalWrenches(dynamics)
        self._verdict = Verdict(*np.zeros((2, model.nv), dtype=bool), None)
        self._before = 0.0
        self._coasting = False
        self._q, self._qd, self._desired, self._fallback, self._sent = np.zeros((5, model.nv))
        self.fault = ''
        self.warm()

    # --- what it is doing -------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """Return what it is doing."""
        return self._motion.mode

    @property
    def message(self) -> str:
        """Return how the last motion ended."""
        return self._motion.message

    @property
    def code(self) -> ResultCode | None:
        """Return how the last trajectory ended, see `Motion.code`."""
        return self._motion.code

    @property
    def reference(self) -> Reference:
        """Return what is asked of the joints now."""
        return self._motion.reference

    @property
    def terms(self) -> np.ndarray:
        """
        Terms of the last torque, (12, nv), rows as in `Term`.

        TOTAL is what was sent; LIMIT is all that keeps it from being what the law says:
        saturation, brakes in front of position limits, transitions, and the limits of rate and
        effort.
        """
        return self._law.terms

    @property
    def effort_limit(self) -> np.ndarray:
        """Effort limits that are obeyed, (nv,)."""
        return self.bounds.effort

    @property
    def at_rest(self) -> bool:
        """Whether no motion is asked of the joints."""
        return self.mode in (Mode.INACTIVE, Mode.HOLD, Mode.FLOAT)

    def saturated_joints(self) -> list[str]:
        """Return the joints whose torque was cut in the last cycle."""
        names = self.model.joint_names
        return [name for name, cut in zip(names, self._verdict.saturated) if cut]

    def weight(self) -> np.ndarray:
        """Return the torque that holds the arm still where it was seen last, or is predicted."""
        q = self._prediction.q if self._coasting else self._q
        return self._dynamics.gravity(q) * self._law.gains.weight_scale

    def warm(self) -> None:
        """Compile all that the cycle and the requests call."""
        zero, state = np.zeros(self.model.nv), Reference.zeros(self.model.nv)
        self._law.follow(zero, zero, state)
        self._law.compensate(zero, zero)
        self._dynamics.warm('gravity')
        self._dynamics.inverse_dynamics(zero[None], zero[None], zero[None])

    # --- the cycle --------------------------------------------------------------------------

    def update(self, now: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, Verdict]:
        """
        Return the torque for a fresh state.

        Parameters
        ----------
        now : float
            Seconds, of a clock that never goes back.
        q, qd : (nv,)
            Measured. A state that is not finite is a fault, and counts as silence.

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
        self._coasting = False
        self._q[:], self._qd[:] = q, qd
        dt, motion, gains = self._passed(now), self._motion, self._law.gains
        self.loads.advance(dt)
        external = self.wrenches.torque(now, dt, q)
        if motion.free:
            motion.anchor(q, qd)
            terms = self._law.compensate(q, qd)
        else:
            motion.advance(now, dt, q, qd)
            terms = self._law.follow(q, qd, motion.reference, self._authority.value(now), external,
                                     self._memory.integral.value)
        self._desired[:] = terms[Term.TOTAL]
        self._transition.apply(self._desired, self._sent, dt)
        self._brake.add(self._desired, q, qd, gains.armature, motion.free)
        self._dynamics.gravity(q, out=self._fallback)
        self._fallback *= gains.weight_scale
        self._fallback -= gains.damping * qd
        answer = self._send(now)
        undisturbed = self._authority.value(now) == 1.0 and not self._transition.under_way
        self._memory.advance(Past(dt, q, qd, motion.reference, not motion.free, undisturbed))
        return answer

    def coast(self, now: float) -> tuple[np.ndarray, Verdict]:
        """
        Return the torque while the state is silent.

        The reference comes to rest, and the law brings there an arm that the model predicts from
        the last state seen and the torques since. What remains at rest is the weight.
        """
        if self._motion.following or self.mode is Mode.FLOAT:
            self.stop('the joint states are silent')
        if not self._coasting:
            self._coasting = True
            self._transition.begin()
            self._prediction.start(self._q, self._qd)
        dt, reference, gains = self._passed(now), self._motion.reference, self._law.gains
        predicted = self._prediction
        external = self.wrenches.torque(now, dt, predicted.q)
        predicted.advance(dt, self._sent - external, gains)
        self.loads.advance(dt)
        self._motion.advance(now, dt, reference.q, reference.qd)
        if not predicted.believable(dt, reference.q):  # then it is taken to be where it should
            predicted.start(reference.q, reference.qd)
        terms = self._law.coast(predicted.q, predicted.qd, reference, self._authority.value(now),
                                external)
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
        self._q[:], self._qd[:] = q, qd
        self._before, self._coasting = now, False
        if self.mode is Mode.FLOAT:
            return
        message = ('the motion is given up after a pause' if self.mode is Mode.TRACK
                   else self.message)
        self._motion.anchor(q, qd)
        self._motion.stop(message)
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
        """Decelerate from the present motion, then hold; never raises."""
        if self.mode is Mode.INACTIVE:
            return
        if self.mode is Mode.FLOAT:  # a motion goes over into a stop by itself
            self._transition.begin()
        self._motion.stop(message)

    def fail(self, fault: str) -> None:
        """Latch a fault and stop; the first fault stays."""
        if not self.fault:
            self.fault = fault
        if self._motion.following or self.mode is Mode.FLOAT:
            self.stop(fault)

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
