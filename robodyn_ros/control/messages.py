"""Texts of what happened in a control cycle, from the codes and the evidence of its events."""

from __future__ import annotations

import math
from types import SimpleNamespace

from robodyn_ros.control.steps import motion
from robodyn_ros.model import RobotModel
from robodyn_ros.safety import ABSURD

_MISSES = ("joint '{joint}': {what} misses its reference by {value:.4g}, tolerance {bound:g}, "
           '{time:.3f} s after the ')
_LATE = 'last point, goal_time {goal_time:g} s'
# of what follows a template gets: joint, unit, value, bound, time, angle (degrees), and the
# names that `Messages` is given
TEMPLATES = {
    motion.SILENT: '{cause}',
    motion.AT_GOAL: 'the goal is reached',
    motion.OFF_PATH: _MISSES.replace('{what}', 'position') + 'start',
    motion.OFF_PATH_SPEED: _MISSES.replace('{what}', 'velocity') + 'start',
    motion.OFF_GOAL: _MISSES.replace('{what}', 'position') + _LATE,
    motion.OFF_GOAL_SPEED: _MISSES.replace('{what}', 'velocity') + _LATE,
    motion.GIVEN_UP: 'the motion is given up after a pause',
    motion.UNUSABLE: "joint '{joint}' reports position {value}, velocity {bound}; both must be "
                     f'finite numbers below {ABSURD:g}',
    motion.LAW_NOT_FINITE: "desired torque: {value} for joint '{joint}'; sent gravity + damping",
    motion.TORQUE_NOT_FINITE: "desired torque: {value} for joint '{joint}'; gravity + damping is "
                              'not finite either; sent the last torque again',
    motion.COLLIDED: "collision: joint '{joint}' feels {value:.3g} {unit} from outside, its "
                     'collision.threshold is {bound:.3g} {unit}',
    motion.AT_POSE: 'the target pose is reached',
    motion.OUT_OF_REACH: 'the target pose of {link} is out of reach: the reference stops '
                         '{millimetres:.3g} mm and {degrees:.3g} degrees from it',
    motion.NO_LINEAR_FEEDBACK: 'no good message on ~/linear_feedback for {timeout:g} s'}
# events with which the controller, not a request, ends a motion
ABORTS = {motion.SILENT, motion.OFF_PATH, motion.OFF_PATH_SPEED, motion.OFF_GOAL,
          motion.OFF_GOAL_SPEED, motion.GIVEN_UP, motion.OUT_OF_REACH, motion.NO_LINEAR_FEEDBACK}
_SILENCE = 'the joint states are silent'
_KEPT = 256  # texts of requests


class Messages:
    """
    Renders events; texts of requests have codes from `motion.REQUESTED` on.

    Parameters
    ----------
    model : RobotModel
        Of the joints.
    link : str
        Link that moves to poses.

    Attributes
    ----------
    timeout : float
        Seconds that linear feedback counts.
    goal_time : float
        Seconds in which the goal of the last trajectory is to be met.

    """

    def __init__(self, model: RobotModel, link: str):
        self._model, self._link = model, link
        self.timeout = self.goal_time = 0.0
        self._texts: dict[float, str] = {}
        self._codes: dict[str, float] = {}
        self._next = motion.REQUESTED

    def code(self, text: str, referenced=()) -> float:
        """Return the code of a text; `referenced` are the codes whose texts are still wanted."""
        known = self._codes.get(text)
        if known is not None:
            return known
        if len(self._texts) >= _KEPT:
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
            Fields of `motion.Event`.

        """
        code, value, bound = float(event.code), float(event.value), float(event.bound)
        if not code:
            return ''
        if code in self._texts:
            return self._texts[code]
        joint = int(event.joint)
        return TEMPLATES[code].format(
            joint=self._model.joint_names[joint], unit=self._model.effort_units[joint],
            value=value, bound=bound, time=float(event.time), link=self._link,
            millimetres=1e3 * value, degrees=math.degrees(bound), timeout=self.timeout,
            goal_time=self.goal_time,
            cause=self._texts.get(value, _SILENCE))
