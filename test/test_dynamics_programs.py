"""
Random programs of all nodes: floats, compiled for one state, and for four at once, to the bit.

Numbers are what breaks things: not a number, infinities, zeros of both signs, denormals, huge.
Multiplications do not fuse here, as Python's do not. The sign of a zero is not compared.
"""
import random

from lanes import in_lanes
import numpy as np
import pytest
from random_programs import (
    ARGUMENTS, COLUMNS, INPUTS, LISTS, RandomListProgram, RandomProgram, SINGLES, SPECIAL)
from robodyn_ros.dynamics.jit import llvm, lower, program
from robodyn_ros.dynamics.jit.flow import FunctionTable, Table
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.trace import absolute, reciprocal

SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 60))]
PROGRAMS, ROWS = 8, 40  # of each seed


@pytest.fixture(autouse=True)
def nothing_fuses(monkeypatch):
    for operation, texts in llvm.INSTRUCTIONS.items():
        monkeypatch.setitem(llvm.INSTRUCTIONS, operation, [
            text.replace(' contract', '') for text in texts])


FUNCTIONS = [Function(body, {'a': 1, 'b': 3}, {'c': 2}) for body in (
    lambda a, b: [a[0] + b[0], b[1] * b[2]],
    lambda a, b: [b[0] * reciprocal(absolute(a[0])), a[0]])]


@pytest.mark.parametrize('seed', SEEDS)
def test_all_forms_agree(seed, monkeypatch):
    if seed % 2:  # as programs that are compiled quickly instead of well
        monkeypatch.setattr(program, 'LONG', 20)
        monkeypatch.setattr(lower, 'BLOCK', 5)
    draw = random.Random(seed)
    parts = [RandomProgram(1000 * seed + k) for k in range(PROGRAMS)]
    made = Function(lambda *given: [part(*given) for part in parts], ARGUMENTS,
                    {'y': sum(part.size for part in parts)})
    rows = np.array([[draw.choice(SPECIAL) if draw.random() < 0.7 else draw.gauss(0.0, 3.0)
                      for _ in range(INPUTS)] for _ in range(ROWS)])
    table = np.cumsum(np.ones((draw.choice([0, 1, 2, 9]), COLUMNS)), axis=0)
    functions = draw.choice([[], [FUNCTIONS[0]], [*FUNCTIONS, None]])
    compiled = np.array([made(row, table, functions) for row in rows])
    for row, expected in zip(rows, compiled):
        found = made.interpret(row, table, functions)
        np.testing.assert_array_equal(found, expected, err_msg=f'{row}')
    # programs for several states call no functions: these are part of them, and fold with them
    bodies = [each and each.body for each in functions]
    others = [RandomProgram(1000 * seed + k) for k in range(PROGRAMS)]
    whole = Function(lambda *given: [part(*given, bodies) for part in others],
                     {name: ARGUMENTS[name] for name in ('x', 'table')}, made.outputs)
    np.testing.assert_array_equal(in_lanes(whole, rows, table),
                                  [whole(row, table) for row in rows])


def without_lists(kind):
    """Return the kind of an argument of which nothing is known but its length."""
    if isinstance(kind, Table):
        return Table(int(kind.columns))
    if isinstance(kind, FunctionTable):
        return FunctionTable(tuple(map(int, kind.inputs)), int(kind.outputs))
    return int(kind)


@pytest.mark.parametrize('length', [2, 3, 4, 7, 8, 9, 12])
@pytest.mark.parametrize('seed', SEEDS)
def test_lists_as_vectors_or_number_by_number(seed, length, monkeypatch):
    if seed % 4 == 1:
        monkeypatch.setattr(program, 'LONG', 20)
        monkeypatch.setattr(lower, 'BLOCK', 5)
    draw, packed = random.Random(f'{seed} {length}'), 0
    for k in range(PROGRAMS // 2):
        part = RandomListProgram(1000 * seed + k, length)
        made = Function(part, part.arguments, part.results)
        plain = Function(part, *({name: without_lists(kind) for name, kind in each.items()}
                                 for each in (part.arguments, part.results)))
        packed += len(made.program().packs.of)
        assert not plain.program().packs.of
        table = np.cumsum(np.ones((draw.choice([0, 1, 2, 9]), 1 + 2 * length)), axis=0)
        functions = draw.choice([[], part.functions, [None, *part.functions]])
        for _ in range(ROWS // 2):
            row = [draw.choice(SPECIAL) if draw.random() < 0.5 else draw.gauss(0.0, 3.0)
                   for _ in range(SINGLES + LISTS * length)]
            for found, expected in zip(made(row, table, functions), plain(row, table, functions)):
                np.testing.assert_array_equal(found, expected, err_msg=f'{row}')
    assert packed > 2 * length
