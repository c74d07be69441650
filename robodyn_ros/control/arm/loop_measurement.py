"""
Measurement of the loop of each joint while the arm is held, and what gains follow.

The joints are given doublets of torque in turn, which grow until the velocity shows what the loop
is, see `steps.loop_probe` and `loop_response`. The arm moves by less than a milliradian as a rule,
and never by more than 2 mrad in a doublet, which ends one.

An arm that nobody has measured may be elastic, or late, and is held softly until this is over. A
motion before that has the whole feedback: it could not follow its reference with less.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
import math

import numpy as np

from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.loop_response import (
    answer, certain, Doublet, MeasuredLoop, Response, SOFT)
from robodyn_ros.control.arm.status import Status
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.steps import loop_probe
from robodyn_ros.dynamics.usual_inertia import likely_rotors
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.settings import per_joint

CAUTION = 0.5      # reduction of the natural frequencies as long as no loop was measured
_HOLDS = Mode.INACTIVE, Mode.HOLD, Mode.FLOAT, Mode.STOP, Mode.PASSIVE
_LENGTH, _LONGEST = 4e-3, 16e-3  # s, L, at least two intervals of the torques; longest
_TAIL, _STATES = 0.05, 12.0  # s of record after the doublet, at least; states in it
_PAUSE = 0.02      # s between two doublets,
_SETTLED = 0.15    # and of the same joint
_MOTION = 0.5      # s without a doublet when a motion is about to begin
_AGAIN = 0.2       # s after one that was interrupted
_WATCHED = 0.5     # s after one that moved too far: whether the arm oscillates is seen then
_FIRST = 0.01      # rad/s or m/s, speed of the first doublet, with the least likely inertia,
_RINGING = 0.01    # and that shows a resonance
_LARGEST = 0.06    # of the effort limit
_AT_FIRST = 0.3    # of the velocity limit, that no joint may reach before one has moved
_HIDDEN = 4.0      # times the noise, below which the velocity shows nothing
_CREEP = 2e-3      # rad/s or m/s, that friction which holds a joint may let it move
_AT_REST = 1e-5    # rad/s or m/s, of a joint that does not move: rounding, and presliding
_ONE_WAY = 0.7     # of the way, by which a joint that slipped is displaced
_FASTER = 4.0      # factor of the torque then
_FAST = 0.1        # rad/s or m/s, that shows enough
_FURTHEST = 7e-4   # rad or m, displacement beyond which doublets do not grow
_EXCEEDED = 2      # doublets that moved too far, after which a joint is given up
_STICKS = 0.85     # of the torque, that is friction;
_MOSTLY = 0.6      # of one that moved the joint too far
_SLIPPED = 4       # and those during which it slipped
_TURNED = 2        # doublets in a row that a joint answers with the other sign
_ALIKE = 0.15      # of ln J, from one doublet to the next larger one
_REPEAT = 2.0      # s after which an arm that does not answer is measured again
_USABLE = 0.4      # standard deviation of ln J of a result that is better than none


class _Joint:
    """Doublets of one joint, each chosen by what the one before has shown."""

    def __init__(self, index: int, most: float, lightest: float, speed: float, interval: float):
        self.index, self._most, self.length = index, most, max(_LENGTH, 2.0 * interval)
        self.lightest = lightest
        self._longest = max(_LONGEST, 2.0 * self.length)
        # torques may come to be executed at any moment: none that moves a joint fast then
        self._most_at_first = min(most, _AT_FIRST * speed * lightest / self.length)
        self.amplitude = min(_FIRST * lightest / self.length, 0.25 * most)
        self.response: Response | None = None
        self.over = not self.amplitude > 0.0  # no effort limit, or none of its own
        self.waits = False  # for another joint that moves with its torque
        self.after, self._exceeded, self._slipped = -math.inf, 0, 0
        self._doublets: list[Doublet] = []
        self.seen = self.moved = False  # whether its velocity answered, or moved at all
        self.turned = 0  # doublets in a row that it answered with the other sign
        self.fit: Future | None = None

    @property
    def result(self) -> Response | None:
        """Return the response, if it is better than none."""
        found = self.response
        return found if found is not None and found.uncertainty <= _USABLE else None

    def add(self, doublet: Doublet, pool: ThreadPoolExecutor) -> None:
        """Analyse a doublet, with the one before, in a thread."""
        self._doublets = [*self._doublets, doublet][-2:]
        self.fit = pool.submit(answer, self._doublets)

    def exceed(self) -> None:
        """Take note of a doublet that moved the arm too far."""
        self.moved = True
        self._exceeded += 1
        self.over = self._exceeded >= _EXCEEDED
        self.amplitude *= 0.25
        self._doublets.clear()

    def take_answer(self) -> None:
        """Take note of the response that was found."""
        assert self.fit is not None
        try:
            found, turned = self.fit.result()
        except (ArithmeticError, ValueError):  # numbers that no analysis is made for
            found, turned = None, False
        self.turned = self.turned + 1 if turned else 0
        self.fit, before = None, self.response
        last = self._doublets[-1]
        # a joint whose inertia is not known yet may drift in its hold
        steps = (last.speeds[:-1] - last.speeds[0]) * np.diff(last.times)
        way = float(np.abs(np.cumsum(steps)).max(initial=0.0))
        # what dry friction lets go on one side only is no response of the loop
        slips = abs(float(steps.sum())) > _ONE_WAY * float(np.abs(steps).sum()) and (
            found is None or found.friction > _STICKS * last.amplitude)
        # nor is what it just lets go too far
        far = way > _FURTHEST
        slips |= far and found is not None and found.friction > _MOSTLY * last.amplitude
        # and one that friction holds gives way as on a spring
        if slips or turned or found is not None and found.resonance and last.peak < _RINGING:
            found = None
        # below its friction a joint moves like one with more inertia: the larger torque is right
        confirmed = (found is not None and before is not None and certain(found)
                     and last.peak > _CREEP
                     and certain(before)
                     and abs(math.log(found.inertia / before.inertia)) < _ALIKE)
        if certain(found) or not certain(before):
            self.response = found or before
        answers = last.answers and last.peak > max(_HIDDEN * last.noise, _AT_REST)
        self.seen = answers and not slips
        self.moved = self.moved or answers
        self._slipped += far and slips
        self.over = (confirmed or self.turned >= _TURNED or self._slipped >= _SLIPPED
                     or far and not (slips and last.peak < _FAST)
                     or bool(certain(found)) and last.peak > _FAST)
        if 0 < self.turned < _TURNED:  # once more, without feedback
            self.over = False
            self.amplitude *= 0.25 if far else 0.5

    def choose(self, alive: bool) -> None:
        """Choose the next doublet; alive: whether a joint has moved with its torque."""
        most = self._most if alive else self._most_at_first
        self.waits = False
        if self.over or not self._doublets:
            return
        if self.amplitude < 0.99 * most:
            self.amplitude = min((2.0 if self.seen else _FASTER) * self.amplitude, most)
        elif not alive:
            self.waits = True
        elif self.length < 0.99 * self._longest:
            self.length = min(2.0 * self.length, self._longest)
            self._doublets.clear()
        else:
            self.over = True


class LoopMeasurement:
    """
    Measures the loops of all joints in the hold.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.

    Attributes
    ----------
    result : MeasuredLoop or None
        Result; None until all joints were measured, or given up.

    """

    def __init__(self, arm: ControlledArm, status: Status):
        self._arm, self._status = arm, status
        self._pool: ThreadPoolExecutor | None = None
        self.result: MeasuredLoop | None = None
        self._cautious = False
        self._clear()

    @property
    def running(self) -> bool:
        """Whether joints are being measured, or wait for a hold."""
        return self._begun

    def begin(self) -> None:
        """Measure all joints, from the next hold on."""
        self._clear()
        self.result, self._begun = None, True
        loop, settings = self._arm.design.loop, self._arm.design.settings
        # given rotors were measured; and in a soft hold a torque of the other sign shows later,
        # for which arms are watched that their driver carries
        self._cautious = (loop is None or not loop.answers) and not (
            np.any(settings.armature) or settings.limits.driver_compensates_gravity)
        self._pool = ThreadPoolExecutor(1, 'measurement of the loop')

    def stop(self) -> None:
        """End the measurement; a doublet under way ends by itself."""
        self._clear()
        self._cautious = False
        self._soften()

    def _clear(self) -> None:
        self._begun, self._after = False, -math.inf
        self._arm.program.feedback.found[()] = self._arm.design.found_delay > 0.0
        self._joints: list[_Joint] = []
        self._probed: _Joint | None = None
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def give_way(self) -> float:
        """Begin no doublet for a moment; return the time in s until the present one is over."""
        m = self._arm.memory
        self._after = max(self._after, float(m.last_time) + _MOTION)
        if self._probed is None:
            return 0.0
        return max(float(self._arm.program.probe.window - m.probe.elapsed), 0.0) + _PAUSE

    def update(self, wait: bool = False) -> bool:
        """
        Continue; return True when the result has just become known.

        To be called often, from the thread that makes requests. wait: until records are analysed,
        which takes some hundredths of a second, instead of leaving that to a thread.
        """
        if not self._begun:
            if self.result is None or self.result.answers or (
                    abs(float(self._arm.memory.last_time) - self._after) < _REPEAT):
                return False
            self.begin()
        if not self._arm.program.feedback.found:
            self._arm.program.feedback.found[()] = 1.0
            self._arm.host.apply()
        self._cautious &= self._status.mode in _HOLDS
        judged = [each for each in self._joints
                  if each.fit is not None and (wait or each.fit.done())]
        for each in judged:
            each.take_answer()
        self._soften()
        alive = any(each.moved for each in self._joints)
        for each in self._joints:
            if each in judged or alive and each.waits:
                each.choose(alive)
        if self._probed is not None:
            self._read_record(self._probed)
        elif self._status.mode is Mode.HOLD and not self._status.fault:
            self._probe_next()
        return not self._begun

    def _soften(self) -> None:
        """Reduce the feedback; a joint that moves against its torque has none."""
        p, design = self._arm.program, self._arm.design
        if design.loop is not None and design.loop.answers:
            soft = design.loop.softness
        elif self._cautious:
            # light joints have feedback for the smaller of inertia and likely rotor already
            soft = np.where(design.gains.inertia > likely_rotors(self._arm.model), CAUTION, 0.0)
        else:
            soft = np.zeros_like(p.probe.softness)
        for each in self._joints:
            if each.turned:
                soft[each.index] = 1.0
            elif each.response is not None:  # it moves with its torque, if it did not before
                soft[each.index] = min(soft[each.index], SOFT)
        if (soft == p.probe.softness).all():
            return
        # what is taken away is gone at once
        p.switch += float((soft < p.probe.softness).any())
        p.probe.softness[:] = soft
        self._arm.host.apply()

    def _probe_next(self) -> None:
        """Request the next doublet, if it is time; end when no joint needs one."""
        arm, m = self._arm, self._arm.memory
        now = float(m.last_time)
        if not self._joints:
            limit, interval = arm.bounds.usable, float(m.feedback.usual)
            most = np.where(np.isfinite(limit), _LARGEST * limit, 0.0)
            self._q = m.q.copy()
            self._joints = [
                _Joint(j, float(a), float(J), float(v), interval) for j, (a, J, v) in enumerate(
                    zip(most, arm.design.gains.lightest_inertia, speeds(arm.model)))]
        waiting = [each for each in self._joints if not (each.over or each.waits)]
        if not waiting:
            self._finish()
            return
        # light joints swing most as long as they are not known
        first = min(waiting, key=lambda each: (each.after, each.lightest))
        if now < self._after - 1.0:  # the clock was set back
            self._after = now
        if first.fit is not None or now < max(self._after, min(first.after, now + _SETTLED)):
            return
        p = arm.program.probe
        p.joint[()], p.length[()] = first.index, first.length
        p.amplitude[()] = first.amplitude
        p.window[()] = loop_probe.ENDS[-1] * first.length + max(
            _TAIL, _STATES * float(m.feedback.usual))
        p.request += 1.0
        self._probed = first
        arm.host.apply()

    def _read_record(self, joint: _Joint) -> None:
        """Read the record of the doublet that was requested, once it is complete."""
        m, now = self._arm.memory.probe, float(self._arm.memory.last_time)
        if m.request != self._arm.program.probe.request or m.result == loop_probe.UNDER_WAY:
            return
        self._probed, self._after = None, max(self._after, now + _PAUSE)
        joint.after = now + _SETTLED
        if m.result == loop_probe.INTERRUPTED:
            self._after = now + _AGAIN
        elif m.result == loop_probe.EXCEEDED:
            self._after = now + _WATCHED
            joint.exceed()
        else:
            assert self._pool is not None
            count = int(m.count)
            record = Doublet(float(self._arm.program.probe.amplitude), tuple(map(float, m.edges)),
                             m.times[:count].copy(), m.speeds[:count].copy(), float(m.qd))
            joint.add(record.without_drift(), self._pool)

    def _finish(self) -> None:
        arm = self._arm
        known = per_joint('armature', arm.design.settings.armature, arm.model.joint_names)
        self.result = replace(MeasuredLoop.of(
            [each.result for each in self._joints],
            np.array([each.seen for each in self._joints]),
            arm.loaded_dynamics().mass_matrix(self._q), known,
            np.array([each.amplitude for each in self._joints]), float(arm.memory.feedback.usual),
            arm.memory.oscillation.factor < 1.0, arm.design.gains),
            answers=any(each.moved for each in self._joints) or not any(
                each.waits for each in self._joints),
            turned=np.array([each.turned >= _TURNED for each in self._joints]),
            still=np.array([0.0 if each.moved else each.amplitude for each in self._joints]))
        self._clear()
        self._after = float(arm.memory.last_time)  # see `_REPEAT`
