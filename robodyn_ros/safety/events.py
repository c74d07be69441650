"""Events of a cycle: a code with its evidence, and the texts of those of measured states."""

from __future__ import annotations

from collections.abc import Mapping
import math
from types import SimpleNamespace

from robodyn_ros.dynamics.jit.blocks import block, scalar
from robodyn_ros.model import RobotModel


@block
class Event:
    """Cause of something that happened: a code, and its evidence."""

    code: float = scalar('', 'Code; 0: no event.')
    joint: float = scalar('', 'Joint.')
    value: float = scalar('', 'Value, in the unit of the code.')
    bound: float = scalar('', 'Bound that it exceeds.')
    time: float = scalar('s', 'Time; meaning depends on the code.')


NOTHING = Event(0.0, 0.0, 0.0, 0.0, 0.0)

# why no state is accepted
NEVER, UNSTAMPED, SKEWED, FROZEN, BACK, LATE, JUMPED, NOT_FINITE = map(float, range(101, 109))
# what is wrong with a state
REPEATED, ALTERNATING, OVERSPEED, CONTRADICTED, STANDING = map(float, range(120, 125))

SILENT = 'joint states: no good data for {time:.3f} s: '
# why a state is not used
PROBLEMS = {
    JUMPED: "joint '{joint}' has jumped by {value:.3g} in {bound:.3f} s; check encoder, joint "
            'names, and other publishers of joint states',
    NOT_FINITE: "joint '{joint}' reports position {value}, velocity {bound}"}
# see `text` for the fields
TEXTS = {
    NEVER: SILENT + 'nothing received yet{because}',
    UNSTAMPED: SILENT + 'silent{because}',
    SKEWED: SILENT + ('stamps are {size:.3f} s {side} the clock; check time synchronisation and '
                      'use_sim_time{because}'),
    FROZEN: SILENT + 'the stamp is frozen at {value:.6f} s{because}',
    BACK: SILENT + 'the stamp went back by {value:.6f} s{because}',
    LATE: SILENT + 'by their stamps messages arrive {value:.3f} s late{because}',
    **{code: SILENT + f'silent ({text})' for code, text in PROBLEMS.items()},
    REPEATED: SILENT + 'the same state is repeated, {repetition}{because}',
    ALTERNATING: "joint '{joint}' alternates between two positions, {value:.3g} apart; check for "
                 'other publishers of joint states',
    OVERSPEED: "joint '{joint}' moves at {value:.3g} {speed}, {percent:.0f} % of its velocity "
               'limit {bound:.3g} {speed}',
    CONTRADICTED: "joint '{joint}' reports a velocity that is {value:#.3g} times the change of "
                  'its position; {unit_of_velocity}',
    STANDING: "joint '{joint}' reports velocity {value:.3g} {speed}, and its position stands "
              'still; check its encoder'}
# ratio of velocity and change of position, and its likely cause
_UNITS = ((math.degrees(1.0), 'it seems to be in degrees per second'),
          (60.0 / math.tau, 'it seems to be in revolutions per minute'),
          (1000.0, 'it seems to be in thousandths of the unit'))
_TOLERANCE = 0.15  # of such a ratio, error by resolution and noise
_STANDS = 1e-3     # rad/s or m/s below which a joint is at rest


def event(code):
    """Return an event without evidence."""
    return Event(code, 0.0, 0.0, 0.0, 0.0)


def text(template: str, event_: SimpleNamespace | Event, model: RobotModel, because: str = '',
         **more) -> str:
    """
    Return a template with the evidence of an event, on floats.

    Parameters
    ----------
    template : str
        With the fields joint, its units: unit (of effort), angle and speed; value, size and side
        (of a difference of clocks), bound, percent, time, repetition, unit_of_velocity.
    event_ : namespace
        Fields of `Event`.
    model : RobotModel
        Model with the names of the joints.
    because : str
        Reason why messages cannot be read.
    **more
        Further fields.

    """
    if not template:  # the usual case
        return ''
    joint, value, bound = int(float(event_.joint)), float(event_.value), float(event_.bound)
    unit = model.position_units[joint]
    fields: Mapping = {
        'joint': model.joint_names[joint], 'unit': model.effort_units[joint], 'angle': unit,
        'speed': f'{unit}/s', 'value': value, 'size': abs(value),
        'side': 'behind' if value > 0.0 else 'ahead of', 'bound': bound,
        'percent': 100.0 * abs(value) / (bound or 1.0), 'time': float(event_.time),
        'unit_of_velocity': _likely_unit(value), 'because': because and f' ({because})',
        'repetition': (
            'and its effort does not follow the torque: the driver has stopped, or the brakes '
            'hold the arm (emergency stop)' if abs(value) < _STANDS else
            f"in which joint '{model.joint_names[joint]}' moves at {value:.3g} {unit}/s")}
    return template.format(**{**fields, **more})


def _likely_unit(ratio: float) -> str:
    """Return the likely error of a velocity that is a multiple of the true one."""
    size = abs(ratio)
    unit = next((name for each, name in _UNITS if abs(size - each) < _TOLERANCE * each),
                '' if size < 1.5 else 'it seems to be in another unit')
    sign = 'its sign is opposite' if ratio < 0.0 else ''
    return ', and '.join(each for each in (sign, unit) if each) or 'check its unit'
