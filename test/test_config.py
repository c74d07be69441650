"""The files of parameters in `config/` agree with the tables of the nodes."""
import math
from xml.etree import ElementTree

import pytest
import yaml

pytest.importorskip('rclpy', reason='the tables of the nodes need rclpy')

from parameter_file import files, QUESTIONS, ROOT, tables  # noqa: E402
from robodyn_ros.files import CONTROLLER  # noqa: E402
from robodyn_ros.identification import results as output  # noqa: E402
from ros_process import NodeProcess  # noqa: E402

TABLES = tables()
URDF = ROOT / 'urdf' / 'robodyn7.urdf'


def read(name):
    return (ROOT / 'config' / name).read_text(encoding='utf-8')


def flat(tree, above=''):
    """Return the values of nested mappings by their dotted names."""
    values_by_name = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            values_by_name.update(flat(value, f'{above}{name}.'))
        else:
            values_by_name[above + name] = value
    return values_by_name


def parameters(name, text=None):
    """Return the parameters in a file, after a look at what is around them."""
    (key, section), = yaml.safe_load(text or read(name)).items()
    assert key == f'/**/{TABLES[name][1]}', 'the node, in any namespace'
    assert list(section) == ['ros__parameters']
    return flat(section['ros__parameters'])


def uncommented(name):
    """Return the parameters in a file, with those that are commented out: empty, or a question."""
    lines = [line.replace('# ', '', 1) if line.endswith((': []', ": ''")) or any(
        f'# {each}: ' in line for each in QUESTIONS) else line
        for line in read(name).splitlines()]
    return parameters(name, '\n'.join(lines))


@pytest.mark.parametrize('name', TABLES)
def test_every_parameter_is_there_with_its_type_and_default(name):
    table = {row.name: row for row in TABLES[name][2]}
    given = uncommented(name)
    assert list(given) == list(table)
    for key, row in table.items():
        value = given[key]
        assert type(value) is {'string': str, 'double': float, 'int': int,
                               'bool': bool}.get(row.kind, list), key
        # a whole number in a list of numbers would be a list of integers for ROS
        assert {type(each) for each in value} <= {float} if row.kind == 'double_array' else True
        assert row.checked(value) == row.default, key


@pytest.mark.parametrize('name', TABLES)
def test_what_is_not_empty_is_set(name):
    table = {row.name: row for row in TABLES[name][2]}
    assert set(parameters(name)) == {
        key for key, row in table.items() if row.default not in ('', ())
        and key not in QUESTIONS}


def plain(block):
    """Return a commented block as one line."""
    return ' '.join(line.strip(' #') for line in block.splitlines())


@pytest.mark.parametrize('name', TABLES)
def test_comments_have_unit_range_and_choices(name):
    blocks = read(name).split('\n\n')
    for row in TABLES[name][2]:
        key, beginning = row.name.rpartition('.')[2], row.description[:40]
        block, = (block for block in blocks if beginning in plain(block)
                  and f'\n{key}:' in '\n'.join(line.lstrip(' #') for line in block.splitlines()))
        expected = [row.unit, *row.choices]
        if row.minimum is not None:
            expected += [f'{row.minimum:g} ']
        if row.maximum not in (None, math.inf):
            expected += [f'to {row.maximum:g}']
        for each in expected:
            assert each in block, row.name


@pytest.mark.parametrize('path, text', files().items(), ids=lambda each: getattr(each, 'name', ''))
def test_files_are_up_to_date(path, text):
    assert path.read_text(encoding='utf-8') == text, 'run: python test/parameter_file.py'


@pytest.mark.parametrize('name, module, sign', [
    ('controller.yaml', 'controller', 'waiting: no joint state'),
    ('controller_minimal.yaml', 'controller', 'waiting: no joint state'),
    ('guard.yaml', 'guard', 'takes over after'),
    ('simulator.yaml', 'simulator', 'held by brakes')])
def test_nodes_take_their_file(name, module, sign):
    with NodeProcess(f'robodyn_ros.nodes.{module}.node', {'urdf_file': str(URDF)},
                     ['--params-file', str(ROOT / 'config' / name)]) as node:
        node.wait_for_output(sign)
        assert node.stop()[0] == 0


def test_identify_writes_parameters_of_the_controller():
    rows, name = TABLES['controller.yaml'][2], TABLES['controller.yaml'][1]
    assert CONTROLLER == name
    known = {row.name: row.kind for row in rows}
    assert {known.get(each) for each in output.JOINT_PARAMETERS.values()} == {'double_array'}


def test_ros2_control_commands_the_joints_of_our_arm():
    from robodyn_ros import RobotModel
    config = yaml.safe_load(read('ros2_control_effort.yaml'))
    manager = config['/**/controller_manager']['ros__parameters']
    effort = config['/**/effort_controller']['ros__parameters']
    assert tuple(effort['joints']) == RobotModel.from_urdf(URDF).joint_names
    assert effort['interface_name'] == 'effort'
    assert manager['effort_controller']['type'].startswith('forward_command_controller/')
    # the spawner of our launch file finds the types there
    for name in ('joint_state_broadcaster', 'effort_controller'):
        assert config[f'/**/{name}']['ros__parameters']['type'] == manager[name]['type']
    # the topic of our node by default
    topic = {row.name: row for row in TABLES['controller.yaml'][2]}['effort_command_topic']
    assert topic.default == 'effort_controller/commands'


def test_moveit_finds_our_action_and_names_the_joints_of_our_arm():
    from robodyn_ros import RobotModel
    config = yaml.safe_load(read('moveit_controllers.yaml'))
    manager = config['moveit_simple_controller_manager']
    assert config['moveit_controller_manager'].startswith('moveit_simple_controller_manager/')
    name, = manager['controller_names']
    assert name == TABLES['controller.yaml'][1]
    ours = manager[name]
    assert (ours['type'], ours['action_ns'], ours['default']) == (
        'FollowJointTrajectory', 'follow_joint_trajectory', True)
    assert tuple(ours['joints']) == RobotModel.from_urdf(URDF).joint_names


def test_ros2_control_drives_the_simulated_arm():
    # names as in the sources of joint_state_topic_hardware_interface 1.1.0
    from robodyn_ros import RobotModel
    snippet = ElementTree.parse(ROOT / 'config' / 'ros2_control_simulator.urdf').getroot()
    system = snippet.find('ros2_control')
    given = {each.get('name'): each.text for each in system.iter('param')}
    plugin = system.find('hardware/plugin').text
    assert plugin == 'joint_state_topic_hardware_interface/JointStateTopicSystem'
    assert float(given['trigger_joint_command_threshold']) == -1.0
    assert given['joint_states_topic'] == '/robot_joint_states'
    assert given['joint_commands_topic'] == '/robot_joint_commands'
    names = RobotModel.from_urdf(URDF).joint_names
    assert tuple(joint.get('name') for joint in system.findall('joint')) == names
    for joint in system.findall('joint'):
        assert [each.get('name') for each in joint.findall('command_interface')] == ['effort']
    config = yaml.safe_load(read('ros2_control_simulator.yaml'))
    for name in ('effort_controller', 'arm_controller'):
        assert tuple(config[f'/**/{name}']['ros__parameters']['joints']) == names
        assert name in config['/**/controller_manager']['ros__parameters']
    assert tuple(config['/**/arm_controller']['ros__parameters']['gains']) == names
    # our parser accepts the tag
    whole = URDF.read_text('utf-8').replace(
        '</robot>', ElementTree.tostring(system, 'unicode') + '</robot>')
    assert RobotModel.from_urdf(whole).joint_names == names
