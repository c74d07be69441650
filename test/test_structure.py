"""
Read the sources and packaging files, and fail where the design does not hold any more.

The arrows of the design: each part of the package may import only the parts listed for it. What is
not ROS stays usable without ROS.
"""
import ast
from functools import lru_cache
from pathlib import Path
import sys
import xml.etree.ElementTree as ElementTree

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'robodyn_ros'

FOUNDATION = {'exceptions', 'files', 'picture', 'priority', 'settings', 'share', 'text'}
PHYSICS = FOUNDATION | {'model', 'dynamics'}
LIBRARY = PHYSICS | {'control', 'identification', 'safety', 'simulation', 'trajectory'}
ARROWS = {
    'exceptions': set(),
    'settings': {'exceptions'},
    'share': {'exceptions'},
    'files': {'exceptions'},
    'picture': {'exceptions'},
    'priority': set(),
    'text': {'exceptions'},
    'model': FOUNDATION,
    'dynamics': FOUNDATION | {'model'},
    'arms': FOUNDATION,
    'control': PHYSICS | {'safety', 'trajectory'},
    'simulation': PHYSICS | {'safety', 'trajectory'},
    'identification': PHYSICS | {'trajectory'},
    'export': PHYSICS | {'', 'control', 'safety'},
    'inspection': LIBRARY | {'arms', 'client'},
    'montecarlo': LIBRARY,
    'commissioning': LIBRARY | {'client', 'inspection', 'nodes'},
    'teaching': PHYSICS | {'trajectory'},
    'gym': LIBRARY,
    'trajectory': FOUNDATION,
    'safety': PHYSICS,
    'view': PHYSICS | {'teaching', 'trajectory'},
    'nodes': LIBRARY | {'', 'view'},
    'client': LIBRARY | {'nodes', 'teaching'},
    'cli': LIBRARY | {'', 'arms', 'client', 'commissioning', 'export', 'inspection', 'montecarlo',
                      'nodes', 'teaching', 'view'},
    '': LIBRARY,
}
NOTHING_BUT_ARRAYS = {'trajectory', 'safety'}
ROS_PARTS = {'nodes', 'client'}
ROS_SUFFIXES = ('_msgs', '_srvs', '_interfaces')
ROS_PACKAGES = {'rclpy', 'launch', 'launch_ros', 'ament_index_python'}


def is_ros(package):
    """Return whether a top-level package comes with ROS."""
    return package in ROS_PACKAGES or package.endswith(ROS_SUFFIXES)


@lru_cache(maxsize=None)
def imported(path):
    """Return (line, dotted module) of all imports of a file, relative ones made absolute."""
    package, found = list(path.relative_to(ROOT).with_suffix('').parts), []
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.append((node.lineno, alias.name))
        elif isinstance(node, ast.ImportFrom):
            base = package[:-node.level] if node.level else []
            base = '.'.join(base + ([node.module] if node.module else []))
            for alias in node.names:
                found.append((node.lineno, f'{base}.{alias.name}'))
    return found


def part_of(module):
    """Name the part of the package that a dotted module belongs to; '' is the package itself."""
    name = (module.split('.') + [''])[1]
    return name if name in ARROWS else ''


def sources():
    """List the Python files of the package."""
    return sorted((ROOT / PACKAGE).rglob('*.py'))


def part_of_file(path):
    """Name the part of the package that a file belongs to."""
    return part_of('.'.join(path.relative_to(ROOT).with_suffix('').parts))


def setup_call():
    """Return the keyword arguments of the call of setup() as syntax trees."""
    tree = ast.parse((ROOT / 'setup.py').read_text(encoding='utf-8'))
    call = next(node for node in ast.walk(tree)
                if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'setup')
    return {keyword.arg: keyword.value for keyword in call.keywords}


def manifest():
    """Return the root element of package.xml."""
    return ElementTree.parse(ROOT / 'package.xml').getroot()


def test_every_part_has_its_arrows():
    unknown = {str(path.relative_to(ROOT)) for path in sources()
               if part_of_file(path) == '' and path != ROOT / PACKAGE / '__init__.py'}
    assert not unknown, f'not in the design, and so without a place among its arrows: {unknown}'


def test_arrows_point_one_way():
    wrong = []
    for path in sources():
        here = part_of_file(path)
        for line, module in imported(path):
            if module.split('.')[0] != PACKAGE:
                continue
            there = part_of(module)
            if there != here and there not in ARROWS[here]:
                wrong.append(f'{path.relative_to(ROOT)}:{line} imports {module}')
    assert not wrong, '\n'.join(wrong)


def test_commands_are_leaves():
    """No other part imports one, and no command another: what they share is a library."""
    shared, wrong = {'main', 'options', 'terminal'}, []
    for path in sources():
        own = path.relative_to(ROOT).parts[1:3] if part_of_file(path) == 'cli' else ('', '')
        for line, module in imported(path):
            parts = module.split('.')
            if parts[:2] == [PACKAGE, 'cli'] and parts[2] not in {
                    *(shared if own[0] else ()),
                    own[1].removesuffix('.py')}:
                wrong.append(f'{path.relative_to(ROOT)}:{line} imports {module}')
    assert not wrong, '\n'.join(wrong)


def test_only_nodes_import_ros():
    wrong = [f'{path.relative_to(ROOT)}:{line} imports {module}'
             for path in sources() if part_of_file(path) not in ROS_PARTS
             for line, module in imported(path) if is_ros(module.split('.')[0])]
    assert not wrong, '\n'.join(wrong)


def test_trajectory_and_safety_need_nothing_but_arrays():
    known = set(sys.stdlib_module_names) | {'numpy', PACKAGE}
    wrong = [f'{path.relative_to(ROOT)}:{line} imports {module}'
             for path in sources() if part_of_file(path) in NOTHING_BUT_ARRAYS
             for line, module in imported(path) if module.split('.')[0] not in known]
    assert not wrong, '\n'.join(wrong)


def test_a_controller_does_without_scipy():
    """Its import would take a third of the start of the node."""
    wrong = [f'{path.relative_to(ROOT)}:{line} imports {module}'
             for path in sources() if part_of_file(path) in {'control', 'model', 'nodes', 'safety'}
             for line, module in imported(path) if module.split('.')[0] == 'scipy']
    assert not wrong, '\n'.join(wrong)


def test_the_guard_does_without_what_it_guards_against():
    path = ROOT / PACKAGE / 'nodes' / 'guard' / 'node.py'
    reached, todo = {}, [(path, 'guard')]
    while todo:
        path, chain = todo.pop()
        reached[path] = chain
        for _, module in imported(path):
            parts = module.split('.')
            found = [ROOT.joinpath(*parts[:length]).with_suffix('.py')
                     for length in (len(parts), len(parts) - 1) if length > 1]
            found += [ROOT.joinpath(*parts[:length], '__init__.py')
                      for length in range(2, len(parts) + 1)]
            todo += [(file, f'{chain} -> {parts[-1]}') for file in found
                     if parts[0] == PACKAGE and file.is_file() and file not in reached]
    controller = ROOT / PACKAGE / 'nodes' / 'controller'
    wrong = [chain for file, chain in reached.items()
             if part_of_file(file) == 'control' or controller in file.parents]
    assert len(reached) > 20 and not wrong, wrong


def test_a_line_logs_with_one_severity():
    """Where a line logs with another severity than before, rclpy raises, and the node ends."""
    chosen = [f'{path}:{node.lineno}' for path in sorted((ROOT / PACKAGE).rglob('*.py'))
              for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
              if isinstance(node, ast.IfExp) and any(
                  isinstance(part, ast.Attribute) and part.attr in (
                      'debug', 'info', 'warning', 'error', 'fatal')
                  for part in (node.body, node.orelse))]
    assert not chosen


def test_ros_packages_are_declared():
    declared = {entry.text for entry in manifest() if entry.tag.endswith('depend')}
    files = sources() + sorted((ROOT / 'launch').glob('*.py'))
    used = {module.split('.')[0] for path in files for _, module in imported(path)}
    missing = {package for package in used if is_ros(package)} - declared
    assert not missing, f'imported, but not in package.xml: {missing}'


def test_version_is_one():
    assert setup_call()['version'].value == manifest().findtext('version')


def test_entry_points_exist():
    scripts = ast.literal_eval(setup_call()['entry_points'])['console_scripts']
    missing = []
    for script in scripts:
        module, function = script.split('=')[1].strip().split(':')
        path = ROOT.joinpath(*module.split('.')).with_suffix('.py')
        names = ([node.name for node in ast.parse(path.read_text(encoding='utf-8')).body
                  if isinstance(node, ast.FunctionDef)] if path.is_file() else [])
        if function not in names:
            missing.append(script)
    assert not missing, f'no such function: {missing}'
