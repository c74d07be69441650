"""The pages in `docs/` and of the top level: their links, parameters and interfaces exist."""

import importlib.util
import re
import shlex

import pytest

pytest.importorskip('rclpy', reason='the pages are about the nodes')

from controller_node import ACTIVE, CONTROLLER, NODE, SIMULATOR  # noqa: E402
from parameter_file import tables  # noqa: E402
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy  # noqa: E402
from robodyn_ros.cli.main import COMMANDS, make_parser  # noqa: E402
from robodyn_ros.control.mode import MODES  # noqa: E402
from robodyn_ros.simulation.faults import KINDS  # noqa: E402
from ros_process import NodeProcess, Probe, ROOT  # noqa: E402
from tools.campaign.command import make_parser as campaign_parser  # noqa: E402

PAGES = sorted((ROOT / 'docs').glob('*.md'))
TEXTS = [*PAGES, *sorted(ROOT.glob('*.md'))]
DATA = sorted((ROOT / 'docs' / 'data').iterdir())
URDF = str(ROOT / 'urdf' / 'robodyn7.urdf')
# where control_msgs is installed, or a parameter enables it
OPTIONAL = {('out', '~/controller_state'), ('action', '~/follow_joint_trajectory'),
            ('out', 'joint_commands'), ('out', '/clock'), ('out', 'robot_description'),
            ('in', 'robot_description')}
UNTIL_RELEASED = {'robot_simulator': {('in', 'joint_states')}}
# interfaces of every ROS node
COMMON = re.compile(r'/rosout|/parameter_events|.*/(\w*parameter\w*|get_\w+|change_state'
                    r'|transition_event|follow_joint_trajectory/_action/\w+)')


def read(page):
    return page.read_text(encoding='utf-8')


def anchors(text):
    """Return the anchors that GitHub makes of the headings."""
    return {re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')
            for heading in re.findall(r'^#+ (.*)$', text, re.MULTILINE)}


@pytest.mark.parametrize('page', TEXTS, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r'\]\(([^)]+)\)', read(page)):
        if target.startswith('http'):
            continue
        name, _, anchor = target.partition('#')
        path = page.parent / name if name else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(read(path)), target


def test_the_index_lists_each_page_once():
    listed = re.findall(r'\]\((\w+\.md)\)', read(ROOT / 'docs' / 'index.md'))
    assert sorted(listed) == sorted(page.name for page in PAGES if page.name != 'index.md')


@pytest.mark.parametrize('data', DATA, ids=lambda data: data.name)
def test_figures_have_their_origin_and_are_linked_from_one_page(data):
    assert [page.name for page in TEXTS if f'(data/{data.name})' in read(page)] in (
        ['measurements.md'], ['reliability.md'], ['security.md'])
    if data.suffix == '.txt':
        head = read(data)[:600]
        assert all(re.search(f'^({what}): +\\S', head, re.MULTILINE) for what in (
            'date', 'machine|processor', 'command')), head


@pytest.mark.parametrize('page', TEXTS, ids=lambda page: page.name)
def test_parameters_with_a_value_exist(page):
    rows = {row.name: row for _, _, table in tables().values() for row in table}
    for name, value in re.findall(r'`([a-z_.]+): ([^`\s]+)`', read(page)):
        if name in rows:
            choices = rows[name].choices
            assert not choices or value in choices, f'{name}: {value}'
        else:
            assert name in ('sum_wrapped_joint_states', 'interface_name', 'fault'), name
    for name, _ in re.findall(r'param set /\w+ ([a-z_.]+) (\S)', read(page)):
        assert name in rows, name


def documented(node):
    """Map (direction, name) to (type, letter of the QoS), as in the page."""
    section = read(ROOT / 'docs' / 'interfaces.md').split(f'\n## `{node}`\n')[1].split('\n## ')[0]
    rows = re.findall(r'^\| (in|out|action|service) \| `([^`]+)` \| `([^`]+)` \| (\w?)', section,
                      re.MULTILINE)
    return {(direction, name): (kind, letter) for direction, name, kind, letter in rows}


def open_interfaces(node, name):
    """Return the same as in the graph, for topics in both directions."""
    def relative(topic):
        return '~' + topic[len(name) + 1:] if topic.startswith(f'/{name}/') else topic

    def letter(info):
        if info.qos_profile.reliability is ReliabilityPolicy.BEST_EFFORT:
            return 'b'
        lasting = info.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL
        return 'l' if lasting else 'r'

    found = {}
    for direction, names, endpoints in (
            ('in', node.get_subscriber_names_and_types_by_node,
             node.get_subscriptions_info_by_topic),
            ('out', node.get_publisher_names_and_types_by_node,
             node.get_publishers_info_by_topic)):
        for topic, (kind,) in names(name, '/'):
            own = [each for each in endpoints(topic) if each.node_name == name]
            if own and not COMMON.fullmatch(topic):  # its node may not be known yet
                found[direction, relative(topic)] = kind, letter(*own)
    for service, (kind,) in node.get_service_names_and_types_by_node(name, '/'):
        if not COMMON.fullmatch(service):
            found['service', relative(service)] = kind, ''
    return found


def without_namespace(interfaces):
    """Return them with relative names; the page has the terms of the torque in one row."""
    short = {}
    for (direction, name), what in interfaces.items():
        if name not in ('/diagnostics', '/clock'):
            name = name.lstrip('/')
        short[direction, re.sub('torque_terms/.*', 'torque_terms/<term>', name)] = what
    return short


def test_the_diagram_of_the_modes_is_that_of_the_tables():
    file = ROOT / 'docs' / 'state_machine.py'
    spec = importlib.util.spec_from_file_location('state_machine', file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.diagram() in (ROOT / 'docs' / 'safety.md').read_text(encoding='utf-8')


def test_interfaces_are_those_of_the_nodes():
    with Probe('docs_probe') as probe, NodeProcess(SIMULATOR, {'urdf_file': URDF}), NodeProcess(
            'robodyn_ros.nodes.guard.node', {'urdf_file': URDF}), NodeProcess(
            CONTROLLER, {'urdf_file': URDF}) as controller:
        controller.wait_for_output(ACTIVE)
        for name in (NODE, 'robot_simulator', 'guard'):
            page = documented(name)
            probe.until(lambda: name in probe.node.get_node_names(), name)
            probe.until(lambda: set(page) - OPTIONAL - UNTIL_RELEASED.get(
                name, set()) <= set(
                without_namespace(open_interfaces(probe.node, name))), f'all that {name} has')
            found = without_namespace(open_interfaces(probe.node, name))
            assert set(found) <= set(page)
            assert {key: page[key] for key in found} == found


def shell_lines():
    """Yield (page, line) of the shell commands in the pages' blocks; continued lines as one."""
    for page in TEXTS:
        language = None  # outside of a block
        for line in read(page).replace('\\\n', ' ').splitlines():
            if line.lstrip().startswith('```'):
                language = line.strip(' `') if language is None else None
            elif language in ('', 'bash'):
                yield page.name, line.strip().removeprefix('$ ').split(' # ')[0].strip()


def commands():
    """Return the lines that call `robodyn COMMAND`, or the campaign, each once."""
    found = {}
    for page, line in shell_lines():
        match = (re.match(r'(?:\.venv/bin/)?robodyn (\w+)( .*)?$', line)
                 or re.match(r'python -m (tools\.campaign)( .*)?$', line))
        if match and '...' not in line:
            found.setdefault((match[1], match[2] or ''), page)
    return [(page, *key) for key, page in found.items()]


def test_the_pages_show_many_commands():
    assert len(commands()) > 30


@pytest.mark.parametrize('page, command, rest', commands())
def test_options_of_the_commands_of_the_pages_exist(page, command, rest):
    arguments = [command, *shlex.split(rest.split('>')[0])]
    try:
        if command == 'tools.campaign':
            campaign_parser().parse_args(arguments[1:])
        else:
            make_parser(arguments).parse_args(arguments)
    except SystemExit as error:  # prints what it does not know
        assert error.code == 0, f'{page}: {command}{rest}'


def test_launch_arguments_of_the_pages_exist():
    lines = [(page, *match) for page, line in shell_lines()
             for match in re.findall(r'ros2 launch robodyn_ros (\S+)(.*)', line)]
    assert len(lines) > 10
    launch = {file.name: file.read_text(encoding='utf-8')
              for file in (ROOT / 'launch').glob('*.launch.py')}
    # launch files include each other, and take parameters of the nodes as arguments
    known = set(re.findall(r"'(\w+)'", ' '.join(launch.values()) + (
        ROOT / 'robodyn_ros' / 'nodes' / 'launching.py').read_text(encoding='utf-8')))
    known |= {row.name for _, _, table in tables().values() for row in table}
    for page, file, rest in lines:
        assert file in launch, page
        assert set(re.findall(r' (\w+):=', rest)) <= known, f'{page}: {file}{rest}'


def interfaces_of_the_page():
    """Map names in the graph to types, as in the page."""
    found = {}
    for node in (NODE, 'robot_simulator', 'guard'):
        for (_, name), (kind, _) in documented(node).items():
            found['/' + name.lstrip('/').replace('~', node)] = kind
    return found


def test_interfaces_in_the_shell_commands_of_the_pages_exist():
    known, checked = interfaces_of_the_page(), 0
    for page, line in shell_lines():
        for name, kind in re.findall(r'ros2 (?:service call|topic pub|action send_goal) (?:-\S+ '
                                     r'(?:\d+ |\w+ (?=/))?)*(/\S+)(?: (\w+/\w+/\w+))?', line):
            name = re.sub('^/(left|right)/', '/', name)
            assert name in known and kind in ('', known[name]), f'{page}: {line}'
            checked += 1
        for name in re.findall(r'ros2 topic echo .*?(/\S+)', line):
            name = re.sub('torque_terms/.*', 'torque_terms/<term>', name)
            assert name in {*known, '/dry_run'}, f'{page}: {line}'  # a topic of the command above
            checked += 1
    assert checked > 25


def test_parameters_in_the_shell_commands_of_the_pages_exist():
    rows = {row.name for _, _, table in tables().values() for row in table}
    names = [(page, name) for page, line in shell_lines()
             for name in re.findall(r"-p '?([\w.]+):=", line)]
    assert len(names) > 5
    assert not [each for each in names if each[1] not in rows]


def rows_of(page, head):
    """Return the names in the first column of the table with this head, in their order."""
    table = read(ROOT / 'docs' / page).split(f'| {head} |')[1].split('\n\n')[0]
    return [name for row in re.findall(r'^\| (`.*?) \|', table, re.MULTILINE)
            for name in re.findall(r'`(\w+)`', row)]


def test_pages_have_every_mode_and_every_simulated_fault():
    assert sorted(rows_of('control_modes.md', 'mode')) == sorted(MODES)
    assert sorted(rows_of('simulator.md', 'kind')) == sorted(KINDS)


def test_the_quick_start_lists_every_command():
    listed = read(ROOT / 'docs' / 'quick_start.md').split('| command | purpose |')[1]
    listed = listed.replace('robodyn ', '')
    assert not [each for each in COMMANDS if f'`{each}`' not in listed]
