"""One number for all joints, or one for each."""
import numpy as np
import pytest
from robodyn_ros.exceptions import ParameterError
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
