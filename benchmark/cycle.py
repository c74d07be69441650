"""
What the compiled control cycle costs: a call from Python, and the time until there is one.

    python benchmark/cycle.py
    python benchmark/cycle.py --joints 7 --quick --json

A cycle is all that answers a joint state: observer, collisions, reference, law, transition,
limits. The arm follows a trajectory under each law, or floats; observer and collision detection
are on. Times are quartiles of short turns, by turns with an empty call, which they contain. The
time of the first start is that of processors, in a process of its own without the start of
Python, with an empty cache: for what an arm needs that follows with computed torque, and for all
laws. The cached start is the time until all of that is loaded.

7 joints are those of robodyn7; other numbers are chains.
"""
import argparse
import ctypes
import json
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

from checkout import ROOT
import numpy as np
from robots import chain

from robodyn_ros import Dynamics, RobotModel
from robodyn_ros.cli.bench.timing import by_turns, Call, Effort, quartiles
from robodyn_ros.cli.report import table
from robodyn_ros.control import blocks, Bounds, CycleSettings, make_gains, make_task_gains
from robodyn_ros.control import with_slots
from robodyn_ros.control.compiled import CompiledCycle
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.control.laws.rates import fastest
from robodyn_ros.control.memory import Memory
from robodyn_ros.control.program import Program
from robodyn_ros.control.state import FROM_STATE, REQUESTS, State
from robodyn_ros.control.steps import laws, motion, path
from robodyn_ros.dynamics.bound import BoundCall
from robodyn_ros.dynamics.machine import Ir, load

EMPTY = 'define void @empty() {\nret void\n}'
USUAL, FLOATING = 'computed_torque', laws.NAMES[0]
STEP = 1e-3      # s
SETTLED = 1500   # cycles after which activation and transition are over
SEGMENTS = 100   # of the trajectory, and
SEGMENT = 100.0  # s of each: the arm that is measured does not move
EFFORT = Effort(turn=2e-4, patience=2.0, most=4000)
QUICK = Effort(turn=1e-4, patience=0.02, fewest=3)


def made(joints, cache=None):
    """Return the cycle of a robot of so many joints, and its dynamics."""
    model = with_slots(RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf') if joints == 7
                       else chain(joints).model)
    dynamics, tip = Dynamics(model, cache=cache), model.tip
    slot = 3 + 10 * model.payload_bodies.index(model.link(tip).body)
    schedule = SimpleNamespace(rows=[], factors=[], sharpness=2.0,
                               continuous=list(map(bool, model.continuous)))
    return CompiledCycle(dynamics, tip, tip, slot, 0.25, schedule), dynamics


class Arm:
    """
    An arm that is where it should be, under a cycle.

    Parameters
    ----------
    cycle : CompiledCycle
    dynamics : Dynamics

    """

    def __init__(self, cycle, dynamics):
        self.bound = bound = cycle.bound()
        self.s, self.m, self.p = (blocks.views(cls, values, cycle.dimensions) for cls, values in (
            (State, bound.state), (Memory, bound.memory), (Program, bound.program)))
        self.gains = make_gains(dynamics, ki=50.0, armature=0.1)
        self.task_gains = make_task_gains(dynamics, armature=0.1)
        self._fill(dynamics)
        self.clock = ctypes.c_double.from_buffer(self.s.now)

    def _fill(self, dynamics):
        m, p, model = self.m, self.p, dynamics.model
        for block, source in ((p.gains, self.gains), (p.task, self.task_gains)):
            for name, values in vars(block).items():
                values[...] = np.reshape(getattr(source, name), values.shape)
        bounds = Bounds.from_settings(model, CycleSettings())
        p.limits.effort[:], p.limits.rate[:] = bounds.usable, bounds.rate
        p.motion.deceleration[:] = p.motion.pose.acceleration[:] = 10.0
        p.transition.duration[()] = 0.2
        p.observer.model_error[()], p.observer.limit[:] = 0.1, 0.3 * bounds.usable
        p.collision.on[()] = p.collision.reaction[()] = 1.0
        p.collision.threshold[:] = bounds.usable
        p.collision.release[:] = 0.5 * bounds.usable
        p.learning.rate[()], p.learning.dead_zone[()], p.learning.largest_mass[()] = 1.0, 0.01, 5.0
        p.learning.size[()] = 0.3
        for memory, gains in ((m.springs, self.gains), (m.task_springs, self.task_gains)):
            memory.value[:] = memory.target[:] = gains.stiffness
            memory.energy[()] = 1.0
        m.loads.known[:] = m.loads.start[:] = p.loads.target[:] = dynamics.runtime
        m.loads.elapsed[()] = m.loads.duration[()] = -1.0
        m.schedule[:] = m.observer.begins[()] = 1.0
        for end in (p.external.end, p.target.end, p.external_law.until, p.reflection.end):
            end[...] = -np.inf
        self.s.q[:], self.s.effort[:] = np.linspace(0.2, 0.6, model.nv), np.nan

    def take_over(self, law):
        """Let a law have the arm, which then follows a trajectory or floats."""
        p = self.p
        of_law = TRACKING[USUAL if law == FLOATING else law]
        p.law[()], p.motion.floats[()] = laws.ROWS[law], law == FLOATING
        p.law_damping[()], p.law_stiffness[()] = fastest(
            *of_law.rates(self.gains, self.task_gains))
        self._request(motion.TO_TAKE_OVER)
        self._go(SETTLED)
        if law != FLOATING:
            self._follow()
        expected = motion.FLOAT if law == FLOATING else motion.TRACK
        assert self.m.motion.mode == expected and not self.m.motion.fault.code

    def _request(self, kind):
        self.p.motion.request += 1.0
        self.p.motion.kind[()], self.s.kind[()] = kind, REQUESTS
        self._go(1)
        self.s.kind[()] = FROM_STATE

    def _go(self, cycles):
        for _ in range(cycles):
            self.clock.value += STEP
            self.bound.run()

    def _follow(self):
        """Follow a trajectory that stays where the arm is."""
        q, upcoming = self.s.q, self.p.motion.upcoming
        rows = np.zeros((SEGMENTS, path.columns(q.size)))
        rows[:, 0], rows[:, 1:1 + q.size] = SEGMENT * np.arange(SEGMENTS), q
        self.bound.segments = rows
        upcoming.number += 1.0
        upcoming.moment[()], upcoming.rows[()] = self.clock.value, len(rows)
        upcoming.last[()] = SEGMENTS * SEGMENT
        for each in (upcoming.path_q, upcoming.path_qd, upcoming.goal_q, upcoming.goal_qd):
            each[:] = np.inf
        self._request(motion.TO_FOLLOW)
        self._go(10)


def measure_laws(joints, names, effort):
    """Return the quartiles of cycles in us by law, and of the empty call."""
    cycle, dynamics = made(joints)
    cycle.prepare(*names)
    arm = Arm(cycle, dynamics)
    code = load('empty', lambda: Ir(EMPTY), None)
    empty = BoundCall(code.address('empty'), [], code, None).call
    found, empties = {}, []
    for name in names:
        arm.take_over(name)
        seconds = by_turns([Call('clock.value += step\nrun()', {
            'clock': arm.clock, 'step': STEP, 'run': run}).timer()
            for run in (arm.bound.run, empty)], effort)
        found[name] = quartiles(1e6 * seconds[:, 0])
        empties += (1e6 * seconds[:, 1]).tolist()
    return found, quartiles(empties)


def measure_start(joints):
    """Return the times of first and cached start, each in a process of its own."""
    with tempfile.TemporaryDirectory() as cache:
        rows = [json.loads(subprocess.run(
            [sys.executable, __file__, '--joints', str(joints), '--start', cache, *all_laws],
            check=True, capture_output=True, text=True).stdout)
            for all_laws in ([], ['--all-laws'], ['--all-laws'])]
    (first, _), (others, _), (_, cached) = rows
    return {'first_compile_s': first, 'first_compile_all_s': first + others,
            'cached_ms': 1e3 * cached}


def start(joints, cache, names):
    """Return the seconds of processors, and those that passed, until laws can be used."""
    cycle, _ = made(joints, Path(cache))
    begin = time.process_time(), time.perf_counter()
    cycle.prepare(*names)
    return time.process_time() - begin[0], time.perf_counter() - begin[1]


def measure(joints, effort):
    """Return all figures of a robot."""
    names = laws.NAMES if joints == 7 else (FLOATING, USUAL)
    found, empty = measure_laws(joints, names, effort)
    keys = 'lower', 'median', 'upper'
    return {'joints': joints, 'cycle_us': found[USUAL][1], **measure_start(joints),
            'empty_us': dict(zip(keys, empty)),
            'laws_us': {name: dict(zip(keys, values)) for name, values in found.items()}}


def main():
    """Measure, and print tables or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.strip(), formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    parser.add_argument('--joints', type=int, nargs='+', default=[7, 30])
    parser.add_argument('--quick', action='store_true', help='few repetitions')
    parser.add_argument('--json', action='store_true',
                        help='print a JSON object; of several robots the first, the others in it')
    parser.add_argument('--start', metavar='CACHE', help=argparse.SUPPRESS)
    parser.add_argument('--all-laws', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.start:
        print(json.dumps(start(options.joints[0], options.start,
                               laws.NAMES if options.all_laws else ())))
        return
    figures = [measure(joints, QUICK if options.quick else EFFORT) for joints in options.joints]
    if options.json:
        print(json.dumps({**figures[0], 'others': figures[1:]}))
        return
    for each in figures:
        rows = [(name, *(f'{value:.2f}' for value in values.values()))
                for name, values in (*each['laws_us'].items(), ('empty call', each['empty_us']))]
        print('\n'.join(table([f'us of a cycle, {each["joints"]} joints', 'lower quartile',
                               'median', 'upper quartile'], rows)))
        print('first start {first_compile_s:.2f} s, with all laws {first_compile_all_s:.2f} s, '
              'cached {cached_ms:.0f} ms\n'.format(**each))


if __name__ == '__main__':
    main()
