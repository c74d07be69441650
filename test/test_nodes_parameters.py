"""The declared table of a node: defaults, overrides, changes, and what is refused."""
import math

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from rcl_interfaces.msg import SetParametersResult  # noqa: E402
import rclpy  # noqa: E402
from rclpy.exceptions import ParameterNotDeclaredException  # noqa: E402
from rclpy.lifecycle import LifecycleNode  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter as RosParameter  # noqa: E402
from robodyn_ros.exceptions import ParameterError  # noqa: E402
from robodyn_ros.nodes.description import joint_values  # noqa: E402
from robodyn_ros.nodes.parameters import descriptor, Parameters  # noqa: E402
from robodyn_ros.nodes.simulator import parameters as simulator_parameters  # noqa: E402
from robodyn_ros.nodes.simulator.parameters import _shifts  # noqa: E402
from robodyn_ros.settings import (  # noqa: E402
    for_each_joint, group, Numbers, Parameter, parameter, settings, Texts, values as by_name)
import ros_process  # noqa: F401, E402


@settings()
class Joint:
    kp: float = parameter(1.0, 'Gain.')


@settings('arms')
class Arms:
    joints: dict = for_each_joint(Joint)


@settings('stale')
class Stale:
    hold: float = parameter(0.05, 'Silence.', 's', 0.0, math.inf)


@settings()
class Tree:
    step: float = parameter(1e-3, 'Time.', 's', 1e-6, 0.1)
    count: int = parameter(3, 'Number.', '', 1)
    flag: bool = parameter(True, 'Flag.')
    stale: Stale = group(Stale)
    mode: str = parameter('slow', 'Mode.', choices=('slow', 'fast'))
    names: Texts = parameter((), 'Names.', kind='string_array')
    gains: Numbers = parameter((1.0,), 'Gains.', '', 0.0, per_joint=True)
    file: str = parameter('', 'File.', read_only=True)
    arms: Arms = group(Arms)


@pytest.fixture(scope='module')
def context():
    made = rclpy.Context()
    rclpy.init(context=made)
    yield made
    made.try_shutdown()


@pytest.fixture(params=[Node, LifecycleNode])
def make(request, context):
    """Return a function that makes a node with overrides and its parameters."""
    nodes = []

    def make_parameters(check=None, changed=None, arguments=(), **overrides):
        node = request.param(
            f'node{len(nodes)}', context=context, use_global_arguments=False,
            cli_args=['--ros-args', *arguments] if arguments else None,
            parameter_overrides=[RosParameter(name.replace('__', '.'), value=value)
                                 for name, value in overrides.items()])
        nodes.append(node)
        return node, Parameters(node, Tree, check, changed)

    yield make_parameters
    for node in nodes:
        node.destroy_node()


def set_one(node, name, value):
    result = node.set_parameters([RosParameter(name, value=value)])[0]
    return result.successful, result.reason


def test_defaults_and_overrides_are_plain_values(make):
    _, parameters = make(step=0.01, names=['a', 'b'], stale__hold=math.inf)
    assert by_name(parameters.values) == {
        'step': 0.01, 'count': 3, 'flag': True, 'stale.hold': math.inf, 'mode': 'slow',
        'names': ('a', 'b'), 'gains': (1.0,), 'file': ''}


def test_yaml_of_the_command_line_is_accepted(make):
    node, parameters = make(arguments=['-p', 'stale.hold:=1', '-p', 'gains:=[1, 2]', '-p',
                                       'names:=[]', '-p', 'file:=x'])
    values = parameters.values
    assert values.stale.hold == 1.0 and isinstance(values.stale.hold, float)
    assert values.gains == (1.0, 2.0)
    assert values.names == ()
    assert node.get_parameter('stale.hold').type_ == RosParameter.Type.DOUBLE
    _, parameters = make(names=[''])
    assert parameters.values.names == ()


@pytest.mark.parametrize('name, value, words', [
    ('step', 5.0, ['0.1 s']), ('step', 0.0, ['least', '1e-06 s']), ('step', 'x', ['a number']),
    ('step', math.nan, ['finite']), ('step', True, ['a number']), ('count', 0, ['least']),
    ('count', 1.5, ['whole number']), ('count', True, ['whole number']), ('flag', 1, ['true']),
    ('mode', 'medium', ['slow, fast']), ('mode', 3, ['a text']), ('names', [1], ['texts']),
    ('gains', [1.0, -1.0], ['least']), ('gains', [math.inf], ['finite']),
    ('gains', ['x'], ['numbers'])])
def test_bad_values_are_refused_at_start_and_later(make, name, value, words):
    with pytest.raises(ParameterError) as caught:
        make(**{name: value})
    node, parameters = make()
    before = parameters.values
    accepted, reason = set_one(node, name, value)
    assert not accepted
    assert parameters.values == before
    for word in [f"'{name}'", *words]:
        assert word in str(caught.value)
    assert name in reason


def test_all_mistakes_at_start_are_reported_at_once(make):
    with pytest.raises(ParameterError, match='(?s)step.*mode'):
        make(step=5.0, mode='medium')


def test_changes_make_a_new_snapshot(make):
    changes = []
    node, parameters = make(changed=lambda values, names, _: changes.append((values, names)))
    held = parameters.values
    assert set_one(node, 'step', 0.02) == (True, '')
    assert held.step == 1e-3 and parameters.values.step == 0.02
    assert changes[0][0].step == 0.02 and changes[0][1] == ['step']
    assert set_one(node, 'names', ['a']) == (True, '')
    assert set_one(node, 'names', []) == (True, '')
    assert parameters.values.names == ()


def test_whole_numbers_are_taken_for_numbers_later_too(make):
    node, parameters = make()
    if not hasattr(node, 'add_pre_set_parameters_callback'):
        pytest.skip('not in this ROS')
    assert set_one(node, 'stale.hold', 2) == (True, '')
    assert parameters.values.stale.hold == 2.0
    assert node.get_parameter('stale.hold').value == 2.0


def test_several_changes_are_all_made_or_none(make):
    node, parameters = make()
    given = [RosParameter('count', value=9), RosParameter('mode', value='medium')]
    assert not node.set_parameters_atomically(given).successful
    assert parameters.values.count == node.get_parameter('count').value == 3


def test_a_check_can_refuse_and_its_result_is_what_a_change_gets(make):
    changes = []

    def check(values, names):
        if values.count > 5 and values.mode == 'slow':
            raise ParameterError('more than 5 need mode fast')
        return names and 2 * values.count

    with pytest.raises(ParameterError, match='need mode fast'):
        make(check=check, count=6)
    node, parameters = make(check=check, changed=lambda *given: changes.append(given))
    assert set_one(node, 'count', 6) == (False, 'more than 5 need mode fast')
    assert parameters.values.count == 3 and not changes
    assert set_one(node, 'count', 5) == (True, '')
    assert changes == [(parameters.values, ['count'], 10)] and parameters.values.count == 5


def test_a_change_that_another_callback_refuses_has_no_effect(make):
    """Protects from an arm that moves by parameters which the node does not have."""
    changes = []
    node, parameters = make(changed=lambda *given: changes.append(given))
    if not hasattr(node, 'add_post_set_parameters_callback'):
        pytest.skip('not in this ROS')
    node.add_on_set_parameters_callback(
        lambda _: SetParametersResult(successful=False, reason='not today'))
    assert set_one(node, 'count', 5) == (False, 'not today')
    assert parameters.values.count == 3 and not changes


def test_read_only_and_removal_are_refused(make):
    node, parameters = make()
    accepted, reason = set_one(node, 'file', 'x')
    assert not accepted and 'read-only' in reason
    assert not node.set_parameters([RosParameter('step', RosParameter.Type.NOT_SET)])[0].successful
    assert node.get_parameter('step').value == parameters.values.step


@pytest.mark.parametrize('name, value', [
    ('step', 5.0), ('step', 1), ('count', 1.5), ('mode', 3), ('file', 'x'), ('gains', 'x')])
def test_a_refused_change_has_a_reason_and_keeps_the_description(make, name, value):
    node, parameters = make()
    if not hasattr(node, 'add_pre_set_parameters_callback'):
        pytest.skip('not in this ROS')
    row, before = parameters.table[name], str(node.describe_parameter(name))
    for given in ([RosParameter(name, value=value)],
                  [RosParameter('flag', value=False), RosParameter(name, value=value)]):
        result = node.set_parameters_atomically(given)
        assert not result.successful and f"'{name}'" in result.reason
        assert str(node.describe_parameter(name)) == before
        assert str(node.describe_parameter('flag')) == str(
            descriptor(parameters.table['flag']))
        assert parameters.values.flag and node.get_parameter('flag').value
    words = {'step': 'the most allowed is 0.1 s', 'file': 'read-only while the node runs'}
    assert words.get(name, 'set it to') in result.reason
    assert node.describe_parameter(name).read_only is row.read_only


def test_unknown_names_are_refused_with_the_near_ones(make):
    _, parameters = make(stepp=1, use_sim_time=False)
    with pytest.raises(ParameterError, match="'stepp'.*'step'"):
        parameters.refuse_unknown()
    _, parameters = make(step=0.01)
    parameters.refuse_unknown()
    # of another node, in a section for all
    _, parameters = make(camera_resolution=3)
    parameters.refuse_unknown()


def test_the_clock_cannot_change_at_run_time(make):
    node, _ = make()
    assert node.set_parameters([RosParameter('use_sim_time', value=False)])[0].successful
    result, = node.set_parameters([RosParameter('use_sim_time', value=True)])
    assert not result.successful and "'use_sim_time' is read-only" in result.reason
    assert not node.get_parameter('use_sim_time').value
    assert not node.get_clock().ros_time_is_active


def test_unknown_names_are_refused_at_run_time_too(make):
    node, _ = make()
    if not hasattr(node, 'add_pre_set_parameters_callback'):
        pytest.skip('this ROS answers itself')
    for change in (node.set_parameters, node.set_parameters_atomically):
        with pytest.raises(ParameterNotDeclaredException) as refusal:
            change([RosParameter('flag', value=False), RosParameter('stepp', value=0.01)])
        assert str(refusal.value).startswith("there is no parameter 'stepp': ")
        assert "'step'" in str(refusal.value)


def test_parameters_of_joints_are_declared_when_these_are_known(make):
    _, parameters = make(arms__elbow__kp=3.0)
    parameters.refuse_unknown()  # the joints are not known yet
    parameters.declare_for(['elbow', 'wrist'])
    arms = parameters.values.arms.joints
    assert arms['elbow'].kp == 3.0 and arms['wrist'].kp == 1.0
    parameters.refuse_unknown()
    _, parameters = make(arms__ellbow__kp=3.0)
    parameters.declare_for(['elbow'])
    with pytest.raises(ParameterError, match="'arms.ellbow.kp'.*'arms.elbow.kp'"):
        parameters.refuse_unknown()


def test_descriptors_have_type_unit_range_and_choices(make):
    node, _ = make()
    step, mode, gains, file = node.describe_parameters(['step', 'mode', 'gains', 'file'])
    assert step.type == RosParameter.Type.DOUBLE.value
    assert step.description == 'Time. [s]'
    assert step.floating_point_range[0].from_value == 1e-6
    assert 'slow, fast' in mode.additional_constraints
    assert 'per joint' in gains.additional_constraints
    assert file.read_only and not step.read_only


@pytest.mark.parametrize('row', [
    {'kind': 'float', 'default': 1.0}, {'kind': 'double', 'default': 'x'},
    {'kind': 'double', 'default': 5.0, 'maximum': 1.0}])
def test_rows_check_themselves(row):
    with pytest.raises(ParameterError, match='thing'):
        Parameter('thing', description='', **row)


def test_joint_values():
    assert joint_values('locked', ('a:1', 'ns:b : -2e-1')) == {'a': 1.0, 'ns:b': -0.2}
    for wrong in ('a', 'a:', ':1', 'a:b', ''):
        with pytest.raises(ParameterError, match='locked'):
            joint_values('locked', (wrong,))
    with pytest.raises(ParameterError, match='twice'):
        joint_values('locked', ('a:1', 'a:2'))
    for text, why in (('nan', 'finite'), ('-inf', 'finite'), ('1e-310', 'too small')):
        with pytest.raises(ParameterError, match=f"'b' {text}: .*{why}"):
            joint_values('locked', ('a:1', f'b:{text}'))
        with pytest.raises(ParameterError, match=why):
            _shifts((f'link3:0.01,{text},0',))


def test_every_row_of_the_simulator_is_described():
    for row in simulator_parameters.PARAMETERS:
        assert row.description.endswith('.'), row.name
