"""
Time to accept a trajectory: limits, interpolation, and inverse dynamics along the path.

    python benchmark/acceptance.py
    python benchmark/acceptance.py --urdf arm.urdf --points 100 1000 --json

Times are medians in milliseconds, with quartiles. The points carry positions, velocities and
accelerations every ten milliseconds, as from a planner.
"""
import argparse
import json
from pathlib import Path
import sys
import time

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from robodyn_ros import Dynamics, RobotModel  # noqa: E402
from robodyn_ros.trajectory import (  # noqa: E402
    check_feasibility, check_trajectory, Reference, TrajectoryPoint)

OWN = HERE.parent / 'urdf' / 'robodyn7.urdf'
REPEATS = 20
STEP = 0.01  # s between points


def planned(model, count):
    """Return a start, and points of a motion away from it and back, within all limits."""
    low, high = np.maximum(model.lower, -1.0), np.minimum(model.upper, 1.0)
    start, duration = 0.5 * (low + high), count * STEP
    # a tenth of the velocity limits and of the position ranges
    width = np.minimum(0.1 * model.velocity_limit * duration / np.pi, 0.1 * (high - low))
    points = []
    for t in np.arange(1, count + 1) * STEP:
        phase, rate = 2.0 * np.pi * t / duration, np.pi / duration
        rows = (start + width * (1.0 - np.cos(phase)) / 2.0, width * rate * np.sin(phase),
                2.0 * width * rate**2 * np.cos(phase))
        points.append(TrajectoryPoint(*(row.tolist() for row in rows), (), float(t)))
    return Reference.at_rest(start), points


def milliseconds(function):
    """Return the quartiles of the time of a function, in ms."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        function()
        times.append(1e3 * (time.perf_counter() - begin))
    return np.percentile(times, (25, 50, 75))


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--urdf', default=str(OWN))
    parser.add_argument('--points', type=int, nargs='+', default=[100, 300, 1000, 5000])
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    model = RobotModel.from_urdf(arguments.urdf)
    dynamics, rows = Dynamics(model), []
    dynamics.inverse_dynamics(*np.zeros((3, 1, model.nv)))  # compiles
    for count in arguments.points:
        start, points = planned(model, count)

        def check(start=start, points=points):
            return check_trajectory(model, model.joint_names, points, start)

        trajectory = check()
        rows.append((count, milliseconds(check), milliseconds(lambda: check_feasibility(
            trajectory, dynamics.inverse_dynamics, np.inf * model.effort_limit,
            model.joint_names))))
    if arguments.json:
        print(json.dumps([{'points': count, 'limits_ms': limits.tolist(),
                           'feasibility_ms': feasibility.tolist()}
                          for count, limits, feasibility in rows]))
        return
    print(f'{model.name}, {model.nv} joints; ms: median (quartiles)\n')
    print('points   limits and interpolation       inverse dynamics')
    for count, *columns in rows:
        print(f'{count:6d}' + ''.join(
            f'{median:10.2f} ({low:.2f}-{high:.2f})'.rjust(27) for low, median, high in columns))


if __name__ == '__main__':
    main()
