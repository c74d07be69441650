"""Steps of the control cycle on floats: arrays into blocks of scalars, and back."""

from dataclasses import fields, is_dataclass
from types import SimpleNamespace

import numpy as np
from robodyn_ros.control import Loads
from robodyn_ros.control.compiled import CompiledCycle
from robodyn_ros.control.steps.body import Body
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.ieee import Ieee
from robodyn_ros.dynamics.jit.nested import flatten

LONGEST_PAUSE = 0.25  # s


def doubles(values):
    """Return numbers, arrays and blocks as scalars that compute as machine code does."""
    if is_dataclass(values):
        return type(values)(**{each.name: doubles(getattr(values, each.name))
                               for each in fields(values)})
    if isinstance(values, (list, tuple)) or np.ndim(values):
        return [doubles(each) for each in values]
    return Ieee(values)


def array(values):
    """Return the scalars of a list or a block as an array."""
    return np.array(flatten(values), dtype=float)


def filled(cls, nv=7, **given):
    """
    Return a block with the fields that are given; all other numbers are zero.

    A number given for a list counts for all of its elements.
    """
    dimensions = {'joints': nv, 'task': 6, 'pose': 12, 'feedback': 2 * nv * nv,
                  'pseudo_inertia': 16}
    block = blocks.unpack(cls, [0.0] * blocks.size(cls, dimensions), dimensions)
    values = {each.name: getattr(block, each.name) for each in fields(cls)}
    for name, value in given.items():
        values[name] = (np.broadcast_to(value, (len(values[name]),))
                        if isinstance(values[name], list) else value)
    return doubles(cls(**values))


def gains_of(gains):
    """Return gains as the steps read them."""
    return doubles(gains)


def body_of(dynamics, gains, learning_link=''):
    """
    Return a robot as the steps see it; its functions are those of the compiled cycle.

    learning_link: whose payload is learned, if any is.
    """
    model = dynamics.model
    slot = Loads(dynamics).parameter_index(learning_link) if learning_link else None
    made = CompiledCycle(dynamics, learning_link or model.tip, slot, LONGEST_PAUSE)
    functions = {name: [_over_lists(each) for each in table]
                 for name, table in made.functions.items()}
    return Body(made.robot, SimpleNamespace(**functions), doubles(dynamics.runtime),
                gains_of(gains))


def _over_lists(function):
    return lambda *inputs: function(*inputs).tolist()
