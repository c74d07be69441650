"""Robots on which the tests of the analysis run, states of them, and finite differences."""

from pathlib import Path

import numpy as np
from random_trees import Mixture, random_tree
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel

GRAVITY = (0.8, -2.0, -9.0)
EXACT = 1e-12  # round-off of some thousand operations, two digits of room
# central differences: truncation 1e-10, round-off over the step another 1e-10
STEP, DIFFERENCE = 1e-5, 1e-7
ARM = (Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf').read_text()
TEXTS = {
    'arm': ARM,
    'single': random_tree(60, 1, Mixture(prismatic=0.0)),
    'slides': random_tree(61, 4, Mixture(prismatic=0.7)),
    'tree': random_tree(62, 7, Mixture(prismatic=0.3, branching=0.7)),
    'tied': random_tree(63, 7, Mixture(prismatic=0.3, mimic=0.4)),
    'large': random_tree(64, 17, Mixture(mimic=0.1)),
}
COMPILED = ('arm', 'tied')  # the others run on Python floats: the same text, nothing to compile


def make(name):
    """Return the dynamics of one of the robots, a payload on its last link."""
    model = RobotModel.from_urdf(TEXTS[name], gravity=GRAVITY)
    model = model.with_payload(last_link(model), 0.8, (0.05, -0.1, 0.2), 0.01 * np.eye(3))
    return Dynamics(model, backend='compiled' if name in COMPILED else 'python')


def last_link(model):
    """Return the name of the last link that moves."""
    return [name for name, frame in model.links.items() if frame.body >= 0][-1]


def states(dyn, count=3, seed=65):
    """Return positions, velocities and accelerations, one row per state."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(np.clip(dyn.model.lower, -3, 3), np.clip(dyn.model.upper, -3, 3),
                    (count, dyn.nv))
    return q, *rng.uniform(-2, 2, (2, count, dyn.nv))


def slopes(function, x):
    """Return df/dx by central differences, the component of x as the last axis."""
    steps = STEP * np.eye(len(x))
    return np.stack(
        [(function(x + step) - function(x - step)) / (2 * STEP) for step in steps], axis=-1)
