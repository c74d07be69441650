"""Loops over steps in which a function with a memory is called, for many states."""
from pathlib import Path

import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit.flow import lookup, Table
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.rollout import Coupling, StatefulFunction
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn6.urdf'
DYNAMICS = Dynamics(RobotModel.from_urdf(ARM))


def controller(given, memory, program):
    """Return the command of a PI controller, and its memory with the number of calls."""
    error, = given
    total = memory[0] + error
    return [program[0] * error + program[1] * total], [total, memory[1] + 1.0]


def first(tree, runtime, state, constants, inputs, shifts):
    position, calls = state
    shift, = lookup(shifts, calls, [0])
    return [inputs[0] + shift - position], [2.0 * inputs[0]]


def then(tree, runtime, state, constants, given, shifts):
    kept, command, calls = given
    return [state[0] + constants[0] * command + kept, calls]


def rollout():
    arrays = [np.zeros(size) for size in (1, 2, 2, 1, 2)]
    function = Function(controller, {'given': 1, 'memory': 2, 'program': 2},
                        {'answer': 1, 'next': 2})
    given, _, _, answer, _ = arrays
    stateful = StatefulFunction(function.bound(*arrays), given, answer, 2, 2, (1, 2, 4), (1,))
    return DYNAMICS.rollout(then, (2, 1, 1), 1, tables={'shifts': Table(1)},
                            coupling=Coupling(first, 1, stateful))


def in_python(states, memories, programs, constants, inputs, shifts):
    records = []
    for k in range(inputs.shape[-2]):
        for row, state in enumerate(states):
            now = inputs[k] if inputs.ndim == 2 else inputs[row, k]
            shift = shifts[min(int(state[1]), len(shifts) - 1)]
            answer, memories[row] = controller([now[0] + shift[0] - state[0]], memories[row],
                                               programs[row])
            position = state[0] + constants[row, 0] * answer[0] + 2.0 * now[0]
            states[row] = position, memories[row, 1]
        records.append(states[:, :1].copy())
    return states, np.array(records).transpose(1, 0, 2), memories


@pytest.mark.parametrize('rows', [1, 2, 4, 7])
@pytest.mark.parametrize('steps', [1, 2, 5])
def test_each_state_has_a_memory_and_a_program(rows, steps):
    random, run = np.random.default_rng(rows), rollout()
    states = np.column_stack([random.uniform(size=rows), np.zeros(rows)])
    memories = np.column_stack([random.uniform(size=rows), np.zeros(rows)])
    programs, constants = random.uniform(size=(rows, 2)), random.uniform(size=(rows, 1))
    shifts = random.uniform(size=(3, 1))
    for inputs in (random.uniform(size=(steps, 1)), random.uniform(size=(rows, steps, 1))):
        given = [states.copy(), memories.copy(), programs, constants, inputs]
        found = run(states, constants, inputs, tables=[shifts], memories=given[1],
                    programs=programs)
        np.testing.assert_array_equal(given[1], memories)  # not changed in place
        for one, other in zip(found, in_python(*[each.copy() for each in given], shifts)):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def test_mistakes_are_named():
    run, zeros, tables = rollout(), np.zeros((3, 2)), [np.zeros((1, 1))]
    inputs, own = np.zeros((4, 1)), {'memories': zeros, 'programs': zeros}
    with pytest.raises(ArgumentError, match=r'memories must .* of shape \(3, 2\)'):
        run(zeros, zeros[:, :1], inputs, tables=tables, **{**own, 'memories': zeros[:2]})
    with pytest.raises(ArgumentError, match='programs must'):
        run(zeros, zeros[:, :1], inputs, tables=tables, memories=zeros)
    with pytest.raises(ArgumentError, match='constants must'):
        run(zeros, zeros, inputs, tables=tables, **own)
    none = np.zeros((0, 2))
    state, records, _ = run(none, none[:, :1], inputs, tables=tables, memories=none, programs=none)
    assert len(state) == 0 and records.shape == (0, 4, 1)
