"""One number for all joints, or one for each."""
from types import SimpleNamespace

import numpy as np
import pytest
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model.per_joint import usable_range
from robodyn_ros.settings import per_joint


def test_one_number_is_for_all_joints():
    names = ('a', 'b', 'c')
    np.testing.assert_array_equal(per_joint('kp', 2.0, names), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(per_joint('kp', (2.0,), names), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(per_joint('kp', (1.0, 2.0, 3.0), names), [1.0, 2.0, 3.0])


@pytest.mark.parametrize('wrong', [(), (1.0, 2.0), 'stiff'])
def test_other_numbers_are_refused(wrong):
    with pytest.raises(ParameterError, match='kp.*(a, b, c|one per joint)'):
        per_joint('kp', wrong, ('a', 'b', 'c'))


def test_the_range_of_joints_without_limits_lies_on_the_side_of_the_one_they_have():
    inf = np.inf
    model = SimpleNamespace(lower=np.array([-1.0, -inf, 4.0, -inf]),
                            upper=np.array([2.0, inf, inf, -5.0]))
    lower, upper = usable_range(model, 1.5)
    np.testing.assert_array_equal(lower, [-1.0, -1.5, 4.0, -8.0])
    np.testing.assert_array_equal(upper, [2.0, 1.5, 7.0, -5.0])
