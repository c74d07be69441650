"""Joint state messages of a simulated arm, and their defects."""

import heapq
import math

import numpy as np

from golden.log_file import on_grid
from golden.simulated import STATES, TICK

_DELAY, _JITTER = 300_000, 120_000  # ns from measurement to arrival: at least, and beyond that


class SimulatedWire:
    """
    A simulated arm that publishes joint states.

    Parameters
    ----------
    robot : Robot
    scenario : dict
        As plain data.
    arm : Arm
        Brakes, if any, are released by the first torque.
    wire : Wire
        Collects the messages.

    """

    def __init__(self, robot, scenario, arm, wire):
        self._names, self._arm, self._wire = robot.names, arm, wire
        self._spells = scenario['spells']
        self._noise = np.random.default_rng(2)
        self._tick, self._pending, self._pushed = 0, [], {}

    def send(self, torque):
        """Apply a torque, in model order, from now on."""
        self._arm.plant.release()
        self._arm.torque = np.array(torque)

    def source(self, end):
        """Return the next message, see `ScriptedTime`."""
        while not (self._pending and self._pending[0][0] <= self._tick * TICK):
            if self._tick * TICK > end:
                break
            self._measure()
        if not self._pending or self._pending[0][0] > end:
            return None
        row = heapq.heappop(self._pending)
        return row[0], self._wire.add(row[0], *row[2:])

    def _measure(self):
        """Publish the state of this tick, and advance to the next."""
        now = self._tick * TICK
        spells = [each for each in self._spells if each[0] <= 1e-9 * now < each[1]]
        self._push(spells)
        kinds = {each[2]: each[3] for each in spells}
        every = kinds.get('every', {'ticks': STATES})['ticks']
        late = int(self._noise.integers(_JITTER))
        if self._tick % every == 0:
            q, qd, effort = self._arm.measured()
            messages = [{'delay': _DELAY + late, 'stamp': now, 'names': list(self._names),
                         'values': [q, qd, effort]}]
            for begin, _, kind, options in spells:
                if kind in ALTERATIONS:
                    messages = [each for message in messages for each in ALTERATIONS[kind](
                        message, begin, **options)]
            for each in messages:
                heapq.heappush(self._pending, (
                    now + each['delay'], len(self._wire.rows) + len(self._pending),
                    each['stamp'], each['names'], *each['values']))
        self._arm.step()
        self._tick += 1

    def _push(self, spells):
        pushes = {options['link']: options['wrench'] for _, _, kind, options in spells
                  if kind == 'push'}
        for link in {*self._pushed, *pushes}:
            self._arm.push(link, pushes.get(link))
        self._pushed = pushes


def silence(message, _begin):
    """Return no message."""
    return []


def permuted(message, _begin):
    """Return the joints in reverse order, with one of another robot."""
    names, values = message['names'][::-1], [each[::-1] for each in message['values']]
    return [{**message, 'names': [names[0], 'finger', *names[1:]],
             'values': [np.insert(each, 1, 1000) for each in values]}]


def split(message, _begin, both=True):
    """Return the first joints, and the others in a second message or not at all."""
    first = {**message, 'names': message['names'][:3],
             'values': [each[:3] for each in message['values']]}
    rest = {**message, 'names': message['names'][3:], 'delay': message['delay'] + 150_000,
            'stamp': message['stamp'] + 100_000,
            'values': [each[3:] for each in message['values']]}
    return [first, rest] if both else [first]


def renamed(message, _begin, names):
    """Return other names for joints by index."""
    return [{**message, 'names': [names.get(str(k), name)
                                  for k, name in enumerate(message['names'])]}]


def foreign(message, _begin):
    """Return joints of another robot only."""
    return [{**message, 'names': [f'other_{name}' for name in message['names']]}]


def without(message, _begin, quantity):
    """Remove a quantity: 0 position, 1 velocity, 2 effort."""
    values = list(message['values'])
    values[quantity] = values[quantity][:0]
    return [{**message, 'values': values}]


def value(message, _begin, joint, **values):
    """Replace values of a joint."""
    changed = [each.copy() for each in message['values']]
    for name, each in values.items():
        changed[('q', 'qd', 'effort').index(name)][joint] = on_grid(each, name)
    return [{**message, 'values': changed}]


def jumped(message, _begin, joint, by):
    """Shift the position of a joint."""
    q, *rest = message['values']
    return [{**message, 'values': [q + on_grid(by, 'q') * (np.arange(len(q)) == joint), *rest]}]


def swapped(message, _begin, joints):
    """Swap the names of two joints."""
    names = list(message['names'])
    for one, other in zip(joints, joints[::-1]):
        names[one] = message['names'][other]
    return [{**message, 'names': names}]


def wrapped(message, _begin, joint):
    """Wrap an angle to [-pi, pi)."""
    q, *rest = message['values']
    turn = on_grid(2.0 * math.pi, 'q')
    q = q.copy()
    q[joint] = (q[joint] + turn // 2) % turn - turn // 2
    return [{**message, 'values': [q, *rest]}]


def stamped(message, begin, ahead=0.0, frozen=False, none=False, speed=1.0):
    """Change the stamp."""
    since = message['stamp'] - round(1e9 * begin)
    stamp = round(1e9 * begin) + (0 if frozen else round(speed * since)) + round(1e9 * ahead)
    return [{**message, 'stamp': -1 if none else stamp}]


def late(message, _begin, by):
    """Delay the arrival."""
    return [{**message, 'delay': message['delay'] + round(1e9 * by)}]


def duplicated(message, _begin):
    """Duplicate the message."""
    return [message, {**message, 'delay': message['delay'] + 400_000}]


ALTERATIONS = {each.__name__: each for each in (
    silence, permuted, split, renamed, foreign, without, value, jumped, swapped, wrapped,
    stamped, late, duplicated)}
