"""The cycle of one robot, compiled, with the arrays that it works on."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np

from robodyn_ros.control import blocks
from robodyn_ros.control.adaptive.adaptation_step import PARAMETERS
from robodyn_ros.control.pose.pose_motion import joint_bounds
from robodyn_ros.control.steps import laws, learning, path
from robodyn_ros.control.steps.body import length, PARTS
from robodyn_ros.control.steps.cycle import cycle
from robodyn_ros.control.steps.memory import Memory
from robodyn_ros.control.steps.program import Program
from robodyn_ros.control.steps.state import State
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.flow import FunctionTable, Table
from robodyn_ros.dynamics.function import Function

BLOCKS = {'state': State, 'memory': Memory, 'program': Program}


class CompiledCycle:
    """
    The cycle of one robot.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    link : str
        Link that the Cartesian laws hold.
    learning_link : str
        Link whose payload the adaptive law learns.
    slot : int or None
        Place of its ten parameters in the runtime of the dynamics; None: it has none.
    longest_pause : float
        Seconds between two cycles that the reference makes up for.
    schedule : GainSchedule
        Of the gains.

    """

    def __init__(self, dynamics: Dynamics, link: str, learning_link: str, slot: int | None,
                 longest_pause: float, schedule):
        model, tree = dynamics.model, dynamics.tree
        n = model.nv
        self.dimensions = {
            'joints': n, 'bodies': model.nb, 'wrenches': 6 * model.nb,
            'runtime': dynamics.runtime.size, 'terms': len(Term) * n, 'task': 6, 'pose': 12,
            'feedback': 2 * n * n, 'pseudo_inertia': 16, 'report': laws.REPORT}
        lower, upper, speeds = joint_bounds(model)
        self.robot = SimpleNamespace(
            tree=tree, lower=list(map(float, model.lower)), upper=list(map(float, model.upper)),
            longest_pause=longest_pause, frame=dynamics.frame(link), slot=slot,
            reach_lower=list(map(float, lower)), reach_upper=list(map(float, upper)),
            speeds=list(map(float, speeds)), schedule=schedule, dimensions=self.dimensions)
        sizes = {name: blocks.size(cls, self.dimensions) for name, cls in BLOCKS.items()}
        inputs = laws.sizes(self.dimensions)
        outputs = laws.output_size(self.dimensions)
        self.laws = [Function(
            laws.body_of(name, tree, self.robot.frame, self.dimensions),
            dict(zip(laws.INPUTS, inputs)), {'terms': outputs}) for name in laws.NAMES]
        self.tables = {'laws': FunctionTable(inputs, outputs)}
        self.functions = {'laws': self.laws}
        for name, part in PARTS.items():
            self._add(name, partial(part.function, self.robot),
                      [length(each, self.dimensions) for each in part.inputs],
                      length(part.outputs, self.dimensions))
        self._add('learning', learning.body_of(tree, dynamics.frame(learning_link), n),
                  learning.sizes(self.dimensions), PARAMETERS.stop)
        self.function = Function(
            self._body, {**self.tables, 'path': Table(path.columns(n)), **sizes},
            {'torque': n, 'next': sizes['memory']})
        self.sizes = sizes

    def _add(self, name: str, body, inputs, outputs: int) -> None:
        """Add a table with one function, whose first input is the runtime."""
        sizes = self.dimensions['runtime'], *inputs
        self.tables[name] = FunctionTable(sizes, outputs)
        self.functions[name] = [Function(
            body, {f'x{k}': each for k, each in enumerate(sizes)}, {'result': outputs})]

    def _body(self, *given):
        functions = SimpleNamespace(**dict(zip(self.tables, given)))
        table, *arrays = given[len(self.tables):]
        state, m, p = (blocks.unpack(cls, values, self.dimensions)
                       for cls, values in zip(BLOCKS.values(), arrays))
        return cycle(self.robot, functions, table, state, m, p)

    def zeros(self, name: str) -> np.ndarray:
        """Return an array for the block of a name: 'state', 'memory', 'program'."""
        return np.zeros(self.sizes[name])
