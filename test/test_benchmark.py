"""Benchmarks: a figure of all quantities, and of peers only if they compute the same."""

from pathlib import Path
import sys

import numpy as np
import pytest
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.inspection.timing import Budget, Call

sys.path.append(str(Path(__file__).resolve().parents[1] / 'benchmark'))
check, cases = __import__('calls').check, __import__('cases')
compare = __import__('timing').compare
SHORT = Budget(turn=1e-4, total=0.0, min_rounds=3)


@pytest.mark.parametrize('measure', [cases.measure_calls, cases.measure_batches])
def test_all_quantities_are_timed_beside_libraries_that_agree(measure):
    peers, _ = cases.installed()
    rows = measure(['robodyn7'], peers, SHORT)
    ours = {row.quantity: row for row in rows if row.library == 'robodyn'}
    assert set(ours) >= {'inverse dynamics', 'mass matrix', 'forward dynamics'}
    assert all(0.0 < row.time[0] <= row.time[1] <= row.time[2] and row.ratio == (1.0, 1.0, 1.0)
               for row in ours.values())
    # others have no calls for many states
    for peer in peers if measure is cases.measure_calls else ():
        assert sum(row.library == peer.name for row in rows) >= 3


def test_what_computes_something_else_is_not_compared():
    good, other = Call('x', {'x': np.ones(2)}), Call('x', {'x': np.array([1.0, 1.1])})
    check('arm', 'torque', {'robodyn': good, 'twin': good})
    for wrong in (other, Call('x', {'x': np.ones(3)}), Call('x', {'x': np.full(2, np.nan)})):
        with pytest.raises(RobodynError, match='torque'):
            check('arm', 'torque', {'robodyn': good, 'twin': wrong})


def test_ratios_are_those_of_times():
    calls = {'robodyn': Call('sum(x)', {'x': range(100)}),
             'slow': Call('sum(x)', {'x': range(10_000)})}
    ours, slow = compare('call', 'arm', 1, 'sum', calls, Budget(total=0.05))
    assert ours.ratio == (1.0, 1.0, 1.0)
    assert slow.ratio[1] > 10.0
