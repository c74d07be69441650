"""
Hostile parameters: files of any content at the start, values of any type while a node runs.

The targets are for `test_hostile_parameters`, which draws with Hypothesis, and for `fuzz_guided`.
"""

from functools import cache
import math
from pathlib import Path
import tempfile

from fake_arm import URDF
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from robodyn_ros.control.arm.design import Design
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.controller import parameters as controller_parameters
from robodyn_ros.nodes.parameters import Parameters, ROS_TYPES
from robodyn_ros.nodes.process import _start_ros
from robodyn_ros.nodes.simulator import parameters as simulator_parameters
from robodyn_ros.settings import for_joints, parameters, values as by_name
import ros_process  # noqa: F401

LONGEST = 20_000     # characters of a refusal that lists all mistakes of a file
MODEL = RobotModel.from_urdf(URDF)
TREES = {'computed_torque_controller': controller_parameters.ControllerSettings,
         'robot_simulator': simulator_parameters.SimulatorSettings}
TABLES = {name: for_joints(parameters(tree), MODEL.joint_names) for name, tree in TREES.items()}
VALUES = (
    True, False, 0, 1, -1, 7, 2**31, 2**63 - 1, -2**63, 0.0, -0.0, 0.5, 1.0, -1.0, 1e-300, 1e6,
    1e22, 1e308, -1e308, math.inf, -math.inf, math.nan, '', ' ', 'shoulder', 'elbow:0.1',
    'elbow:nan', 'elbow', 'x' * 5000, 'a\nb', '肘', '1:2:3', ':', '0', '0.5 silence 1.0', [], [0],
    [1, 2], [1, 2, 3], [0.0], [0.5, 0.5], [math.nan, 1.0], [1e300] * 2, [0.1] * 1000, [''],
    ['elbow:0.1'], ['elbow:0.1', 'elbow:0.2'], ['shoulder', 'elbow'], ['x'] * 100, [True], [False],
    ['fore:0.1'], ['fore:0.1,0,0'], ['fore:inf'], ['1.0 nan 0.1'], [b'a'])
SCRAPS = ('nan', '.nan', '.inf', '1e999', '0x7', '1_0', '~', 'null', '[]', '{}', '[1, a]',
          '[[1], [2]]', '[1, 2.5]', '{a: {b: 1}}', '"unclosed', '&a [1]', '*a', '!!python/none x',
          '!!binary aGk=', '? x', '- 1', '|\n  text', '>', '\t', '%', '@', '99999999999999999999',
          '[' * 60 + ']' * 60, 'x' * 5000, '2020-01-01', 'yes', "'a''b'", 'é', '\\', '# c', '')


@cache
def _dynamics():
    return Dynamics(MODEL)


def check_values(name, values):
    """Make of the values of a node what the node makes of them."""
    if name == 'robot_simulator':
        simulator_parameters.period(values)
        simulator_parameters.decimation(values)
        simulator_parameters.joints_from(values, MODEL)
        for make in (simulator_parameters.arm_from, simulator_parameters.sensors_from):
            make(values.errors, MODEL)
        simulator_parameters.faults_from(values.errors, MODEL, 0.0)
    else:
        Design.make(_dynamics(), values.control)


def check_snapshot(table, values):
    """Fail unless every value is of its kind and in its range."""
    given = by_name(values)
    for row in table:
        value = given[row.name]
        assert row.checked(value) == value, row.name
        for each in value if row.is_array else (value,):
            if row.kind in ('double', 'double_array'):
                assert math.isfinite(each) or row.maximum == math.inf, row.name
            if row.minimum is not None:
                assert each >= row.minimum, row.name


def check_words(text):
    """Fail unless a text is not empty and has a bounded length."""
    assert 0 < len(text) < LONGEST, len(text)


def declared(node, name, check=None):
    """Return the parameters of a node, those of its joints included."""
    made = Parameters(node, TREES[name], check)
    made.declare_for(MODEL.joint_names)
    return made


class Live:
    """A node of each kind that runs, for changes of its parameters."""

    def __init__(self):
        context = rclpy.Context()
        rclpy.init(context=context)
        self.nodes = {}
        for name in TABLES:
            node = Node(name, context=context, use_global_arguments=False)
            self.nodes[name] = node, declared(
                node, name, lambda values, _, name=name: check_values(name, values))


@cache
def _live():
    return Live()


def drawn(choose, row):
    """Draw a new value for a parameter, of its kind most of the time."""
    kind = {ROS_TYPES[row.kind], ROS_TYPES[row.kind.removesuffix('_array')]}
    fitting = [each for each in VALUES if RosParameter.Type.from_parameter_value(each) in kind]
    return RosParameter(row.name, value=choose(choose([fitting, fitting, fitting, VALUES])))


def changes(choose):
    """Change parameters of a running node; a refused change alters none of them."""
    name = choose([*TABLES])
    node, parameters = _live().nodes[name]
    given = [drawn(choose, choose(TABLES[name])) for _ in range(choose([1, 1, 1, 2, 3]))]
    before, held = parameters.values, dict(vars(parameters.values))
    result = node.set_parameters_atomically(given)
    assert vars(before) == held
    if result.successful:
        check_snapshot(TABLES[name], parameters.values)
        for each in TABLES[name]:
            present = node.get_parameter(each.name).value
            assert each.checked(present) == by_name(parameters.values)[each.name]
    else:
        check_words(result.reason)
        assert parameters.values is before


def seeds():
    """Return files to begin with: those of the package."""
    folder = Path(__file__).resolve().parents[1] / 'config'
    return [path.read_bytes() for path in sorted(folder.glob('*.yaml'))]


def file_text(text: bytes):
    """Start nodes with a file; they read it, or refuse it in words."""
    with tempfile.NamedTemporaryFile(suffix='.yaml') as file:
        file.write(text)
        file.flush()
        for name, table in TABLES.items():
            _start(name, table, file.name)


def _start(name, table, path):
    node = None
    try:
        _start_ros([name, '--ros-args', '--params-file', path])
        node = Node(name)
        made = declared(node, name)
        check_snapshot(table, made.values)
        made.refuse_unknown()
        check_values(name, made.values)
    except RobodynError as error:
        check_words(str(error))
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()


def file_lines(choose):
    """Start nodes with a file in which some values are something else."""
    table = TABLES[name := choose([*TABLES])]
    lines = [choose([f'/**/{name}:', f'{name}:', '/**:', '/**:', name, '', '- a'])]
    lines.append(choose(['  ros__parameters:'] * 6 + ['  x:', '  ros__parameters: 1']))
    for _ in range(choose([1, 1, 2, 5])):
        key = choose([choose(table).name, choose(table).name, 'unknown', '', '{}', 'a.b', 'k\n'])
        lines.append(f'    {key}: {choose(SCRAPS + VALUES)}')
    file_text('\n'.join(lines).encode('utf-8', errors='replace'))
