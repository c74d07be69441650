"""
Time of the compiled control cycle, called from Python, and time until it is ready.

    python benchmark/cycle.py
    python benchmark/cycle.py --joints 7 --quick --json

A cycle is the whole computation for a joint state: observer, collisions, reference, law,
transition, limits. The arm follows a trajectory under each law, or floats; observer and collision
detection are on. Times are quartiles of short turns, alternating with an empty call, whose time
they include. The first start is processor time in a new process with an empty cache, without the
start of Python: for computed torque, and for all laws. The cached start is the time until all laws
are loaded.

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

from checkout import ROOT
import numpy as np
from robots import chain

from robodyn_ros import Dynamics, RobotModel
from robodyn_ros.control import ArmController, Mode, Settings, with_slots
from robodyn_ros.control.compiled import CompiledCycle
from robodyn_ros.control.settings import CollisionSettings
from robodyn_ros.control.steps import laws
from robodyn_ros.dynamics.jit.bound import BoundCall
from robodyn_ros.dynamics.jit.machine import Ir, load
from robodyn_ros.inspection.timing import Budget, Call, interleaved_times, quartiles
from robodyn_ros.safety.acceptance import RECEIVED
from robodyn_ros.text import table
from robodyn_ros.trajectory import TrajectoryPoint

EMPTY = 'define void @empty() {\nret void\n}'
USUAL, FLOATING = 'computed_torque', laws.NAMES[0]
STEP = 1e-3      # s
SETTLED = 1000   # cycles after which activation is over
POINTS = 100     # points of the trajectory
SEGMENT = 100.0  # s between points: the measured state does not move
BUDGET = Budget(turn=2e-4, total=2.0, max_rounds=4000)
QUICK = Budget(turn=1e-4, total=0.02, min_rounds=3)


def robot(joints, cache=None):
    """Return the dynamics of an arm with a number of joints."""
    model = RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf') if joints == 7 else (
        chain(joints).model)
    return Dynamics(with_slots(model), cache=cache)


class Arm:
    """
    An arm under control with a constant state on its reference.

    Parameters
    ----------
    dynamics : Dynamics
    law : str
        Tracking law, or `FLOATING`.

    """

    def __init__(self, dynamics, law):
        model = dynamics.model
        n = model.nv
        self.control = control = ArmController(dynamics, Settings(
            mode=law, ki=50.0, armature=0.1,
            collision=CollisionSettings(threshold=model.effort_limit)))
        state = control.host.state
        # the motors hold a long chain only upright
        state.q[:] = np.linspace(0.2, 0.6, n) if n == 7 else 0.0
        state.effort[:] = np.nan
        state.permitted[()], state.kind[()] = 1.0, RECEIVED
        self.clock, self.run = ctypes.c_double.from_buffer(state.arrival), control.host.bound.run
        control.activate(0.0, state.q, state.qd)
        self._go(SETTLED)
        floats = law == FLOATING
        if not floats:
            # small motions, so that the constant state stays within the tolerances
            points = [TrajectoryPoint((state.q + 1e-4 * np.sin(k)).tolist(), (), (), (),
                                      SEGMENT * (k + 1)) for k in range(POINTS)]
            control.follow(control.host.state.arrival, model.joint_names, points)
            self._go(10)
        assert control.mode is (Mode.FLOAT if floats else Mode.TRACK), control.message

    def _go(self, cycles):
        self.control.host.state.kind[()] = RECEIVED
        for _ in range(cycles):
            self.clock.value += STEP
            self.run()


def measure_laws(joints, names, budget):
    """Return the quartiles of cycles in us by law, and of the empty call."""
    dynamics = robot(joints)
    code = load('empty', lambda: Ir(EMPTY), None)
    empty = BoundCall(code.address('empty'), [], code, None).call
    found, empties = {}, []
    for name in names:
        arm = Arm(dynamics, name)
        seconds = interleaved_times([Call('clock.value += step\nrun()', {
            'clock': arm.clock, 'step': STEP, 'run': run}).timer()
            for run in (arm.run, empty)], budget)
        found[name] = quartiles(1e6 * seconds[:, 0])
        empties += (1e6 * seconds[:, 1]).tolist()
    return found, quartiles(empties)


def measure_start(joints):
    """Return the times of first and cached start, each in a new process."""
    with tempfile.TemporaryDirectory() as cache:
        rows = [json.loads(subprocess.run(
            [sys.executable, __file__, '--joints', str(joints), '--start', cache, *all_laws],
            check=True, capture_output=True, text=True).stdout)
            for all_laws in ([], ['--all-laws'], ['--all-laws'])]
    (first, _), (others, _), (_, cached) = rows
    return {'first_compile_s': first, 'first_compile_all_s': first + others,
            'cached_ms': 1e3 * cached}


def start(joints, cache, names):
    """Return the processor time and the elapsed time until laws are ready, in s."""
    dynamics = robot(joints, Path(cache))
    tip = dynamics.model.tip
    cycle = CompiledCycle(dynamics, tip, 3, Settings().stale.stop)
    begin = time.process_time(), time.perf_counter()
    cycle.prepare(*names)
    return time.process_time() - begin[0], time.perf_counter() - begin[1]


def measure(joints, budget):
    """Return all figures of a robot."""
    names = laws.NAMES if joints == 7 else (FLOATING, USUAL)
    found, empty = measure_laws(joints, names, budget)
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
                        help='print a JSON object of the first robot, which contains the others')
    parser.add_argument('--start', metavar='CACHE', help=argparse.SUPPRESS)
    parser.add_argument('--all-laws', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.start:
        print(json.dumps(start(options.joints[0], options.start,
                               laws.NAMES if options.all_laws else ())))
        return
    figures = [measure(joints, QUICK if options.quick else BUDGET) for joints in options.joints]
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
