"""Texts of the events of a control cycle, from their codes and evidence."""

from __future__ import annotations

import math
from types import SimpleNamespace

from robodyn_ros.control.steps import acceptance, modes, plausibility, velocity_check
from robodyn_ros.control.terms import ABSURD_TORQUE
from robodyn_ros.model import RobotModel
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE
from robodyn_ros.safety import oscillation

_MISSES = ("joint '{joint}': {what} misses its reference by {value:.4g}, tolerance {bound:g}, "
           '{time:.3f} s after the ')
_LATE = 'last point, goal_time {goal_time:g} s'
_SILENT = 'joint states: no good data for {time:.3f} s: '
_JUMP = ("joint '{joint}' has jumped by {value:.3g} in {bound:.3f} s; check encoder, joint "
         'names, and other publishers of joint states')
# why a state is not used
PROBLEMS = {
    acceptance.JUMPED: _JUMP,
    acceptance.NOT_FINITE: "joint '{joint}' reports position {value}, velocity {bound}"}
# fields of a template: joint, unit, speed (its unit), value, bound, time, angle
# (degrees), and those of `Messages`
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
    modes.LAW_NOT_FINITE: "desired torque: {value} for joint '{joint}'; sent gravity + damping",
    modes.TORQUE_NOT_FINITE: "desired torque: {value} for joint '{joint}'; gravity + damping is "
                             'not finite either; sent the last torque again',
    modes.COLLIDED: "collision: external torque of joint '{joint}' is {value:.3g} {unit}, its "
                    'collision.threshold is {bound:.3g} {unit}',
    modes.AT_POSE: 'the target pose is reached',
    modes.OUT_OF_REACH: 'the target pose of {link} is out of reach: the reference stops '
                        '{millimetres:.3g} mm and {degrees:.3g} degrees from it',
    acceptance.NEVER: _SILENT + 'nothing received yet{because}',
    acceptance.UNSTAMPED: _SILENT + 'silent{because}',
    acceptance.SKEWED: (_SILENT + 'stamps are {size:.3f} s {side} the clock; check time '
                        'synchronisation and use_sim_time{because}'),
    acceptance.FROZEN: _SILENT + 'the stamp is frozen at {value:.6f} s{because}',
    acceptance.BACK: _SILENT + 'the stamp went back by {value:.6f} s{because}',
    acceptance.LATE: _SILENT + 'by their stamps messages arrive {value:.3f} s late{because}',
    plausibility.REPEATED: _SILENT + (
        'the same state is repeated, {repetition}{because}'),
    plausibility.ALTERNATING: (
        "joint '{joint}' alternates between two positions, {value:.3g} apart; check for other "
        'publishers of joint states'),
    plausibility.OVERSPEED: "joint '{joint}' moves at {value:.3g} {speed}, {percent:.0f} % of its "
                            'velocity limit {bound:.3g} {speed}',
    velocity_check.CONTRADICTED: (
        "joint '{joint}' reports a velocity that is {value:#.3g} times the change of its "
        'position; {unit_of_velocity}'),
    velocity_check.STANDING: (
        "joint '{joint}' reports velocity {value:.3g} {speed}, and its position stands still; "
        'check its encoder'),
    **{code: _SILENT + f'silent ({text})' for code, text in PROBLEMS.items()},
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
    modes.WANDERS: (
        "joint '{joint}' is {value:.2g} {angle} from where it is held: its feedback, lowered "
        'because it oscillated, does not hold it. Gravity torque and damping remain'),
    modes.UNATTENDED: 'stopped: the process of the controller does not react',
    modes.NO_LINEAR_FEEDBACK: 'no good message on ~/linear_feedback for {timeout:g} s'}
_SILENCES = {code for code, text in TEMPLATES.items() if text.startswith(_SILENT)}
# events of a gap of the states or of the process, after which all is as it was before
GAPS = {modes.SILENT, *_SILENCES, modes.INTERRUPTED, modes.UNATTENDED}
# events with which the controller, not a request, ends a motion
ABORTS = {*GAPS, modes.OFF_PATH, modes.OFF_PATH_SPEED, modes.OFF_GOAL,
          modes.OFF_GOAL_SPEED, modes.OUT_OF_REACH, modes.NO_LINEAR_FEEDBACK}
_SILENCE = 'the joint states are silent'
# ratio of velocity and change of position, and its likely cause
_UNITS = ((math.degrees(1.0), 'it seems to be in degrees per second'),
          (60.0 / math.tau, 'it seems to be in revolutions per minute'),
          (1000.0, 'it seems to be in thousandths of the unit'))
_TOLERANCE = 0.15  # of such a ratio, error by resolution and noise
_STANDS = 1e-3    # rad/s or m/s below which a joint is at rest
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
        value, bound, joint = float(event.value), float(event.bound), int(event.joint)
        model = self._model
        return template.format(
            joint=model.joint_names[joint], unit=model.effort_units[joint],
            speed=model.position_units[joint] + '/s', angle=model.position_units[joint],
            value=value, bound=bound,
            time=float(event.time), link=self._link,
            hertz=value / math.tau, least=100.0 * oscillation.LEAST,
            millimetres=1e3 * value, degrees=math.degrees(bound), timeout=self.timeout,
            goal_time=self.goal_time, percent=100.0 * abs(value) / (bound or 1.0),
            unit_of_velocity=_scale(value),
            repetition=self._repetition(joint, value),
            size=abs(value), side='behind' if value > 0.0 else 'ahead of',
            cause=self._texts.get(value, _SILENCE),
            because=f' ({self._texts[bound]})' if bound in self._texts else '')

    def _repetition(self, joint: int, speed: float) -> str:
        """Return what is wrong with states that are repeated: motion, or no reaction to torque."""
        if abs(speed) < _STANDS:
            return ('and its effort does not follow the torque: the driver has stopped, or the '
                    'brakes hold the arm (emergency stop)')
        model = self._model
        return (f"in which joint '{model.joint_names[joint]}' moves at {speed:.3g} "
                f'{model.position_units[joint]}/s')


def _scale(ratio: float) -> str:
    """Return the likely error of a velocity that is a multiple of the true one."""
    size = abs(ratio)
    unit = next((text for each, text in _UNITS if abs(size - each) < _TOLERANCE * each),
                '' if size < 1.5 else 'it seems to be in another unit')
    sign = 'its sign is opposite' if ratio < 0.0 else ''
    return ', and '.join(each for each in (sign, unit) if each) or 'check its unit'
