"""The calls of `Dynamics` as a table, a small robot to make them on, and numbers to pass."""

import numpy as np
from random_trees import Mixture, random_tree
from robodyn_ros.model import RobotModel

JOINTS = 5
MODEL = RobotModel.from_urdf(random_tree(51, JOINTS, Mixture(prismatic=0.4, mimic=0.0)))
LINK = list(MODEL.links)[-1]
# Name, number of array arguments, arguments after them.
CALLS = (
    ('inverse_dynamics', 3, ()), ('gravity', 1, ()), ('bias', 2, ()), ('mass_matrix', 1, ()),
    ('forward_dynamics', 3, ()), ('forward_kinematics', 1, (LINK,)), ('jacobian', 1, (LINK,)),
    ('jacobian_dot_qd', 2, (LINK,)), ('center_of_mass', 1, ()), ('coriolis_matrix', 2, ()),
    ('regressor', 3, ()), ('christoffel', 1, ()), ('kinetic_energy', 2, ()),
    ('potential_energy', 1, ()))
WITH_OUT = CALLS[:-3]
# these give several arrays
PARTS = (
    ('velocity_forces', 2, ()), ('inverse_dynamics_derivatives', 3, ()),
    ('forward_dynamics_derivatives', 3, ()), ('effective_mass', 1, (LINK,)))


# those of which all numbers are determined
ALL = *CALLS, *PARTS[:-1]
SOLVED = 'forward_dynamics', 'forward_dynamics_derivatives'  # amplified round-off


def parts(name, result):
    """Return the arrays that a call gives."""
    return tuple(result) if name in [part[0] for part in PARTS] else (result,)


def arrays(count, *shape):
    """Return `count` arrays of joint values, batches of the leading shape."""
    rng = np.random.default_rng(53)
    return [rng.uniform(-1, 1, (*shape, JOINTS)) for _ in range(count)]


def read_only(x):
    """Return a copy that cannot be written to."""
    x = x.copy()
    x.flags.writeable = False
    return x
