"""Where a URDF may come from, and that no text, however hostile, does harm."""
import math
from pathlib import Path
import re
import sys
import time
import tracemalloc
import warnings

from hypothesis import given, HealthCheck, settings, strategies
from model_urdf import arm, gripper, joint, LIMIT, link, robot
import pytest

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ModelError, RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.description import _check_numbers

SECONDS = 10.0  # of processor time, for what takes a small part of a second
MEGABYTE = 2**20
BOMB = ('<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">'
        + ''.join(f'<!ENTITY lol{level} "{f"&lol{level - 1};" * 10}">' for level in range(1, 10))
        .replace('&lol0;', '&lol;') + ']><robot name="&lol9;"/>')
QUADRATIC = f'<!DOCTYPE r [<!ENTITY a "{"a" * 100_000}">]><robot name="{"&a;" * 100_000}"/>'
NASTY = ('nan', '-inf', '1e999', '1e308', '-1e308', '5e-324', '0', '-1', '', ' ', '0 0 0', '1 2',
         'elbow', 'forearm', 'base', 'fixed', 'floating', 'continuous', '\u0661', '1_0', '0x10',
         '&#0;', '&lol;', '${x}', '<', '"', 'é')


@pytest.fixture()
def quick():
    """Fail a test that takes too long."""
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


@pytest.fixture()
def bounded(quick):
    """Fail a test that takes too long or too much memory."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * MEGABYTE


def test_text_bytes_and_files_are_the_same(tmp_path, monkeypatch):
    text = '<?xml version="1.0" encoding="utf-8"?>\n' + gripper()
    path = tmp_path / 'arm.urdf'
    path.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('HOME', str(tmp_path))
    sources = [text, '\ufeff \n' + gripper(), text.encode(), bytearray(text.encode()), path,
               str(path), 'arm.urdf', '~/arm.urdf', gripper().encode('utf-16'),
               b'\xef\xbb\xbf' + text.encode()]
    keys = {RobotModel.from_urdf(source).structure_key for source in sources}
    assert len(keys) == 1


@pytest.mark.parametrize('number', ['5e-324', '-1E-310', '1e-400', '.000001e-320', '+0.1e-308'])
@pytest.mark.parametrize('attribute', ['effort', 'velocity', 'upper', 'mass value', 'ixx', 'xyz'])
def test_numbers_too_small_to_compute_with_are_refused(attribute, number):
    text = number + ' 0 0' * (attribute == 'xyz')
    changed, count = re.subn(f'{attribute}="[^"]*"', f'{attribute}="{text}"', gripper(), count=1)
    assert count == 1
    with pytest.raises(ModelError, match=f'{re.escape(number)}.* is too small; give 0 or'):
        RobotModel.from_urdf(changed)


@pytest.mark.parametrize('zero', ['0e-400', '-0.0', '0.000', '.0e5', '2.3e-308'])
def test_zeros_of_any_form_are_zeros(zero):
    _check_numbers('joint', 'lower', zero)


def test_names_may_be_of_any_script():
    text = arm().replace('elbow', 'coude_é_肘')
    for source in (text, text.encode(), '<?xml version="1.0" encoding="latin-1"?>' + text):
        assert RobotModel.from_urdf(source).joint_names[1] == 'coude_é_肘'


def test_namespaces_are_no_matter():
    text = arm().replace('<robot ', '<robot xmlns:xacro="http://ros.org/wiki/xacro" '
                         'xmlns="http://ros.org/urdf" ')
    assert RobotModel.from_urdf(text).warnings == ()


def test_a_file_that_may_not_be_read(monkeypatch):
    def refuse(*_):
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr(Path, 'stat', refuse)
    with pytest.raises(ModelError, match=r"'arm\.urdf': Permission denied"):
        RobotModel.from_urdf('arm.urdf')


@pytest.mark.parametrize('text', [BOMB, QUADRATIC, BOMB.encode('utf-16')],
                         ids=['billion laughs', 'quadratic', 'utf-16'])
def test_entity_bomb(text, bounded):
    with pytest.raises(ModelError, match='document type or entity'):
        RobotModel.from_urdf(text)


def test_external_entity_is_not_read(tmp_path):
    secret = tmp_path / 'secret'
    secret.write_text('secret')
    text = (f'<!DOCTYPE r [<!ENTITY x SYSTEM "{secret.as_uri()}">]><robot name="&x;"/>')
    with pytest.raises(ModelError) as caught:
        RobotModel.from_urdf(text)
    assert 'secret' not in str(caught.value)


@pytest.mark.parametrize('ballast', [
    '<visual>' * 100_000 + '</visual>' * 100_000, '<visual><a b="c"/></visual>' * 100_000,
    '<!--' + ' x' * 10**6 + '-->', ' ' * 10**6, '<odd/>' * 100_000],
    ids=['deep', 'wide', 'comment', 'blank', 'unknown'])
def test_ballast_is_not_built(ballast, bounded):
    assert RobotModel.from_urdf(arm(forearm=ballast)).nv == 2


def test_more_elements_than_any_robot_has(quick):
    with pytest.raises(ModelError, match='more than 50000 elements'):
        RobotModel.from_urdf(robot('<link name="a"/>' * 100_001))


@pytest.mark.parametrize('number', ['9' * MEGABYTE, '0.' + '0' * MEGABYTE + 'x', '1 ' * MEGABYTE])
def test_endless_number(number, bounded):
    with pytest.raises(ModelError, match='upper'):
        RobotModel.from_urdf(arm(elbow_inside=LIMIT.replace('upper="2"', f'upper="{number}"')))


def test_endless_name(bounded):
    with pytest.raises(ModelError) as caught:
        RobotModel.from_urdf(arm().replace('forearm', 'f' * MEGABYTE))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize('shape', ['chain', 'star'])
def test_a_thousand_links(shape, quick):
    links = [link(f'link{index}') for index in range(1001)]
    joints = [joint(f'joint{index}', f'link{index if shape == "chain" else 0}',
                    f'link{index + 1}', rpy='0.1 0 0.2') for index in range(1000)]
    model = RobotModel.from_urdf(robot(*links, *joints))
    assert model.nv == 1000
    assert model.parent[-1] == (998 if shape == 'chain' else -1)


def _pieces(text):
    return strategies.tuples(strategies.integers(0, len(text)), strategies.integers(0, 40),
                             strategies.sampled_from(NASTY) | strategies.text(max_size=8))


def _loads_or_is_refused(text):
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # an overflow in NumPy is a check that is missing
        try:
            RobotModel.from_urdf(text)
        except RobodynError as error:
            assert len(str(error)) < 2000


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.lists(_pieces(gripper()), min_size=1, max_size=3))
def test_damaged_text_loads_or_is_refused(edits):
    text = gripper()
    for start, length, piece in edits:
        text = text[:start] + piece + text[start + length:]
    _loads_or_is_refused(text)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.lists(strategies.tuples(
    strategies.integers(0, gripper().count('="') - 1), strategies.sampled_from(NASTY)),
    min_size=1, max_size=4))
def test_damaged_values_load_or_are_refused(edits):
    parts = gripper().split('="')
    for index, value in edits:
        parts[index + 1] = value + parts[index + 1][parts[index + 1].index('"'):]
    _loads_or_is_refused('="'.join(parts))


XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="length" default="0.5"/><xacro:property name="half" value="${0.5 * 0.5}"/>
<link name="base"/><link name="tip"><inertial><origin xyz="0 0 ${half}"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="9" velocity="1"/></joint></robot>"""


def test_a_xacro_file_is_expanded(tmp_path):
    pytest.importorskip('xacro')
    (tmp_path / 'arm.urdf.xacro').write_text(XACRO)
    model = RobotModel.from_urdf(tmp_path / 'arm.urdf.xacro')
    assert model.joint_names == ('j',) and Dynamics(model).gravity([0.5])[0] == pytest.approx(
        -2.0 * 9.81 * 0.25 * math.sin(0.5))
    (tmp_path / 'bad.xacro').write_text(XACRO.replace('${half}', '${nothing}'))
    with pytest.raises(ModelError, match="xacro fails for '.*bad.xacro'.*nothing"):
        RobotModel.from_urdf(tmp_path / 'bad.xacro')


def test_without_xacro_the_command_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    (tmp_path / 'arm.xacro').write_text(XACRO)
    with pytest.raises(ModelError, match='pip install xacro, or give the output of `xacro .*arm'):
        RobotModel.from_urdf(tmp_path / 'arm.xacro')
    with pytest.raises(ModelError, match='cannot read URDF file'):
        RobotModel.from_urdf(tmp_path / 'none.xacro')


@pytest.mark.parametrize('kind, remedy', [
    ('revolute', 'lower and upper, or make it continuous'), ('prismatic', 'lower and upper$')])
def test_only_a_joint_that_turns_may_be_continuous(kind, remedy):
    text = XACRO.replace('type="revolute"', f'type="{kind}"').replace('${half}', '0.2')
    text = re.sub('<limit.*?/>|<xacro.*?/>', '', text)
    with pytest.raises(ModelError, match=f'a {kind} joint needs a <limit>.*{remedy}'):
        RobotModel.from_urdf(text)


def test_an_inertia_in_rows_is_explained():
    text = XACRO.replace('ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"', '')
    text = re.sub('<xacro.*?/>', '', text).replace('${half}', '0.2')
    with pytest.raises(ModelError, match='ixx.*give all of ixx, ixy, ixz, iyy, iyz, izz as attr'):
        RobotModel.from_urdf(text)
