"""Times until a kernel is ready: compiled, and loaded from the cache on disk."""
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from checkout import ROOT
from robots import chain, load, OWN
from timing import progress, quartiles

from robodyn_ros import Dynamics
from robodyn_ros.control import ControlLaw, make_gains
from robodyn_ros.simulation import Plant


class Start(NamedTuple):
    """
    Times until a function is ready, in ms.

    Attributes
    ----------
    compiled, cached : (float, float, float)
        Lower quartile, median, upper quartile; with an empty cache, and with a filled one.
        `compiled` is None if the robot is too large to compile.

    """

    robot: str
    joints: int
    what: str
    compiled: tuple[float, float, float] | None
    cached: tuple[float, float, float]


def calls_of(robot):
    """Return functions of a `Dynamics`, each of which needs another kernel."""
    q, qd, qdd, tau = robot.state.values()
    return {
        'inverse dynamics': lambda d: d.inverse_dynamics(q, qd, qdd),
        'gravity': lambda d: d.gravity(q),
        'mass matrix': lambda d: d.mass_matrix(q),
        'forward dynamics': lambda d: d.forward_dynamics(q, qd, tau),
        'Coriolis matrix': lambda d: d.coriolis_matrix(q, qd),
        'Jacobian': lambda d: d.jacobian(q, robot.link),
        'derivatives of inverse dynamics':
            lambda d: d.inverse_dynamics_derivatives(q, qd, qdd)}


def measure_starts(sizes, repeats):
    """Return figures of robots with given numbers of joints: ours with 7, else chains."""
    rows = []
    for size in sizes:
        robot = load('robodyn7') if size == 7 else chain(size)
        for what, call in calls_of(robot).items():
            progress(f'{robot.name}: start of {what}')
            rows.append(_start(robot, what, call, repeats))
        if size == 7:
            rows.append(_start(robot, 'laws of the controller', _law, repeats))
            rows.append(_start(robot, 'plant', _plant, repeats))
    return rows


def _law(dynamics):
    ControlLaw(dynamics, make_gains(dynamics))


def _plant(dynamics):
    Plant(dynamics.model, 1e-3, dynamics)


def _start(robot, what, call, repeats):
    pairs = []
    # times of more than a second are not repeated
    while len(pairs) < repeats and not (pairs and pairs[-1][0] > 1.0):
        with tempfile.TemporaryDirectory() as cache:
            pairs.append([_time(robot, call, cache) for _ in range(2)])
            nothing = not any(Path(cache).iterdir())
    compiled, cached = (quartiles([1e3 * took for took in column]) for column in zip(*pairs))
    return Start(robot.name, robot.joints, what, None if nothing else compiled, cached)


def _time(robot, call, cache):
    dynamics = Dynamics(robot.model, cache=cache)
    begin = time.perf_counter()
    call(dynamics)
    return time.perf_counter() - begin


# --- a whole process ----------------------------------------------------------------------------

OURS = ('from robodyn_ros import Dynamics, RobotModel\nimport numpy as np\n'
        'd = Dynamics(RobotModel.from_urdf({urdf!r}), cache={cache!r})\n'
        'd.inverse_dynamics(*np.zeros((3, d.nv)))')
THEIRS = ('import numpy as np\nimport pinocchio as pin\nm = pin.buildModelFromUrdf({urdf!r})\n'
          'pin.rnea(m, m.createData(), *np.zeros((3, m.nv)))')


def measure_processes(repeats, pinocchio):
    """Return the times in ms from the start of Python to the first torque of our arm."""
    times = {'compiled': [], 'cached': []} | ({'Pinocchio': []} if pinocchio else {})
    for _ in range(repeats):
        progress('robodyn7: start of a process')
        with tempfile.TemporaryDirectory() as cache:
            for way, some in times.items():
                text = (THEIRS if way == 'Pinocchio' else OURS).format(
                    urdf=str(OWN), cache=cache)
                begin = time.perf_counter()
                subprocess.run([sys.executable, '-c', text], check=True, cwd=ROOT)
                some.append(1e3 * (time.perf_counter() - begin))
    return {way: quartiles(some) for way, some in times.items()}
