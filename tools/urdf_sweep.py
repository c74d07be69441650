"""
All URDFs of a folder against Pinocchio: inverse dynamics, mass matrix, gravity torque.

    .venv/bin/python tools/urdf_sweep.py             those of example-robot-data
    .venv/bin/python tools/urdf_sweep.py FOLDER      those below a folder

A line for each URDF: the largest difference, relative to the largest entry, over random states, or
why it is refused. Exit code 1: one differs by more than 1e-12. Larger robots are not compiled.
"""

from __future__ import annotations

from pathlib import Path
import sys

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / 'test'))
from oracle import Oracle, robot_files  # noqa: E402

from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import RobodynError  # noqa: E402
from robodyn_ros.model import RobotModel  # noqa: E402

STATES = 5
COMPILED = 12     # joints
ALLOWED = 1e-12


def difference(path: Path) -> float:
    """Return the largest relative difference of a URDF."""
    text = path.read_text(encoding='utf-8', errors='replace')
    model = RobotModel.from_urdf(path)
    oracle = Oracle(text, model.joint_names)
    dynamics = Dynamics(model, backend='compiled' if model.nb <= COMPILED else 'python')
    rng = np.random.default_rng(0)
    lower, upper = model.lower, model.upper
    bounded = np.isfinite(upper - lower) & (upper > lower)
    lower, upper = np.where(bounded, [lower, upper], [[-9.0], [9.0]])
    largest = 0.0
    for _ in range(STATES):
        q = rng.uniform(lower, upper)
        qd, qdd = rng.uniform(-2.0, 2.0, (2, model.nv))
        for ours, theirs in (
                (dynamics.inverse_dynamics(q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd)),
                (dynamics.mass_matrix(q), oracle.mass_matrix(q)),
                (dynamics.gravity(q), oracle.gravity(q))):
            size = max(np.abs(theirs).max(initial=0.0), 1e-300)
            largest = max(largest, float(np.abs(ours - theirs).max(initial=0.0)) / size)
    return largest


def main(folders: list[str]) -> int:
    """Compare all URDFs; return the exit code."""
    files = [path for folder in folders for path in sorted(Path(folder).rglob('*.urdf'))]
    worst, refused = 0.0, 0
    for path in files or robot_files().values():
        try:
            found = difference(path)
        except (RobodynError, AssertionError) as error:
            refused += 1
            print(f'refused   {path.name}: {str(error)[:200]}', flush=True)
            continue
        worst = max(worst, found)
        print(f'{found:8.1e}  {path.name}', flush=True)
    print(f'largest difference {worst:.1e}, {refused} refused')
    return int(worst > ALLOWED)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
