"""
What a call costs: this package beside Pinocchio's Python bindings, robot by robot.

    python benchmark/dynamics.py
    python benchmark/dynamics.py --robots panda arm.urdf --json

Both compute the same quantity of the same robot at the same state (which is checked first), in
one process, by turns. Times are per call from Python, or per state in a batch; Pinocchio's
bindings have no batches, so they are called in a loop. Then: how long it takes to compile an
algorithm for a robot, and to load it from the cache. MuJoCo joins in where it is installed.
"""
import argparse
import json
from pathlib import Path
import sys
import tempfile
import time

import numpy as np
import pinocchio as pin

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from robodyn_ros import Dynamics, RobotModel  # noqa: E402
from robodyn_ros.control import ControlLaw, make_gains, Term  # noqa: E402
from robodyn_ros.simulation import Plant  # noqa: E402
from robodyn_ros.trajectory import Reference  # noqa: E402

OWN = HERE.parent / 'urdf' / 'robodyn7.urdf'
EXAMPLES = {'ur5': 'ur_description/urdf/ur5_robot.urdf',
            'panda': 'panda_description/urdf/panda.urdf',
            'talos': 'talos_data/robots/talos_reduced.urdf'}
LOCKED = {'panda': {'panda_finger_joint1': 0.0}}
TURN = 5e-4     # s that one turn of a function takes, or one call: less than the kernel's slices
PATIENCE = 1.0  # s for all turns of two functions
BATCH = 10_000  # states


class Pair:
    """
    One robot in both libraries; what they compute, by name, as functions without arguments.

    Attributes
    ----------
    calls : dict of str to (function, function)
        Ours and theirs.

    """

    def __init__(self, name):
        self.name = name
        path = urdf(name)
        self.model = RobotModel.from_urdf(path, locked=LOCKED.get(name, {}))
        self.dynamics = Dynamics(self.model)
        full = pin.buildModelFromUrdf(str(path))
        ours = set(self.model.joint_names)
        locked = [k for k in range(1, full.njoints) if full.names[k] not in ours]
        self.theirs = pin.buildReducedModel(full, locked, pin.neutral(full))
        if self.theirs.nq != self.model.nv:
            sys.exit(f'{name}: continuous joints are two numbers in Pinocchio; choose another')
        self.order = np.array([self.model.joint_names.index(each)
                               for each in list(self.theirs.names)[1:]])
        self.link = self.model.body_names[int(np.argmax(depths(self.model)))]
        self.calls = self._calls()

    def _calls(self):
        d, m, data, link = self.dynamics, self.theirs, self.theirs.createData(), self.link
        x = states(self.model, 3)
        q, qd, qdd = x
        p, pd, pdd = (np.ascontiguousarray(each[self.order]) for each in x)
        frame = m.getFrameId(link)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

        def kinematics():
            pin.forwardKinematics(m, data, p)
            return pin.updateFramePlacement(m, data, frame)

        calls = {
            'inverse dynamics': (lambda: d.inverse_dynamics(q, qd, qdd),
                                 lambda: pin.rnea(m, data, p, pd, pdd)),
            'gravity': (lambda: d.gravity(q),
                        lambda: pin.computeGeneralizedGravity(m, data, p)),
            'mass matrix': (lambda: d.mass_matrix(q), lambda: pin.crba(m, data, p)),
            'forward dynamics': (lambda: d.forward_dynamics(q, qd, qdd),
                                 lambda: pin.aba(m, data, p, pd, pdd)),
            'Jacobian': (lambda: d.jacobian(q, link),
                         lambda: pin.computeFrameJacobian(m, data, p, frame, axes)),
            'forward kinematics': (lambda: d.forward_kinematics(q, link), kinematics),
            'computed torque law': self._law(q, qd, data)}
        self._check(calls)
        Q, Qd, Qdd = batch = states(self.model, 3, BATCH)
        P, Pd, Pdd = (np.ascontiguousarray(each[:, self.order]) for each in batch)
        calls['inverse dynamics, batch'] = (
            lambda: d.inverse_dynamics(Q, Qd, Qdd),
            lambda: [pin.rnea(m, data, *row) for row in zip(P, Pd, Pdd)])
        calls['forward dynamics, batch'] = (
            lambda: d.forward_dynamics(Q, Qd, Qdd),
            lambda: [pin.aba(m, data, *row) for row in zip(P, Pd, Pdd)])
        return calls

    def _law(self, q, qd, data):
        """Return the whole law: ours is one kernel, theirs feedback in NumPy and a call."""
        gains = make_gains(self.dynamics, friction_scale=0.0)
        law = ControlLaw(self.dynamics, gains)
        goal = Reference.at_rest(q + 0.1)
        p, pd, target, kp, kd = (np.ascontiguousarray(each[self.order]) for each in (
            q, qd, goal.q, gains.kp, gains.kd))
        return (lambda: law.follow(q, qd, goal)[Term.TOTAL],
                lambda: pin.rnea(self.theirs, data, p, pd, kp * (target - p) - kd * pd))

    def _check(self, calls):
        """Stop unless both compute the same."""
        for quantity, (ours, theirs) in calls.items():
            ours, theirs = ours(), theirs()
            if quantity == 'forward kinematics':
                theirs = theirs.homogeneous
            elif quantity == 'mass matrix':
                ours = ours[np.ix_(self.order, self.order)]
                theirs = np.triu(theirs) + np.triu(theirs, 1).T
            else:
                ours = ours[..., self.order]
            if not np.allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max()):
                sys.exit(f'{self.name}: the two disagree on {quantity} by '
                         f'{np.abs(ours - theirs).max():.1e}')


def urdf(name):
    """Return the path of a robot's URDF, from its name."""
    if name == 'robodyn7':
        return OWN
    if Path(name).is_file():
        return Path(name)
    for place in sys.path:
        for folder in ('cmeel.prefix/share', '../../../share'):
            path = Path(place) / folder / 'example-robot-data' / 'robots' / EXAMPLES.get(name, '-')
            if path.is_file():
                return path
    sys.exit(f'{name} is no file, and not among the examples ({", ".join(EXAMPLES)}): those need '
             '`pip install example-robot-data`')


def depths(model):
    """Return how many joints lie between each body and the base."""
    depth = []
    for parent in model.parent:
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    return depth


def states(model, count, rows=None):
    """Return arrays of numbers like joint states, inside the position limits."""
    rng = np.random.default_rng(1)
    low, high = np.clip(model.lower, -2.0, 2.0), np.clip(model.upper, -2.0, 2.0)
    shape = (count, model.nv) if rows is None else (count, rows, model.nv)
    return low + (high - low) * rng.random(shape)


def simulation_step():
    """Return functions that make one step of our arm, ours and MuJoCo's; None without it."""
    try:
        import mujoco
    except ImportError:
        return None
    model = RobotModel.from_urdf(OWN)
    plant = Plant(model, 1e-3)
    m = mujoco.MjModel.from_xml_path(str(OWN))
    m.opt.timestep = 1e-3
    m.opt.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(m)
    torque = Dynamics(model).gravity(plant.q)
    data.qfrc_applied[:] = torque
    return lambda: plant.step(torque), lambda: mujoco.mj_step(m, data)


def time_pair(pair, turns):
    """Let two functions take turns; return quartiles of the seconds per call of each."""
    numbers = []
    for function in pair:
        begin, count = time.perf_counter(), 0
        while time.perf_counter() - begin < TURN:
            function()
            count += 1
        numbers.append(count)
    times = []
    start = time.perf_counter()
    while len(times) < 5 or (len(times) < turns and time.perf_counter() - start < PATIENCE):
        times.append([])
        for count, function in zip(numbers, pair):
            begin = time.perf_counter()
            for _ in range(count):
                function()
            times[-1].append((time.perf_counter() - begin) / count)
    return np.percentile(times, (25, 50, 75), axis=0).T


def measure(name, turns):
    """Return one row of figures per quantity of a robot."""
    pair = Pair(name)
    calls = dict(pair.calls)
    if name == 'robodyn7' and (step := simulation_step()):
        calls['simulation step, MuJoCo'] = step
    rows = []
    for quantity, functions in calls.items():
        progress(f'{name}: {quantity}')
        states_per_call = BATCH if quantity.endswith('batch') else 1
        ours, theirs = 1e6 * time_pair(functions, turns) / states_per_call
        rows.append({'robot': name, 'joints': pair.model.nv, 'quantity': quantity,
                     'ours': ours.tolist(), 'theirs': theirs.tolist(),
                     'ratio': theirs[1] / ours[1]})
    return rows


def measure_compilation(name):
    """Return the seconds to compile algorithms for a robot, and to load them from the cache."""
    model = RobotModel.from_urdf(urdf(name), locked=LOCKED.get(name, {}))
    rows = []
    for algorithm in ('inverse_dynamics', 'mass_matrix', 'forward_dynamics'):
        progress(f'{name}: compiling {algorithm}')
        took = []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                took.append([time_to_warm(model, algorithm, cache) for _ in range(2)])
        first, later = np.median(took, axis=0)
        rows.append({'robot': name, 'joints': model.nv, 'algorithm': algorithm,
                     'compile': first, 'load': later})
    return rows


def time_to_warm(model, algorithm, cache):
    """Return the seconds until an algorithm is ready."""
    dynamics = Dynamics(model, backend='compiled', cache=cache)
    begin = time.perf_counter()
    dynamics.warm(algorithm)
    return time.perf_counter() - begin


def progress(text):
    """Say what is being done."""
    print(f'\r{text:60}', end='', file=sys.stderr, flush=True)


def print_tables(rows, compilation):
    """Print all figures."""
    print('us per call, in a batch per state: median (quartiles). ratio: theirs / ours\n')
    print(f'{"robot":13}{"joints":>6}  {"":25}{"ours":>22}{"Pinocchio":>23}{"ratio":>7}')
    for row in rows:
        print(f'{row["robot"][-12:]:13}{row["joints"]:6}  {row["quantity"]:25}'
              f'{spread(row["ours"]):>22}{spread(row["theirs"]):>23}{row["ratio"]:7.1f}')
    print('\nms until an algorithm is ready\n')
    print(f'{"robot":13}{"joints":>6}  {"":25}{"compiled":>10}{"from cache":>12}')
    for row in compilation:
        print(f'{row["robot"][-12:]:13}{row["joints"]:6}  {row["algorithm"]:25}'
              f'{1e3 * row["compile"]:10.0f}{1e3 * row["load"]:12.1f}')


def spread(quartiles):
    """Return a median with its quartiles as text."""
    low, middle, high = quartiles
    return f'{middle:.3f} ({low:.3f}-{high:.3f})'


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.strip(), formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    parser.add_argument('--robots', nargs='+', default=['robodyn7', *EXAMPLES], metavar='ROBOT',
                        help=f'robodyn7, {", ".join(EXAMPLES)}, or the path of a URDF')
    parser.add_argument('--turns', type=int, default=400, help='of each function, at most')
    parser.add_argument('--json', action='store_true', help='print JSON instead of tables')
    options = parser.parse_args()
    rows = [row for name in options.robots for row in measure(name, options.turns)]
    compilation = [row for name in options.robots for row in measure_compilation(name)]
    progress('')
    print('\r', end='', file=sys.stderr)
    if options.json:
        json.dump({'calls': rows, 'compilation': compilation}, sys.stdout, indent=2)
        print()
    else:
        print_tables(rows, compilation)


if __name__ == '__main__':
    main()
