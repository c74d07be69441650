"""Texts of the events of a control cycle, from their codes and evidence."""

from __future__ import annotations

import math
from types import SimpleNamespace

from robodyn_ros.control.steps import modes
from robodyn_ros.control.terms import ABSURD_TORQUE
from robodyn_ros.model import RobotModel
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE, oscillation
from robodyn_ros.safety.events import PROBLEMS, SILENT, text, TEXTS
from robodyn_ros.safety.limits import NOT_FINITE

_MISSES = ("joint '{joint}': {what} misses its reference by {value:.4g}, tolerance {bound:g}, "
           '{time:.3f} s after the ')
_LATE = 'last point, goal_time {goal_time:g} s'
# fields: those of `safety.events.text`, and of `Messages`
TEMPLATES = {
    modes.SILENT: '{cause}',
    modes.AT_GOAL: 'the goal is reached',
    modes.OFF_PATH: _MISSES.replace('{what}', 'position') + 'start',
    modes.OFF_PATH_SPEED: _MISSES.replace('{what}', 'velocity') + 'start',
    modes.OFF_GOAL: _MISSES.replace('{what}', 'position') + _LATE,
    modes.OFF_GOAL_SPEED: _MISSES.replace('{what}', 'velocity') + _LATE,
    modes.INTERRUPTED: 'the motion is given up after a gap of states or torques',
    modes.UNUSABLE: "joint '{joint}' reports position {value}, velocity {bound}; both must be "
                    f'finite numbers below {MAX_PLAUSIBLE_VALUE:g}',
    modes.LAW_NOT_FINITE: NOT_FINITE[1],
    modes.TORQUE_NOT_FINITE: NOT_FINITE[2],
    modes.COLLIDED: "collision: external torque of joint '{joint}' is {value:.3g} {unit}, its "
                    'collision.threshold is {bound:.3g} {unit}',
    modes.AT_POSE: 'the target pose is reached',
    modes.OUT_OF_REACH: 'the target pose of {link} is out of reach: the reference stops '
                        '{millimetres:.3g} mm and {degrees:.3g} degrees from it',
    **TEXTS,
    modes.OWN_LAW: f'own law: its torque is not a finite number below {ABSURD_TORQUE:g} N m',
    modes.OSCILLATES: (
        "joint '{joint}' oscillates at {hertz:.3g} Hz with {least:.0f} % of its natural "
        'frequency: the delay from its torque to its velocity is far larger than stamps show, '
        'its joint is elastic, or its velocity is wrong'),
    modes.CARRIED_TWICE: (
        "joint '{joint}' left its place by {value:.2g} {angle} in {time:.2f} s as if it were "
        'carried twice: the driver adds the gravity torque as well. Deactivate the controller, '
        'set driver_compensates_gravity: true, and activate it again'),
    modes.NOT_CARRIED: (
        "joint '{joint}' fell by {value:.2g} {angle} in {time:.2f} s as if nobody carried it: the "
        'torques are not applied, have another sign or scale, or driver_compensates_gravity is '
        'true although the driver does not'),
    modes.PULLED: (
        "joint '{joint}' left its place by {value:.2g} {angle} in {time:.2f} s, and gravity does "
        'not explain it: a stiffness of the drives pulls it elsewhere, or somebody moves it. Set '
        'the gains of the drives to 0'),
    modes.WANDERS: (
        "joint '{joint}' is {value:.2g} {angle} from where it is held: its feedback, lowered "
        'because it oscillated, does not hold it. Gravity torque and damping remain'),
    modes.DRIVEN: (
        "joint '{joint}' leaves its place, {value:.2g} {angle} so far, driven by the feedback: "
        'its torque, or that of a joint beside it, has another sign. The arm gets no torque any '
        'more; correct effort_scale, or the direction of the motors in the driver'),
    modes.UNATTENDED: 'stopped: the process of the controller does not react',
    modes.NO_LINEAR_FEEDBACK: 'no good message on ~/linear_feedback for {timeout:g} s'}
_SILENCES = {code for code, each in TEXTS.items() if each.startswith(SILENT)}
# events of a gap of the states or of the process, after which all is as it was before
GAPS = {modes.SILENT, *_SILENCES, modes.INTERRUPTED, modes.UNATTENDED}
# events with which the controller, not a request, ends a motion
ABORTS = {*GAPS, modes.OFF_PATH, modes.OFF_PATH_SPEED, modes.OFF_GOAL,
          modes.OFF_GOAL_SPEED, modes.OUT_OF_REACH, modes.NO_LINEAR_FEEDBACK}
_SILENCE = 'the joint states are silent'
_MAX_TEXTS = 256  # of requests


class Messages:
    """
    Texts of events; those of requests have codes from `modes.REQUESTED` on.

    Parameters
    ----------
    model : RobotModel
        Model with the names of the joints.
    link : str
        Link that moves to poses.

    Attributes
    ----------
    timeout : float
        Time in s for which linear feedback is valid.
    goal_time : float
        Time in s in which the goal of the last trajectory must be reached.

    """

    def __init__(self, model: RobotModel, link: str):
        self._model, self._link = model, link
        self.timeout = self.goal_time = 0.0
        self._texts: dict[float, str] = {}
        self._codes: dict[str, float] = {}
        self._next = modes.REQUESTED

    def code(self, text: str, referenced=()) -> float:
        """Return the code of a text; `referenced`: codes whose texts must be kept."""
        known = self._codes.get(text)
        if known is not None:
            return known
        if len(self._texts) >= _MAX_TEXTS:
            kept = {code: self._texts[code] for code in self._texts if code in referenced}
            self._texts, self._codes = kept, {each: code for code, each in kept.items()}
        self._next += 1.0
        self._texts[self._next], self._codes[text] = text, self._next
        return self._next

    def text(self, event: SimpleNamespace) -> str:
        """
        Return the text of an event, '' if nothing happened.

        Parameters
        ----------
        event : namespace
            Fields of `modes.Event`.

        """
        code = float(event.code)
        return self._texts.get(code) or self._rendered(TEMPLATES.get(code, ''), event)

    def problem(self, event: SimpleNamespace) -> str:
        """Return why a state is not used, '' if it is."""
        return self._rendered(PROBLEMS.get(float(event.code), ''), event)

    def _rendered(self, template: str, event: SimpleNamespace) -> str:
        if not template:  # the usual case
            return ''
        value, bound = float(event.value), float(event.bound)
        return text(
            template, event, self._model, self._texts.get(bound, ''), link=self._link,
            hertz=value / math.tau, least=100.0 * oscillation.LEAST, millimetres=1e3 * value,
            degrees=math.degrees(bound), timeout=self.timeout, goal_time=self.goal_time,
            cause=self._texts.get(value, _SILENCE))
