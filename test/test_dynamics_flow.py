"""
Branches, loops, calls and tables: floats, machine code for one state, and for four at once.

Expected values are written out by hand, from the descriptions in `flow`, `flags` and `trace`.
"""
import ctypes
from dataclasses import dataclass
from fractions import Fraction
import math
from pathlib import Path
from typing import NamedTuple

from lanes import in_lanes
import numpy as np
import pytest
from robodyn_ros.dynamics import algorithms, Dynamics
from robodyn_ros.dynamics.jit.flags import (
    all_finite, any_above, equal, finite, first_of, flag, no, when)
from robodyn_ros.dynamics.jit.flow import (
    call, choose, FunctionTable, inverse, iterate, lookup, search_sorted, Table)
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.lists import ListLayout
from robodyn_ros.dynamics.jit.trace import absolute, floor, maximum, minimum, nearest, sincos, sqrt
from robodyn_ros.exceptions import ArgumentError, KernelError
from robodyn_ros.model import RobotModel

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
NAN, INF = math.nan, math.inf


def found(body, rows, outputs=1, tables=(), kinds=()):
    """Return the results of each row of numbers, checked to be the same in all three forms."""
    rows = np.array(rows, dtype=float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    arguments = {'x': rows.shape[1], **{f'table{k}': kind for k, kind in enumerate(kinds)}}
    made = Function(body, arguments, {'y': outputs})
    compiled = np.array([made(row, *tables) for row in rows])
    np.testing.assert_array_equal([made.interpret(row, *tables) for row in rows], compiled)
    # neighbours in lanes are of different minds
    np.testing.assert_array_equal(in_lanes(made, rows, *tables), compiled)
    return compiled[:, 0] if outputs == 1 else compiled


def test_the_case_is_the_whole_part_of_the_index_and_else_the_last():
    def body(x):
        return [choose(x[0], [lambda: 10.0, lambda: x[0], lambda: 30.0])]

    index = [0.0, -0.0, 0.9, 1.0, 1.5, 2.0, 3.0, -0.1, -1.0, 1e300, INF, -INF, NAN]
    np.testing.assert_array_equal(
        found(body, index), [10.0, 10.0, 10.0, 1.0, 1.5, *[30.0] * 8])


def test_a_flag_chooses_between_otherwise_and_where_it_holds():
    def body(x):
        return [choose(x[0] > 1.0, [lambda: -x[0], lambda: 2.0 * x[0]])]

    np.testing.assert_array_equal(found(body, [0.5, 1.0, 3.0, -INF]), [-0.5, -1.0, 6.0, INF])


def test_cases_within_cases():
    def body(x):
        def inner():
            return choose(x[1], [lambda: x[2] + 1.0, lambda: x[2] + shared])

        shared = x[2] * x[2]
        return [choose(x[0], [inner, lambda: shared, lambda: 0.0])]

    rows = [(0, 0, 3.0), (0, 1, 3.0), (1, 0, 3.0), (2, 1, 3.0), (0, 5, -1.0)]
    np.testing.assert_array_equal(found(body, rows), [4.0, 12.0, 9.0, 0.0, 0.0])


class Pair(NamedTuple):
    first: list
    second: float


@dataclass
class Whole:
    pair: Pair
    number: float


def test_cases_return_any_structure():
    def body(x):
        made = choose(x[0], [lambda: Whole(Pair([x[1], 1.0], 2.0), 3.0),
                             lambda: Whole(Pair([x[2], 1.0], 4.0), x[1])])
        assert isinstance(made, Whole) and isinstance(made.pair, Pair)
        return [*made.pair.first, made.pair.second, made.number]

    np.testing.assert_array_equal(found(body, [(0, 7, 8), (1, 7, 8)], 4),
                                  [[7, 1, 2, 3], [8, 1, 4, 7]])


def test_cases_that_return_unlike_things_are_refused():
    made = Function(lambda x: choose(x[0], [lambda: [x[0]], lambda: [1.0, 2.0]]), {'x': 1},
                    {'y': 1})
    with pytest.raises(TypeError, match=r'choose.* \[1, 2\] scalars'):
        made([0.0])


def test_only_the_chosen_case_runs():
    calls = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        lambda given, out: calls.append(ctypes.c_double.from_address(given).value))

    def body(x, functions):
        return [choose(x[0], [lambda: 1.0, lambda: call(functions, 0.0, [x[1]], outputs=1)[0]])]

    made = Function(body, {'x': 2, 'functions': FunctionTable((1,), 1)}, {'y': 1})
    made([0.0, 5.0], [function])
    assert calls == []
    made([1.0, 6.0], [function])
    assert calls == [6.0]


def test_what_one_case_needs_alone_is_computed_there():
    def body(x):
        dear, common = sqrt(x[1] + 7.0), x[1] * x[1]
        return [choose(x[0], [lambda: dear, lambda: common + 1.0]) + common]

    program = Function(body, {'x': 2}, {'y': 1}).program()
    nodes, regions = program.graph.nodes, program.schedule.region
    where = {nodes[index][0]: regions[index] for index in program.needed}
    assert where['mul'] is program.graph.root and where['sqrt'].outer is program.graph.root


def test_a_loop_runs_while_its_number_is_below_count_and_limit():
    def body(x):
        return iterate(x[0], lambda s: [s[0] + x[1], 2.0 * s[1]], [0.0, 1.0], 5)

    counts = [0.0, 1.0, 2.5, 5.0, 6.0, 1e300, INF, -1.0, -INF, NAN]
    times = [0, 1, 3, 5, 5, 5, 5, 0, 0, 0]
    np.testing.assert_array_equal(found(body, [(count, 3.0) for count in counts], 2),
                                  [(3.0 * n, 2.0 ** n) for n in times])


def test_loops_and_cases_within_loops():
    def body(x):
        def outer(state):
            inner = iterate(state.second, lambda s: s + x[1], 0.0, 9)
            return Pair(
                [choose(inner > 2.5, [lambda: state.first[0] + inner, lambda: 100.0 * x[1]])],
                state.second + 1.0)

        return iterate(x[0], outer, Pair([x[1]], 0.0), 8)

    # the inner sum after 0, 1, 2, 3 rounds of 1: 0, 1, 2, 3
    np.testing.assert_array_equal(
        found(body, [(0, 1.0), (2, 1.0), (3, 1.0), (4, 1.0), (1, NAN)], 2),
        [(1, 0), (2, 2), (4, 3), (100, 4), (NAN, 1)])


def test_what_stays_the_same_is_computed_before_the_loop():
    program = Function(lambda x: iterate(x[0], lambda s: s + sqrt(x[1]) * s, 1.0, 9), {'x': 2},
                       {'y': 1}).program()
    where = {program.graph.nodes[index][0]: program.schedule.region[index]
             for index in program.needed}
    assert where['sqrt'] is program.graph.root and where['mul'].variables


def test_what_was_recorded_before_a_loop_stays_before_it():
    def body(x):
        root = sqrt(x[1])
        return iterate(x[0], lambda s: choose(s, [lambda: s + root, lambda: s + floor(x[1])]),
                       0.0, 9)

    program = Function(body, {'x': 2}, {'y': 1}).program()
    where = {program.graph.nodes[index][0]: program.schedule.region[index]
             for index in program.needed}
    assert where['sqrt'] is program.graph.root
    assert where['floor'].outer.variables  # what a case in it computes alone, only then


def test_a_value_of_a_loop_does_not_get_out_of_it():
    kept = []

    def body(x):
        iterate(x[0], lambda s: kept.append(s * s) or s + 1.0, x[0], 3)
        return kept[0]

    with pytest.raises(KernelError, match='let the step return it'):
        Function(body, {'x': 1}, {'y': 1})([1.0])


def test_a_step_that_returns_another_state_is_refused():
    made = Function(lambda x: iterate(x[0], lambda s: [*s, 1.0], [x[0]], 3), {'x': 1}, {'y': 2})
    with pytest.raises(TypeError, match='gets 1 scalars and returns 2'):
        made([1.0])


def test_functions_are_called_by_row():
    double = Function(lambda a, b: [2.0 * a[0], b[0] + b[1]], {'a': 1, 'b': 2}, {'c': 2})
    sine = Function(lambda a, b: sincos(a[0]), {'a': 1, 'b': 2}, {'c': 2})

    def body(x, functions):
        return call(functions, x[0], x[1], [x[2], 1.0], outputs=2)

    rows = [(0, 3, 4), (1, 3, 4), (2, 3, 4), (2.9, 0, 4), (3, 0, 0), (-1, 0, 0), (NAN, 0, 0)]
    expected = [(6, 5), (NAN, NAN), (math.sin(3), math.cos(3)), (0, 1), *[(NAN, NAN)] * 3]
    np.testing.assert_allclose(
        found(body, rows, 2, ([double, None, sine],), (FunctionTable((1, 2), 2),)), expected,
        rtol=1e-15)
    np.testing.assert_array_equal(found(body, rows, 2, ([],), (FunctionTable((1, 2), 2),)), NAN)


def test_a_row_of_a_bound_table_is_filled_later():
    def body(x, functions):
        return call(functions, 1.0, x, outputs=1)

    made = Function(body, {'x': 1, 'functions': FunctionTable((1,), 1)}, {'y': 1})
    functions, y = np.zeros(2, dtype=np.int64), np.zeros(1)
    run = made.bind(np.array([4.0]), functions, y)
    run()
    assert math.isnan(y[0])
    root = Function(lambda x: [sqrt(x[0])], {'x': 1}, {'y': 1})
    functions[1] = root.address
    run()
    assert y[0] == 2.0


def test_a_call_that_does_not_fit_the_table_is_refused():
    made = Function(lambda x, functions: call(functions, 0.0, x, outputs=1),
                    {'x': 2, 'functions': FunctionTable((3,), 1)}, {'y': 1})
    with pytest.raises(TypeError, match=r'\(3, 1\) scalars .* has \(2, 1\)'):
        made([1.0, 2.0], [])


def test_rows_are_read_within_the_table():
    table = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]

    def body(x, table):
        return lookup(table, x[0], (2, 0))

    rows = [0.0, 1.0, 1.99, 2.0, 3.0, INF, -0.5, -INF, NAN]
    expected = [(3, 1), (6, 4), (6, 4), (9, 7), (9, 7), (9, 7), *[(3, 1)] * 3]
    np.testing.assert_array_equal(found(body, rows, 2, (table,), (Table(3),)), expected)
    np.testing.assert_array_equal(found(body, rows, 2, ([],), (Table(3),)), [(NAN, NAN)] * 9)


@pytest.mark.parametrize('rows', [0, 1, 2, 3, 7, 64])
def test_a_search_finds_what_numpy_finds(rows):
    rng = np.random.default_rng(rows)
    table = np.column_stack([rng.normal(size=rows), np.cumsum(rng.integers(0, 2, rows))])
    values = np.arange(-1.0, rows + 1.0, 0.25)
    at = found(lambda x, table: search_sorted(table, x[0], column=1), values, 1, (table,),
               (Table(2),))
    expected = np.maximum(np.searchsorted(table[:, 1], values, 'right') - 1, 0)
    np.testing.assert_array_equal(at, expected)


def test_a_search_keeps_to_its_part_of_the_table():
    table = np.arange(10.0)[:, None]

    def body(x, table):
        return search_sorted(table, x[0], x[2], first=x[1])

    rows = [(99, 0, 4), (99, 3, 4), (1, 3, 4), (4.5, 3, 4), (99, 3, INF), (99, 3, NAN),
            (99, 3, -1), (99, 3, 0.5), (99, 99, 5), (NAN, 3, 4), (99, NAN, 2), (INF, -5, 2.9)]
    np.testing.assert_array_equal(found(body, rows, 1, (table,), (Table(1),)),
                                  [3, 6, 3, 4, 9, 3, 3, 3, 9, 3, 1, 1])


def test_flags():
    def body(x):
        a, b = x
        return [a > b, a < b, a >= b, equal(a, b), finite(a), flag(a), a & b, a | b, no(a),
                no(no(a)), all_finite([a, [b]]), any_above([a, b], 1.5),
                ((a > 0.0) & no(b > 0.0)) * 5.0]

    rows = [(1, 2), (2, 1), (1, 1), (0, -1), (NAN, 1), (INF, 1), (-INF, NAN), (5e-324, 0)]
    np.testing.assert_array_equal(found(body, rows, 13), [
        # >  <  >= =  fin flag and or no nono all any
        [0, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0],
        [1, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0],
        [0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0],
        [1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
        [1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 5]])


def test_the_first_row_that_holds_decides():
    def body(x):
        return first_of((x[0] > 2.0, 1.0, [x[1], 10.0]), (x[0] > 1.0, 2.0, [x[1], x[1]]),
                        otherwise=(3.0, [0.0, when(x[1], 1.0, -1.0)]))

    np.testing.assert_array_equal(
        found(body, [(3, 7), (2, 7), (1, 7), (NAN, -7)], 3),
        [[1, 7, 10], [2, 7, 7], [3, 0, 1], [3, 0, -1]])


def test_rounding():
    values = [0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, 4503599627370497.5, -3.7, 1e300,
              INF, -INF, NAN, -0.0]
    nearest_one, down = found(lambda x: [nearest(x[0]), floor(x[0])], values, 2).T
    np.testing.assert_array_equal(nearest_one, np.round(values))
    np.testing.assert_array_equal(down, np.floor(values))
    np.testing.assert_array_equal(np.signbit(nearest_one), np.signbit(np.round(values)))


def test_floats_fold_and_divide_as_compiled_code_does():
    def body(x):
        a, b = x
        return [a - a, 0.0 * a, 0 * a, 0.0 / a, a / 1.0, a + 0.0, b * a, b / a, 1.0 / a, a / 0.0,
                (a - b) / (b - a), 2 - a, -a / b, absolute(a) / sqrt(b)]
    np.testing.assert_array_equal(
        found(body, [(2, 4), (0, 1), (-0.0, 3), (NAN, 1), (-INF, 1), (-1, -1)], 14),
        [[0, 0, 0, 0, 2, 2, 8, 2, 0.5, INF, -1, 0, -0.5, 1],
         [0, 0, 0, 0, 0, 0, 0, INF, INF, NAN, -1, 2, 0, 0],
         [0, 0, 0, 0, 0, 0, 0, -INF, -INF, NAN, -1, 2, 0, 0],
         [0, 0, 0, 0, *[NAN] * 10],
         [0, 0, 0, 0, -INF, -INF, -INF, 0, 0, -INF, NAN, INF, INF, INF],
         [0, 0, 0, 0, -1, -1, 1, 1, -1, -INF, NAN, 3, -1, NAN]])


def test_of_two_zeros_the_second_is_smaller_and_larger():
    rows = [(0.0, -0.0), (-0.0, 0.0)]
    both_ways = found(lambda x: [minimum(*x), maximum(*x)], rows, 2)
    np.testing.assert_array_equal(np.signbit(both_ways), [[True, True], [False, False]])


def test_zeros_in_vectors_of_constants_keep_their_sign():
    made = Function(lambda x: [[maximum(a, -0.0) for a in x], [-0.0, 0.0]], {'x': ListLayout([2])},
                    {'y': ListLayout([2, 2])})
    assert made.program().packed
    assert np.signbit(made([0.0, -1.0])).tolist() == [True, True, True, False]


def test_joints_with_equal_constants_are_computed_with_the_others():
    """The numbers `low - x[0]` of such joints are one node, which has no place in a list."""
    def moved(limits):
        made = Function(lambda x: [[maximum(q, low - x[0]) * q for q, low in zip(x[1:], limits)]],
                        {'x': ListLayout([1, 5])}, {'y': ListLayout([5])})
        q = np.array([-3.0, 0.5, -1.5, 2.0, NAN])
        np.testing.assert_array_equal(made([1.0, *q]), np.maximum(q, np.subtract(limits, 1)) * q)
        return made.program().operation_count()

    assert moved([-2.0, -1.0, -2.0, 3.0, -1.0]) == moved([-4.0, -3.0, -2.0, -1.0, 1.5]) < 5


def test_arrays_are_checked_and_named():
    made = Function(lambda x, path: [x[0], x[1]], {'x': 2, 'path': Table(3)}, {'y': 2})
    out = np.empty(2)
    for given, message in [
            (([1.0], [[1.0, 2.0, 3.0]], out), r'x must have shape \(2,\)'),
            (([1.0, 2.0], [[1.0, 2.0]], out), r'path must have shape'),
            (([1.0, 2.0], [1.0, 2.0, 3.0], out), r'path has shape \(3,\)'),
            (([1.0, 2.0], [], np.empty(3)), r'y must be a writeable .* shape \(2,\), got'),
            (([1.0, 2.0], [], [0.0, 0.0]), 'got list'),
            ((out, [], out), 'y overlaps another array'),
            (([1.0, 2.0], out), 'takes 3 arrays')]:
        with pytest.raises(ArgumentError, match=message):
            made.bind(*given)
    law = Function(lambda laws: [1.0], {'laws': FunctionTable((1,), 1)}, {'y': 1})
    with pytest.raises(ArgumentError, match=r'laws\[1\] is a str'):
        law([None, 'law'])
    other = Function(lambda x: x, {'x': 2}, {'y': 2})
    with pytest.raises(ArgumentError, match=r'laws\[0\] takes and returns \(2, 2\) .* \(1, 1\)'):
        law([other])


def test_outputs_that_differ_from_what_was_declared_are_refused():
    with pytest.raises(KernelError, match="3 scalars for the output 'y', which has 2"):
        Function(lambda x: [x, 0.0], {'x': 2}, {'y': 2})([1.0, 2.0])
    with pytest.raises(KernelError, match='returns 3 items for the outputs y, z'):
        Function(lambda x: (x, x, x), {'x': 2}, {'y': 2, 'z': 2})([1.0, 2.0])


def test_a_sequence_of_functions_becomes_part_of_the_program():
    double = [lambda a: [2.0 * a[0]], None, lambda a: [a[0] + 1.0]]
    rows = [(0, 3), (1, 3), (2, 3), (3, 3), (9, 3), (-1, 3), (NAN, 3)]
    np.testing.assert_array_equal(
        found(lambda x: call(double, x[0], [x[1]], outputs=1), rows),
        [6, NAN, 4, NAN, NAN, NAN, NAN])


@pytest.mark.parametrize('backend', ['compiled', 'python'])
@pytest.mark.parametrize('rows', [1, 6])
def test_rollouts_with_tables(backend, rows):
    def step(tree, runtime, state, constants, inputs, path, rates):
        time, q = state
        reference, = lookup(path, search_sorted(path, time), (1,))
        rate, = lookup(rates, constants[0], (0,))
        return [time + inputs[0], q + rate * (reference - q)]

    run = Dynamics(RobotModel.from_urdf(ARM), backend=backend).rollout(
        step, (2, 1, 1), 2, tables={'path': Table(2), 'rates': Table(1)})
    state = np.column_stack([np.zeros(rows), np.arange(rows)])
    path = [[0.0, 8.0], [2.0, 0.0]]
    after, records = run(state, np.zeros((rows, 1)), np.ones((3, 1)), tables=(path, [[0.5]]))[:2]
    # half of the way to 8, again, then half of the way to 0
    np.testing.assert_array_equal(records[:, :, 1], [
        ((8 + q) / 2, 8 - (8 - q) / 4, 4 - (8 - q) / 8) for q in range(rows)])
    np.testing.assert_array_equal(after, records[:, -1])
    with pytest.raises(ArgumentError, match='takes 2 tables, got 1'):
        run(state, np.zeros((rows, 1)), np.ones((3, 1)), tables=(path,))


def test_records_may_be_read_by_later_steps():
    def step(tree, runtime, state, constants, inputs, past):
        k, _ = state
        before, = lookup(past, constants[0] * 4.0 + k - 1.0, (1,))
        return [k + 1.0, when(k > 0.0, before + 2.0, 10.0 * constants[0])]

    run = Dynamics(RobotModel.from_urdf(ARM)).rollout(
        step, (2, 1, 0), 2, tables={'past': Table(2)})
    records = np.zeros((3, 4, 2))
    _, found_records, _ = run(np.zeros((3, 2)), np.arange(3.0)[:, None], np.zeros((4, 0)),
                              tables=(records.reshape(-1, 2),), records=records)
    assert found_records is records
    np.testing.assert_array_equal(records[:, :, 1], [[10 * k + 2 * j for j in range(4)]
                                                     for k in range(3)])
    with pytest.raises(ArgumentError, match='records'):
        run(np.zeros((3, 2)), np.zeros((3, 1)), np.zeros((4, 0)),
            tables=(records.reshape(-1, 2),), records=records[:, :2])


def test_a_product_and_a_sum_are_rounded_once_or_twice():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(400, 3)) * 10.0 ** rng.integers(-3, 4, (400, 1))
    rows[::2, 2] = -rows[::2, 0] * rows[::2, 1]  # what is left is the error of the product
    made = Function(lambda x: [x[0] * x[1] + x[2]], {'x': 3}, {'y': 1})
    fused = [float(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in rows]
    apart = rows[:, 0] * rows[:, 1] + rows[:, 2]
    for found in (np.array([made(row)[0] for row in rows]), in_lanes(made, rows)[:, 0]):
        assert np.all((found == fused) | (found == apart))


def test_a_cycle_in_small():
    """
    A worked example: memory in and out, a path, a table of laws, and a call by address.

    A joint follows a path of (time, position, velocity) with one of two laws; without a law it
    gets no torque.
    """
    def spring(x):
        q, qd, reference = x
        return [40.0 * (reference - q) - 4.0 * qd]

    def gravity(x):
        return [9.81 * sincos(x[0])[0]]

    def cycle(state, memory, path, laws):
        q, qd, dt, law = state
        time, missed = memory
        time = when(finite(dt), time + dt, time)
        begin, position, velocity = lookup(path, search_sorted(path, time), range(3))
        reference = position + velocity * (time - begin)
        torque, = call(laws, law, [q, qd, reference], outputs=1)
        good = finite(torque)
        return when(good, torque, 0.0), [time, missed + no(good)]

    laws = [Function(body, {'x': 3}, {'torque': 1}) for body in (spring, gravity)]
    made = Function(cycle, {'state': 4, 'memory': 2, 'path': Table(3),
                            'laws': FunctionTable((3,), 1)}, {'torque': 1, 'memory': 2})
    path = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    state, memory, after, torque = np.zeros(4), np.zeros(2), np.zeros(2), np.zeros(1)
    run = made.bind(state, memory, path, laws, torque, after)
    for given, expected in [
            ((0.0, 0.0, 0.25, 0), 10.0), ((0.5, 0.0, 0.5, 1), 9.81 * math.sin(0.5)),
            ((0.5, 1.0, 9.0, 0), 16.0), ((0.5, 1.0, NAN, 7), 0.0)]:
        state[:] = given
        run()
        memory[:] = after
        assert torque[0] == pytest.approx(expected, rel=1e-14)
    assert list(memory) == [9.75, 1.0]
    # the same by the address, as another function's machine code calls it
    table = np.array([law.address for law in laws])
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64,
                     *[ctypes.c_void_p] * 2)(made.address)(
        state.ctypes.data, memory.ctypes.data, path.ctypes.data, len(path), table.ctypes.data,
        len(table), torque.ctypes.data, after.ctypes.data)
    assert list(after) == [9.75, 2.0]


def test_a_function_of_a_robot_is_found_again_in_the_cache(tmp_path):
    model = RobotModel.from_urdf(ARM)
    made = [Dynamics(model, cache=tmp_path).function(
        gravity_torque, {'runtime': 3, 'q': model.nv}, {'torque': model.nv}, 'g')
        for _ in range(2)]
    q = np.linspace(0.1, 0.7, model.nv)
    np.testing.assert_array_equal(*(each(model.gravity, q) for each in made))
    np.testing.assert_allclose(made[0](model.gravity, q), Dynamics(model).gravity(q), rtol=1e-12)
    assert len(list(tmp_path.glob('*.o'))) == 1


def gravity_torque(tree, runtime, q):
    return algorithms.gravity(tree, runtime, q)


@pytest.mark.parametrize('size', [1, 2, 5, 13, 30])
def test_inverse_of_a_matrix_is_that_of_numpy(size):
    def body(x):
        rows = [list(x[i * size:i * size + size]) for i in range(size)]
        # the first row is tested, so that lanes differ in what they compute
        return choose(x[0] > 1.0, [lambda: [0.0] * size * size, lambda: inverse(rows)])

    made = Function(body, {'x': size * size}, {'y': size * size})
    A = np.random.default_rng(size).normal(size=(9, size, size))
    M = A @ A.transpose(0, 2, 1) + 0.5 * np.eye(size)
    M[:5, 0, 0] += 1.0
    rows = M.reshape(9, -1)
    found = np.array([made(row) for row in rows])
    expected = np.where((M[:, :1, 0] > 1.0), np.linalg.inv(M).reshape(9, -1), 0.0)
    scale = np.linalg.cond(M).max() * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=1e-15 * scale, rtol=0.0)
    np.testing.assert_array_equal(in_lanes(made, rows), found)
    np.testing.assert_allclose([made.interpret(row) for row in rows], found, atol=1e-15 * scale,
                               rtol=0.0)
