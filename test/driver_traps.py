"""
What becomes of an arm whose driver is not what its profile says: every profile with every trap.

    python test/driver_traps.py      writes test/driver_traps.csv, a row per profile and trap,
                                     and the same as a table for people in docs/data

The arm is robodyn6 or robodyn7, by the number of joints; the profile decides who carries it, what
is reported, how often, and what is commanded. The controller is made as a node does after `robodyn
arm NAME --write`; its checks before the activation are those of the node.
"""

import csv
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
from robodyn_ros import arms
from robodyn_ros.control import ArmController, drive, Settings
from robodyn_ros.control.rollout import ENDINGS
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.loads import with_slots
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import COMMAND
from robodyn_ros.settings import with_values
from robodyn_ros.safety.drive import falls_in_silence, Program
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.driver import Driver, DriverSettings
from robodyn_ros.trajectory import TrajectoryPoint

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / 'test' / 'driver_traps.csv'
TABLE = ROOT / 'docs' / 'data' / 'driver_habits.txt'
HEAD = """\
Arms whose driver is otherwise than its profile says

date:    {date}
machine: any; the figures do not depend on it
command: python test/driver_traps.py

Every profile with every habit, in the first seconds, with robodyn6 or robodyn7 as the arm, held
for 0.6 s, in rows about torques until the loop is measured, then moved by 0.1 rad. The profile
decides who carries the arm, what is reported, how often, and what is commanded. Numbers are the
largest distance from the reference in mrad, or of a controller that was killed or deactivated the
motion in the 0.5 s after it. refused: no torque is sent. step: --check, or a step that is
verified, finds it before. fault, ended (a motion left its tolerance) and motion refused: with the
distance until then. Numbers alone: no message.

"""
STEP, BEFORE, AFTER = 1e-3, 0.6, 0.8  # s
_MEASURES = 25.0  # s, longest measurement
_NAMED = 1.0  # s for which the arm is watched after a fault
_GONE = 0.5  # s for which an arm whose controller was killed is watched
POSE = {6: [0.3, 0.5, -0.8, 0.4, 0.6, -0.1], 7: [0.3, 0.5, -0.2, -1.0, 0.4, 0.6, -0.1]}


def _first(n, values):
    return tuple(np.concatenate([values, np.ones(n)])[:n])


# by name: what it changes for n joints; of the driver, or `answer`: of the parameter
# driver_compensates_gravity, `killed`: the controller in a motion, `ended`: deactivated at rest,
# `gains`: that are commanded where the driver takes any, and nobody said that the arm may fall,
# `friction`: part that is left, `rate`: of the states
TRAPS = {
    'none': lambda n: {},
    'gravity told wrongly': lambda n: {'answer': False},
    'gravity 1.1 times': lambda n: {'gravity_error': 1.1},
    'friction compensated twice': lambda n: {'friction': 0.1},
    'spring to the zero pose': lambda n: {'kp': (70.0,), 'kd': (2.0,), 'spring': 'zero'},
    'zero pose at activation': lambda n: {'kp': (70.0,), 'kd': (2.0,), 'spring': 'zero',
                                          'spring_time': 0.3},
    'spring to the first pose': lambda n: {'kp': (80.0,), 'kd': (2.0,), 'spring': 'start'},
    'commands ignored': lambda n: {'ignores': 'all'},
    'effort without position ignored': lambda n: {'ignores': 'effort_alone'},
    'commanded position reported': lambda n: {'position': 'commanded'},
    'current reported': lambda n: {'effort': 'current'},
    'torque times 4': lambda n: {'factor': _first(n, [4.0, 4.0, 4.0])},
    'signs flipped': lambda n: {'factor': _first(n, [-1.0, -1.0, 1.0, -1.0, 1.0, -1.0])},
    'steps of 0.063 N m': lambda n: {'quantum': (0.063,)},
    'rate limit of 1000 N m/s': lambda n: {'rate_limit': 1000.0},
    'fault at 1000 N m/s': lambda n: {'rate_limit': 1000.0, 'jump': 'fault'},
    'states at 30 Hz': lambda n: {'rate': 30.0},
    'deactivated, motors disabled': lambda n: {'ended': True, 'silence': 'disable'},
    'killed, torque repeated': lambda n: {'killed': True},
    'killed, gains of 1 N m/rad': lambda n: {'killed': True, 'gains': (1.0, 0.1)},
    'killed, motors damp': lambda n: {'killed': True, 'silence': 'damp'},
    'killed, motors disabled': lambda n: {'killed': True, 'silence': 'disable'}}


# of these the measurement of the loop says something; it takes some seconds
MEASURED = ('none', 'spring to the first pose', 'commands ignored',
            'effort without position ignored', 'signs flipped')


@cache
def dynamics_of(n):
    """Return the model of an arm with so many joints."""
    return Dynamics(with_slots(RobotModel.from_urdf(ROOT / 'urdf' / f'robodyn{n}.urdf')))


class Run:
    """
    An arm with a driver, from before the activation to the end of a motion.

    Attributes
    ----------
    named : str
        What the controller said first that ends it: a refusal, or a fault.
    before : float
        Largest motion off the reference until then, in rad.
    largest : float
        Largest of the run, in rad; against the reference, or the place where it was killed.

    """

    def __init__(self, profile, trap):
        numbers, n = profile.parameters, len(profile.joints)
        change = dict(TRAPS[trap](n))
        carried = numbers.driver_compensates_gravity
        told = carried if change.pop('answer', True) else not carried
        part = change.pop('gravity_error', 1.0) * carried
        self._killed, friction = change.pop('killed', False), change.pop('friction', 1.0)
        weak = change.pop('gains', None)
        self._ended, self._measures = change.pop('ended', False), trap in MEASURED
        rate = min(change.pop('rate', profile.state.rate), profile.state.rate)
        self.dynamics = dynamics = dynamics_of(n)
        settings = with_values(Settings(), {
            'driver_compensates_gravity': told, 'friction_scale': numbers.friction_scale,
            **({'torque_rate_limit': numbers.torque_rate_limit}
               if numbers.torque_rate_limit else {})})
        self.control = ArmController(dynamics, settings)
        self.told, self.carried = told, carried
        habits = {'gravity': (part,), 'effort': {
            'without_gravity': 'without_gravity', 'current': 'current'}.get(
                profile.state.effort, 'torque'), **change}
        model = dynamics.model
        self.driver = Driver(with_values(DriverSettings(), habits), model.joint_names)
        self.plant = Plant(model, STEP, friction=friction * model.friction,
                           damping=friction * model.damping)
        self.plant.reset(np.array(POSE[n]))
        self.driver.start(self.plant.q)
        self._every = max(1, round(1.0 / (rate * STEP)))
        self._facts, self._has = profile.state, {'effort', *(
            each.rsplit(':', 1)[1] for each in profile.command.fields), *profile.command.others}
        self._drives = np.zeros(blocks.size(Program, {'joints': n}))
        p = blocks.views(Program, self._drives, {'joints': n})
        p.scale[:], p.commanded[()] = 1.0, 'kp' in self._has
        if p.commanded and profile.command.kp:
            p.kp[:], p.kd[:] = weak or (profile.command.kp, profile.command.kd)
        # the user has said that it may fall, as a step asks for
        self._falls = '' if weak is None else falls_in_silence(
            dynamics, p, told, profile.command.silence)
        self._function = drive.function(self.control.host.compiled.dimensions)
        self._command = np.full((len(COMMAND), n), np.nan)
        self._motors = np.zeros(n)
        self.now, self.named, self.before, self.largest = 0.0, '', 0.0, 0.0

    def state(self):
        """Return what is reported."""
        gravity = self.dynamics.gravity(self.plant.q)
        q, effort = self.driver.reported(self.plant.q, self._motors, gravity)
        blind = self.driver.values.position == 'commanded' and (
            self._facts.velocity != 'measured')  # differences of that position
        qd = np.zeros_like(q) if blind else self.plant.qd
        return q.copy(), qd.copy(), effort if self._facts.effort != 'none' else np.full_like(
            q, np.nan)

    def drive(self, seconds, stays=None):
        """Let the plant go on, with the newest command; count the motion."""
        for k in range(round(seconds / STEP)):
            q = self.plant.q
            self._motors = self.driver.torque(
                self._command, q, self.plant.qd, self.dynamics.gravity(q),
                0.0 if stays is None else k * STEP, STEP, self.plant.mobility)
            self.plant.step(self._motors)
            self.now += STEP
            to = self.control.reference.q if stays is None else stays
            self.largest = max(self.largest, float(np.abs(self.plant.q - to).max()))

    def cycle(self):
        """Answer a state."""
        q, qd, effort = self.state()
        control = self.control
        torque = control.update(self.now, q, qd, effort)
        if self._has == {'effort'}:
            self._command[0] = torque
        else:
            rows = self._function(torque, control.host.bound.memory, self._drives).reshape(
                len(COMMAND), -1)
            for k, name in enumerate(COMMAND):
                self._command[k] = rows[k] if name in self._has else np.nan
        self.drive(self._every * STEP)
        if not self.named and (control.fault or self.driver.fault):
            self.named = f'fault: {control.fault or self.driver.fault}'
        ended = ENDINGS.get(float(control.host.memory.motion.message.code), '')
        if not self.named and ended:
            self.named = f'motion ended: {ended}'
        self.before = self.before or (self.largest if self.named else 0.0)

    def run(self):
        """Activate, hold, move; kill the controller if that is the trap."""
        control, q = self.control, self.plant.q
        gravity = self.dynamics.gravity(q)
        self._motors = gravity.copy()  # somebody holds the arm with its motors
        position, velocity, effort = self.state()
        try:
            control.activation.check_state(position, velocity)
            control.activation.check_effort(position, velocity, effort, self.told)
            if self._falls:
                raise StateError(f'when commands stop, {self._falls}')
        except RobodynError as error:
            self.named = f'refused: {error}'
            return self
        control.activate(self.now, position, velocity, self.now)
        if self._measures:
            control.loop.begin()
        while self.now < BEFORE or (self._measures and not self.named and self.now < _MEASURES
                                    and control.loop.result is None):
            self.cycle()
            control.update_loop(wait=True)
        begin = self.now
        if self._ended:
            control.activation.deactivate()
            self._command[0] = control.gravity_torque()
        elif not self.named:
            goal = control.reference.q + 0.1 * np.where(q > 0.0, -1.0, 1.0)
            zero = np.zeros_like(goal)
            try:
                control.follow(self.now, control.model.joint_names,
                               [TrajectoryPoint(goal, zero, zero, (), AFTER)])
            except RobodynError as error:
                self.named, self.before = f'motion refused: {error}', self.largest
            while self.now < begin + (0.5 if self._killed else 1.2) * AFTER:
                self.cycle()
        else:
            while self.now < begin + _NAMED:
                self.cycle()
        if self._killed or self._ended:
            self.largest = 0.0
            self.drive(_GONE, self.plant.q.copy())
        return self


def outcome(name, trap):
    """Return a row of the file: profile, trap, word of the controller, mrad until then, mrad."""
    profile = arms.load(name)[1].named('')
    run = Run(profile, trap).run()
    word = run.named.split(':')[0]
    step = next((key for key, each in profile.steps.by_name.items() if trap in each.traps), '')
    return {'profile': name, 'trap': trap, 'step': step, 'word': word,
            'before': f'{1e3 * run.before:.3g}', 'largest': f'{1e3 * run.largest:.3g}'}


def table(rows):
    """Return the lines of the table for people: a row for each trap, a column for each profile."""
    cells = {(row['trap'], row['profile']): row for row in rows}
    names = list(dict.fromkeys(name for _, name in cells))

    def cell(row):
        if row['step']:
            return f'step {row["step"]}'
        word = {'motion ended': 'ended'}.get(row['word'], row['word'])
        return f'{word} {row["before"]}' if word not in ('', 'refused') else word or row['largest']

    found = [['', *names]] + [[trap, *(cell(cells[trap, name]) for name in names)]
                              for trap in dict.fromkeys(trap for trap, _ in cells)]
    widths = [max(map(len, column)) for column in zip(*found)]
    lines = ['  '.join(map(str.ljust, row, widths)).rstrip() for row in found]
    return [lines[0], '-' * max(map(len, lines)), *lines[1:]]


if __name__ == '__main__':
    found = [outcome(name, trap) for name in arms.names() for trap in TRAPS]
    with FILE.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, found[0], lineterminator='\n')
        writer.writeheader()
        writer.writerows(found)
    TABLE.write_text(HEAD.format(date=date.today()) + '\n'.join(table(found)) + '\n',
                     encoding='utf-8')
