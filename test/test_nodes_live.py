"""Parameters of the controller node that change while it holds an arm, over their services."""

import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import ACTIVE, logged, NODE, PATIENT  # noqa: E402
from fake_arm import fake_controller, FakeArm, GRAVITY  # noqa: E402
from rcl_interfaces.srv import (  # noqa: E402
    DescribeParameters, GetParameters, SetParametersAtomically)
from rclpy.parameter import Parameter, parameter_value_to_python  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

NAME = f'live/{NODE}'


@pytest.fixture(scope='module')
def held(probe):
    with FakeArm(probe, 'live/') as arm, fake_controller('live', **PATIENT) as process:
        probe.until(lambda: ACTIVE in process.output, 'activity')
        yield arm, process
        assert 'Traceback' not in process.output


def values(probe, *names):
    response = probe.call(GetParameters, f'{NAME}/get_parameters', names=list(names))
    return [parameter_value_to_python(value) for value in response.values]


def set_together(probe, **given):
    """Set parameters all or none; return (successful, reason)."""
    parameters = [Parameter(name.replace('__', '.'), value=value).to_parameter_msg()
                  for name, value in given.items()]
    result = probe.call(SetParametersAtomically, f'{NAME}/set_parameters_atomically',
                        parameters=parameters).result
    return result.successful, result.reason


def description(probe, name):
    described = probe.call(DescribeParameters, f'{NAME}/describe_parameters', names=[name])
    described.descriptors[0].type = 0  # rclpy's guess of an empty list, from the last value
    return described.descriptors[0]


@pytest.mark.parametrize('name, value', [
    ('natural_frequency', [15.0, 25.0]), ('kp', [300.0]), ('friction_scale', 0.5),
    ('gravity_scale', [0.9]), ('armature', [0.01]), ('float_damping', [0.5, 0.2]),
    ('effort_limit', [30.0, 15.0]), ('effort_margin', 0.9), ('torque_rate_limit', [800.0]),
    ('constraints.trajectory', [0.5]), ('constraints.goal', [0.1, 0.2]),
    ('constraints.goal_time', 1.0), ('allow_partial_joints_goal', True),
    ('handshake_tolerance', [2.0]), ('transition_time', 0.1),
    ('external_wrench.timeout', 0.2), ('observer.bandwidth', [20.0, 40.0]),
    ('disturbance_observer', True), ('collision.threshold', [30.0, 15.0]),
    ('collision.reaction', 'float'), ('release_time', 1.0), ('shutdown_effort', 'release')])
def test_what_is_live_changes_without_a_step(probe, held, name, value):
    arm, _ = held
    before = values(probe, name)[0]
    start, since = arm.q, len(arm.commands)
    assert not description(probe, name).read_only
    assert probe.set_parameter(NAME, name, value) == (True, '')
    probe.spin_for(0.15)
    back = list(before) if hasattr(before, '__iter__') and not isinstance(before, str) else before
    got = values(probe, name)[0]
    assert (list(got) if isinstance(value, list) else got) == value
    if back == [] or back is None:  # the default of what is empty can be set again as well
        assert probe.set_parameter(NAME, name, []) == (True, '')
    else:
        assert probe.set_parameter(NAME, name, back) == (True, '')
    steps = np.abs(np.diff(arm.torques[since:], axis=0))
    # of 40 and 20 N m, on a machine that may be busy
    assert steps.max() < 2.0 and np.abs(arm.q - start).max() < 0.1


@pytest.mark.parametrize('given, words', [
    ({'natural_frequency': [10.0, -5.0]}, "frequency', number 2 of 2, is -5.0: the least.* 0 rad"),
    ({'natural_frequency': [1.0, 2.0, 3.0]}, '3 values.*2 joints: shoulder, elbow'),
    ({'effort_margin': 2.0}, "'effort_margin' is 2.0: the most allowed is 1"),
    ({'effort_limit': [10.0, 0.0]}, "joint 'elbow' has effort limit 0"),
    ({'effort_limit': [41.0, 20.0]}, "joint 'shoulder' is 41, above the 40 in the model"),
    ({'torque_rate_limit': [4001.0]}, "joint 'shoulder' would be 4001, above the 4000 with which"),
    ({'gravity_scale': [1e12]}, "'gravity_scale' is .*: the most allowed is 2"),
    ({'constraints__goal': [0.1, 0.1, 0.1]}, 'constraints.goal.*each of the 2 joints'),
    ({'mode': 'pid'}, "'mode' is 'pid': choose one of computed_torque"),
    ({'friction_scale': 'much'}, "'friction_scale' is 'much': set it to a number"),
    ({'stop_time': 1.0}, "'stop_time' is read-only while the node runs"),
    ({'collision__threshold': [1.0, 2.0, 3.0]}, 'collision.threshold has 3 values.*2 joints'),
    ({'observer__bandwidth': [60.0], 'impedance__inertia': [0.001]},
     "impedance.inertia of joint 'shoulder' is 0.001, its own"),
    ({'handshake_tolerance': [1.0, 2.0, 3.0]}, 'handshake_tolerance has 3 values')])
def test_a_bad_change_is_refused_with_its_reason_and_takes_good_ones_along(probe, held, given,
                                                                           words):
    name = next(iter(given)).replace('__', '.')
    before = values(probe, name, 'kp', 'transition_time')
    described = str(description(probe, name))
    for together in (given, {'transition_time': 0.3, **given}, {**given, 'kp': [50.0]}):
        successful, reason = set_together(probe, **together)
        assert not successful and re.search(words, reason), reason
        assert str(values(probe, name, 'kp', 'transition_time')) == str(before)
        assert str(description(probe, name)) == described


def test_the_mode_changes_live_and_not_under_a_fault(probe, held):
    arm, process = held
    for mode, answer in (('gravity_compensation', 'gravity_compensation'),
                         ('feedforward_pd', 'stopping'), ('computed_torque', 'stopping')):
        since = len(arm.commands)
        assert probe.set_parameter(NAME, 'mode', mode) == (True, '')
        probe.spin_for(0.3)
        assert np.abs(np.diff(arm.torques[since:], axis=0)).max() < 1.0
        np.testing.assert_allclose(arm.commands[-1], GRAVITY(arm.q), atol=0.3)
    lines = len(process.lines)
    arm.report, report = None, arm.report
    probe.until(lambda: logged(process, 'fault: joint states', lines), 'a fault')
    successful, reason = set_together(probe, mode='gravity_compensation', transition_time=0.4)
    assert not successful and 'a fault is latched: joint states' in reason
    assert values(probe, 'mode', 'transition_time') == ['computed_torque', 0.2]
    arm.report = report
    probe.until(lambda: probe.call(Trigger, f'{NAME}/reset_fault').success, 'no fault')
