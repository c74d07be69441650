"""What the pages show runs as printed: Python, commands with their output, quoted messages."""

import ast
import re
import shlex
import shutil

from identification_data import arm, recorded, URDF, waves
import numpy as np
import pytest

from robodyn_ros.cli.main import main

ROOT = URDF.parent
DOCS = ROOT / 'docs'
BROKEN = """<robot name="broken">
<link name="base"/>
<link name="upper"><inertial><mass value="2"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="forearm"><inertial><mass value="1"/>
<inertia ixx="-0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="hand"><inertial><mass value="-2"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="-5" velocity="1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="forearm"/>
<axis xyz="0 1 0"/><limit lower="2" upper="-2" effort="5" velocity="1"/></joint>
<joint name="wrist" type="revolut"><parent link="forearm"/><child link="hand"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="5" velocity="1"/></joint>
</robot>"""


def blocks(name, language):
    """Return the blocks of a page in a language."""
    text = (ROOT / name).read_text(encoding='utf-8')
    return re.findall(rf'^```{language}\n(.*?)^```', text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with the files that the examples name, in which they run."""
    shutil.copytree(ROOT / 'urdf', tmp_path / 'urdf')
    shutil.copy(ROOT / 'urdf' / 'robodyn7.urdf', tmp_path / 'arm.urdf')
    (tmp_path / 'broken.urdf').write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize('page', ['README.md', 'docs/api.md', 'docs/realtime.md'])
def test_python_of_the_page_runs_from_top_to_bottom(page, folder, capsys):
    shown, names = blocks(page, 'python'), {}
    assert shown
    for block in shown:
        exec(compile(block, page, 'exec'), names)
    if page == 'docs/api.md':
        printed = ' '.join(capsys.readouterr().out.split())
        said = re.findall(r'^print\(.*\) +# (.*)$', ''.join(shown), re.MULTILINE)
        assert said and all(each in printed for each in said)
    if page != 'docs/realtime.md':
        np.testing.assert_allclose(names['same'], names['qdd'], atol=1e-9)


def test_the_environment_of_the_page_follows_its_action(folder):
    pytest.importorskip('gymnasium', reason='the environment needs gymnasium')
    names = {}
    block, = (each for each in blocks('docs/motions.md', 'python') if 'gymnasium' in each)
    exec(block, names)
    for _ in range(150):
        *_, terminated, _, info = names['env'].step(names['goal'])
        assert not terminated, info
    np.testing.assert_allclose(names['env'].unwrapped.plant.q, names['goal'], atol=5e-3)


def test_many_arms_of_the_page_are_simulated(folder):
    names = {}
    exec(blocks('docs/simulator.md', 'python')[0], names)
    assert len(names['parts']) == 2 and 0.0 < names['worst'] < 0.1


def test_identification_of_the_page_finds_the_friction_of_the_arm(folder):
    block, = (each for each in blocks('docs/commissioning.md', 'python'))
    truth = arm('robodyn7')
    run = recorded(truth.model, truth, waves(truth.model))
    joints = truth.model.joint_names
    np.savetxt(folder / 'run1.csv', np.column_stack([
        run.position_time, run.position, run.effort]),
               delimiter=',', comments='', header=','.join(
                   ['time', *(f'{name}.{what}' for what in ('position', 'effort')
                              for name in joints)]))
    names = {}
    exec(block.replace("'run1'", "'run1.csv'"), names)
    found = names['values']['friction.viscous']
    np.testing.assert_allclose(found, truth.model.damping, atol=0.05)


def outputs():
    """Yield (arguments, lines) of the commands of robodyn that are shown with output."""
    for block in blocks('docs/check.md', ''):
        if block.startswith('$ robodyn '):
            command, _, lines = block.replace('\\\n', ' ').partition('\n')
            yield tuple(shlex.split(command)[2:]), lines.splitlines()


@pytest.mark.parametrize('arguments, lines', list(outputs()))
def test_commands_print_what_the_page_shows(arguments, lines, folder, capsys):
    main(list(arguments))
    printed = capsys.readouterr().out.splitlines()
    # how long a step took, and what was left out
    shown = [line for line in lines if line.strip() not in ('', '...')
             and not re.match(r' +[\d.]+ s  ', line)]
    assert len(shown) > 5
    missing = [line for line in shown if line.rstrip() not in map(str.rstrip, printed)]
    assert not missing, '\n'.join(missing)


def texts():
    """Return all texts of the code in one, with a null for what is filled in."""
    found = set()
    for file in sorted((ROOT / 'robodyn_ros').rglob('*.py')):
        for node in ast.walk(ast.parse(file.read_text(encoding='utf-8'))):
            if isinstance(node, ast.JoinedStr):
                found.add(''.join(each.value if isinstance(each, ast.Constant) else '\0'
                                  for each in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return '\n'.join(sorted(found))


def fragments(message):
    """Yield the parts of a quoted message that are literal: several words without a number."""
    for part in re.split(r"'[^']*'|\.\.\.|-?\d[\d.]*", message):
        if len(part.split()) > 1:
            yield part.strip(' .,:;()')


def test_messages_that_the_page_explains_are_those_of_the_code():
    known, quoted = texts(), []
    for row in re.findall(r'^\| (`.*)$', (DOCS / 'troubleshooting.md').read_text(
            encoding='utf-8'), re.MULTILINE):
        for message in re.findall(r'`([^`]+)`', row.split(' | ')[0]):
            quoted += fragments(message)
    assert len(quoted) > 30
    assert not [each for each in quoted if each not in known]
