"""The command `robodyn identify`: bags as they come, files that others load, clear mistakes."""

import shlex
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rosbags', reason='bags need the library rosbags')

from bag_of_joints import array, joint_state, store, write_sqlite  # noqa: E402
from identification_data import arm, recorded, URDF, waves  # noqa: E402
from robodyn_ros import identification  # noqa: E402
from robodyn_ros.cli.main import main, USER_MISTAKE  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import RobodynError  # noqa: E402
from robodyn_ros.files import CONTROLLER as NODE, parameter_file  # noqa: E402
from robodyn_ros.identification import recordings  # noqa: E402
from robodyn_ros.identification.estimate import Value  # noqa: E402
from robodyn_ros.identification.report import broken  # noqa: E402
from robodyn_ros.identification.results import parameters, payload_command, remarks  # noqa: E402
from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.nodes.bag import Topic, write_bag  # noqa: E402
from robodyn_ros.simulation import mismatched  # noqa: E402
import yaml  # noqa: E402

STATE, FLOATS = 'sensor_msgs/msg/JointState', 'std_msgs/msg/Float64MultiArray'
ARM = URDF / 'robodyn6.urdf'
TRUE = {'viscous': np.array([0.3, 0.3, 0.2, 0.05, 0.04, 0.01]),
        'coulomb': np.array([0.2, 0.15, 0.1, 0.03, 0.02, 0.005])}


@pytest.fixture(scope='module')
def recording():
    return recorded(arm().model, arm(), waves(arm().model, 1), damping=TRUE['viscous'],
                    friction=TRUE['coulomb'])


@pytest.fixture(scope='module')
def bags(recording, tmp_path_factory):
    """Return the folder of bags of one recording, tidy and not."""
    folder, types, names = tmp_path_factory.mktemp('bags'), store(), arm().model.joint_names
    rows = list(zip(recording.position_time, recording.position, recording.effort))
    tidy = [joint_state(types, t, names, q, u) for t, q, u in rows]
    write_bag(folder / 'tidy', [Topic('/joint_states', STATE, False, tidy)])
    write_sqlite(folder / 'untidy', {'/arm/joint_states': (STATE, untidy(types, names, rows))})
    write_bag(folder / 'apart', [
        Topic('/joint_states', STATE, False,
              [joint_state(types, t, names, q) for t, q, _ in rows]),
        Topic('/effort_controller/commands', FLOATS, False,
              [array(types, t, u[::-1]) for t, _, u in rows])])
    return folder


def untidy(types, names, rows):
    """Return joint states with all that goes wrong with them."""
    rng, made = np.random.default_rng(0), []
    for k, (t, q, u) in enumerate(rows):
        order = rng.permutation(len(names))
        held = [*(names[i] for i in order), 'finger']
        position, effort = [*q[order], 0.02], [*u[order], 0.0]
        if k % 50 == 7:
            position[3] = np.nan
        if k % 11 == 0:
            made.append(joint_state(types, t + 1e-4, ['finger'], [0.02], [0.0]))
        if not 7.0 < t < 7.4:
            made += [joint_state(types, t, held, position, effort)] * (1 + (k % 20 == 3))
    # logged at the times of the stamps, but in any order
    return [made[i] for i in rng.permutation(len(made))]


def identify(bag, *options):
    return main(['identify', str(bag), str(ARM), *options])


def values(path):
    return yaml.safe_load(path.read_text(encoding='utf-8'))[f'/**/{NODE}']['ros__parameters']


@pytest.mark.parametrize('bag, options', [
    ('tidy', ()), ('tidy/tidy.mcap', ()), ('untidy', ('--topic', 'arm/joint_states')),
    ('apart', ('--effort-topic', '/effort_controller/commands', '--effort-joints',
               ','.join(reversed(arm().model.joint_names))))])
def test_friction_is_found_in_any_bag(bags, tmp_path, bag, options, capsys):
    path = tmp_path / 'new' / 'found.yaml'
    assert identify(bags / bag, '--estimate', 'friction', '--output', str(path), *options) == 0
    friction = values(path)['friction']
    assert set(friction) == {'viscous', 'coulomb'}
    for kind, size in (('viscous', 0.015), ('coulomb', 0.008)):
        np.testing.assert_allclose(friction[kind], TRUE[kind], atol=size)
    printed = capsys.readouterr().out
    assert 'pass  held-back torque' in printed and 'condition number' in printed
    assert max(map(len, printed.splitlines())) <= 100
    assert ('in 2 pieces' in printed) == (bag == 'untidy')


def test_python_finds_the_same_as_the_command(bags, tmp_path):
    path = tmp_path / 'found.yaml'
    assert identify(bags / 'tidy', '--estimate', 'friction', '--output', str(path)) == 0
    data, found, _ = identification.identify(arm(), identification.read_recording(
        bags / 'tidy', arm().model.joint_names), ['friction'],
        dry=identification.DryFriction('smooth'))
    same = {f'friction.{name}': each for name, each in values(path)['friction'].items()}
    assert set(same) <= set(ours := identification.parameters(found, data.dry))
    for name, each in same.items():
        np.testing.assert_allclose(ours[name], each, rtol=1e-5, atol=1e-12)  # digits of the file


def test_inertia_becomes_a_urdf(tmp_path, capsys):
    model = arm().model
    heavy = mismatched(model, {'link2': 1.2, 'link3': 0.85}, {'link2': (0.01, 0.0, -0.02)})
    made = recorded(heavy, arm(), waves(model, 1))
    heads = ['time', *(f'{name}.{what}' for what in ('position', 'effort')
                       for name in model.joint_names)]
    np.savetxt(tmp_path / 'run.csv', np.column_stack([
        made.position_time, made.position, made.effort]), '%.9g', ',', header=','.join(heads),
        comments='')
    path = tmp_path / 'better.urdf'
    assert identify(tmp_path / 'run.csv', '--urdf-output', str(path), '--all') == 0
    printed = capsys.readouterr().out
    assert 'base parameter' in printed and 'link2 hz +' in printed
    better = RobotModel.from_urdf(path)
    assert better.joint_names == model.joint_names and not better.warnings
    projection = arm().base_parameters(tolerance=1e-6).projection
    true, urdf, found = (projection @ Dynamics(each).parameters
                         for each in (heavy, model, better))
    assert np.linalg.norm(found - true) < 0.1 * np.linalg.norm(urdf - true)
    # other than the inertias nothing has changed
    np.testing.assert_array_equal(better.translation, model.translation)
    np.testing.assert_array_equal(better.upper, model.upper)


def test_a_payload_becomes_a_command_that_publishes_it(tmp_path, capsys):
    held = arm().model.with_payload('tool0', 1.2, (0.0, 0.02, 0.1), 0.01 * np.eye(3))
    made, types = recorded(held, arm(), waves(arm().model, 2)), store()
    write_bag(tmp_path / 'held', [Topic('/joint_states', STATE, False, [
        joint_state(types, t, arm().model.joint_names, q, u)
        for t, q, u in zip(made.position_time, made.position, made.effort)])])
    path = tmp_path / 'tool.yaml'
    assert identify(tmp_path / 'held', '--payload', 'tool0', '--output', str(path)) == 0
    assert set(values(path)) == {'friction'}, 'the controller refuses parameters it does not have'
    command, = [line for line in path.read_text().splitlines() if 'topic pub' in line]
    assert command.startswith(f'# ros2 topic pub --once /{NODE}/payload geometry_msgs/msg/Inertia')
    published = yaml.safe_load(shlex.split(command, comments=False)[-1])
    inertia = published['inertia']
    assert published['header'] == {'frame_id': 'tool0'}
    assert inertia['m'] == pytest.approx(1.2, rel=0.01)
    np.testing.assert_allclose([inertia['com'][k] for k in 'xyz'], (0.0, 0.02, 0.1), atol=2e-3)
    np.testing.assert_allclose([inertia[k] for k in ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')],
                               (0.01, 0.01, 0.01, 0.0, 0.0, 0.0), atol=2e-3)
    assert 'mass (kg)      1.20' in capsys.readouterr().out


@pytest.mark.parametrize('link', ['tool0', "a'b", 'a"; touch gone; "', '$(id)', '`id`', 'a\\',
                                  'a b', '!!', '{x: 1}', '肘', ''])
def test_the_name_of_a_link_cannot_leave_its_command(link):
    run = subprocess.run(['sh', '-c', 'ros2() { printf %s "$6"; }; ' + payload_command(
        link, np.arange(10.0))], capture_output=True, text=True, timeout=100)
    assert (run.stderr, run.returncode) == ('', 0)
    published = yaml.safe_load(run.stdout)
    assert published['header'] == {'frame_id': link} and published['inertia']['izz'] == 6.0


def test_without_a_payload_none_is_written(bags, tmp_path, capsys):
    path = tmp_path / 'tool.yaml'
    assert identify(bags / 'tidy', '--payload', 'tool0', '--output', str(path)) == 0
    assert 'payload' not in values(path) and '/payload' not in path.read_text()
    assert 'none: the mass is below its uncertainty' in capsys.readouterr().out


def test_residuals_are_drawn(bags, tmp_path):
    pytest.importorskip('matplotlib')
    path = tmp_path / 'rest.png'
    assert identify(bags / 'tidy', '--estimate', 'friction', '--plot', str(path)) == 0
    assert path.read_bytes().startswith(b'\x89PNG')


def test_numbers_are_such_as_ros_reads():
    text = parameter_file({'friction.viscous': [1.0, 2e-7], 'friction.coulomb': [0.0],
                           'payload.link': "tool's", 'armature': [1e20]}, ['from here'])
    read = yaml.safe_load(text)[f'/**/{NODE}']['ros__parameters']
    assert read == {'friction': {'viscous': [1.0, 2e-7], 'coulomb': [0.0]},
                    'payload': {'link': "tool's"}, 'armature': [1e20]}
    assert all(isinstance(x, float) for x in read['friction']['viscous'] + read['armature'])


def test_a_scale_is_a_comment_and_no_parameter():
    found = SimpleNamespace(joints={'scale': [Value(1.05, 0.01), Value(0.5, 0.01)]},
                            has_payload=False)
    text = parameter_file(parameters(found), remarks(found, None))
    assert 'Ratio of recorded effort to joint effort, for the driver: [1.05, 0.5]' in text
    assert yaml.safe_load(text)[f'/**/{NODE}']['ros__parameters'] == {}


@pytest.mark.parametrize('bag, options, words', [
    ('nowhere', (), 'does not exist: give the folder of a bag'),
    ('.', (), 'does not exist. A bag is a folder with a metadata.yaml'),
    ('tidy', ('--topic', 'states'), 'no topic /states. Topics with joint states or arrays: '
     '/joint_states (sensor_msgs/msg/JointState)'),
    ('apart', (), 'no efforts of all joints: give the topic that has them with --effort-topic; '
     'others are /effort_controller/commands'),
    ('apart', ('--topic', '/effort_controller/commands'), 'sensor_msgs/msg/JointState is needed'),
    ('apart', ('--effort-topic', '/effort_controller/commands', '--effort-joints', 'joint1'),
     "does not have joint 'joint2'"),
    ('apart', ('--effort-topic', '/effort_controller/commands', '--effort-joints',
               'a,joint1,joint2,joint3,joint4,joint5,joint6'), 'has 6 numbers in a message'),
    ('tidy', ('--estimate', 'frction'), "did you mean 'friction'"),
    ('tidy', ('--estimate', 'friction', '--urdf-output', 'x.urdf'), 'add inertia to --estimate'),
    ('tidy', ('--cutoff', '400'), 'below half of the 500'),
    ('tidy', ('--payload', 'tool1'), "did you mean 'tool0'"),
])
def test_mistakes_are_explained(bags, capsys, bag, options, words):
    assert identify(bags / bag, *options) == USER_MISTAKE
    assert words in ' '.join(capsys.readouterr().err.split())


HEADS = ','.join(['time', *(f'joint{j}.{what}' for j in range(1, 7)
                            for what in ('position', 'effort'))])
ROW = ','.join(map(str, range(13)))


@pytest.mark.parametrize('text, words', [
    (f'{ROW}\n{ROW}\n'.encode(), 'begins with numbers: give the first line the names'),
    (b'', "no column 'time'"), (b'\xff\xfe', 'is not text'),
    (HEADS.encode(), 'there are 0 usable positions'),
    (f'{HEADS}\n{ROW}\n{ROW}e100\n'.encode(), "'joint6' has the effort 1.2e+101 in sample 2"),
    (f'\ufeff{HEADS}\n{ROW}\n\n{ROW},1\n'.encode(), 'line 4 has 14 columns, the first one 13')])
def test_mistakes_in_a_table_are_explained(tmp_path, capsys, text, words):
    (tmp_path / 'run.csv').write_bytes(text)
    assert identify(tmp_path / 'run.csv') == USER_MISTAKE
    assert words in ' '.join(capsys.readouterr().err.split())


def test_a_message_that_cannot_be_decoded_is_named():
    from rosbags.typesys import get_typestore, Stores
    connection = SimpleNamespace(topic='/joint_states', msgtype=recordings.JOINT_STATE)
    reader = SimpleNamespace(
        connections=[connection], deserialize=get_typestore(Stores.LATEST).deserialize_cdr,
        messages=lambda _: [(connection, 1_500_000_000, b'\0\1\0\0ab')])
    with pytest.raises(RobodynError, match=r'cannot be decoded .* before 1\.500 s'):
        list(recordings._messages(reader, 'joint_states', recordings.JOINT_STATE))


def test_an_arm_that_was_not_recorded_is_named(bags, capsys):
    assert main(['identify', str(bags / 'tidy'), str(URDF / 'robodyn7.urdf')]) == USER_MISTAKE
    printed = ' '.join(capsys.readouterr().err.split())
    assert "joint 'joint7' is never named; did you mean 'joint6' or" in printed
    assert "'joint4'? Lock joints" in printed


def test_inertia_beyond_a_locked_joint_is_refused_before_anything_is_read(tmp_path, capsys):
    path = tmp_path / 'out.urdf'
    assert identify('nowhere', '--lock', 'joint6:0.0', '--urdf-output', str(path)) == USER_MISTAKE
    assert "joint 'joint6' was locked" in capsys.readouterr().err


def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_read(capsys, monkeypatch):
    pytest.importorskip('matplotlib')
    assert identify('nowhere', '--plot', 'rest.mp3') == USER_MISTAKE
    assert 'unknown picture format' in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    assert identify('nowhere', '--plot') == USER_MISTAKE
    assert "pip install 'robodyn_ros[plot]'" in capsys.readouterr().err


def test_a_robot_in_place_of_the_recording_is_named(capsys):
    assert main(['identify', str(ARM), 'arm.csv']) == USER_MISTAKE
    assert 'is no recording: it comes first, then the URDF' in capsys.readouterr().err


def test_late_stamps_are_remarked_and_repaired(recording, tmp_path, capsys):
    model, rng = arm().model, np.random.default_rng(0)
    count = len(recording.position_time)
    late = np.where(rng.random(count) < 0.05, rng.exponential(3e-3, count), 0.0)
    stamps = np.maximum.accumulate(recording.position_time + late) + 1e-8 * np.arange(count)
    heads = ['time', *(f'{name}.{what}' for what in ('position', 'effort')
                       for name in model.joint_names)]
    np.savetxt(tmp_path / 'run.csv', np.column_stack([
        stamps, recording.position, recording.effort]), '%.9g', ',', header=','.join(heads),
        comments='')
    errors = []
    for options in ((), ('--period', '0.002')):
        path = tmp_path / 'found.yaml'
        assert identify(tmp_path / 'run.csv', '--estimate', 'friction', '--output', str(path),
                        *options) == 0
        errors.append(np.abs(values(path)['friction']['coulomb'] - TRUE['coulomb']).max())
        assert 'give its --period' in ' '.join(capsys.readouterr().out.split())
    assert errors[1] < 0.01


def test_a_missing_library_is_named(bags, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, 'rosbags.highlevel', None)
    assert identify(bags / 'tidy') == USER_MISTAKE
    assert 'pip install rosbags' in capsys.readouterr().err


def test_lines_of_the_picture_are_broken_where_samples_are_left_out():
    times, values = broken(np.array([0.0, 0.1, 0.2, 0.5, 0.6]), np.arange(5.0))
    np.testing.assert_array_equal(values, [0.0, 1.0, 2.0, np.nan, 3.0, 4.0])
    np.testing.assert_allclose(times, [0.0, 0.1, 0.2, 0.5, 0.5, 0.6])
    for count in (0, 1, 2):
        assert [len(each) for each in broken(*np.ones((2, count)))] == [count, count]
