"""`robodyn explain`: the terms of the textbook, in tables that fit, and in a picture."""
import json
from pathlib import Path

from model_urdf import arm, joint, LIMIT, link, robot
import numpy as np
import pytest

from robodyn_ros.cli.main import main, SUCCESS, USER_MISTAKE

OWN = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
G, M1, M2, L1, L2 = 9.81, 3.0, 2.0, 0.4, 0.3
FRICTION = '<dynamics damping="0.5" friction="2"/>'


def mass(value, x):
    return f'<inertial><origin xyz="{x} 0 0"/><mass value="{value}"/></inertial>'


def planar():
    """Return the arm of two point masses in a vertical plane of Craig 6.7."""
    return robot(link('base', ''), link('upper', mass(M1, L1)), link('fore', mass(M2, L2)),
                 link('tip', ''),
                 joint('one', 'base', 'upper', inside=LIMIT + FRICTION, axis='0 -1 0',
                       xyz='0 0 0'),
                 joint('two', 'upper', 'fore', inside=LIMIT + FRICTION, axis='0 -1 0',
                       xyz=f'{L1} 0 0'),
                 joint('end', 'fore', 'tip', 'fixed', '', xyz=f'{L2} 0 0'))


@pytest.fixture
def explain(tmp_path, capsys):
    """Return a function that explains a URDF text; it returns exit code, stdout and stderr."""
    def run(text, *options):
        path = tmp_path / 'arm.urdf'
        path.write_text(text, encoding='utf-8')
        code = main(['explain', str(path), *options])
        return code, *capsys.readouterr()
    return run


def test_terms_of_two_links_are_those_of_the_textbook(explain):
    q1, q2, v1, v2, a1, a2 = 0.3, -0.7, 1.1, -0.4, 0.9, 2.0
    code, printed, _ = explain(planar(), '--json', '--q', str(q1), str(q2), '--qd', f'one={v1}',
                               f'two={v2}', '--qdd', str(a1), str(a2))
    assert code == SUCCESS
    found = json.loads(printed)
    c2, s2 = np.cos(q2), np.sin(q2)
    coupling = M2 * L2 ** 2 + M2 * L1 * L2 * c2
    M = np.array([[M2 * L2 ** 2 + 2 * M2 * L1 * L2 * c2 + (M1 + M2) * L1 ** 2, coupling],
                  [coupling, M2 * L2 ** 2]])
    h = M2 * L1 * L2 * s2
    g2 = M2 * L2 * G * np.cos(q1 + q2)
    terms = {'inertia': M @ [a1, a2], 'centrifugal': [-h * v2 ** 2, h * v1 ** 2],
             'Coriolis': [-2 * h * v1 * v2, 0], 'gravity': [g2 + (M1 + M2) * L1 * G * np.cos(q1),
                                                            g2],
             'friction': [0.5 * v1 + 2, 0.5 * v2 - 2]}
    np.testing.assert_allclose(found['mass_matrix'], M, rtol=1e-9)
    for name, expected in terms.items():
        np.testing.assert_allclose(found['terms'][name], expected, rtol=1e-9, atol=1e-12,
                                   err_msg=name)
    np.testing.assert_allclose(found['torque'], sum(map(np.array, terms.values())), rtol=1e-9)
    np.testing.assert_allclose(found['torque_ellipsoid']['sizes'], np.linalg.eigvalsh(M))
    np.testing.assert_allclose(np.array(found['coriolis_matrix']) @ [v1, v2], np.add(
        terms['centrifugal'], terms['Coriolis']), rtol=1e-9)


def test_a_push_along_a_stretched_arm_meets_no_joint(explain):
    _, printed, _ = explain(planar(), '--json', '--q', '0', '0')
    ellipsoid = json.loads(printed)['mass_ellipsoid']
    # along x and y no joint can move the tip; along z only the point mass at it accelerates
    assert ellipsoid['masses'][1:] == [None, None]
    assert ellipsoid['masses'][0] == pytest.approx(M2, rel=1e-9)
    np.testing.assert_allclose(np.abs(np.array(ellipsoid['axes'])[:, 0]), [0, 0, 1], atol=1e-9)
    _, printed, _ = explain(planar(), '--q', '0', '0')
    assert 'infinite' in printed and 'cannot move it' in printed


def test_tables_fit_with_seven_joints_and_long_names(explain, capsys):
    assert main(['explain', str(OWN), '--qd', 'joint1=1', '--link', 'link3']) == SUCCESS
    assert_fits(capsys.readouterr().out)
    long = OWN.read_text('utf-8').replace('name="joint', 'name="left_manipulator_of_rover_joint')
    _, printed, _ = explain(long, '--q', 'left_manipulator_of_rover_joint4=-1')
    assert_fits(printed)
    assert all(f'{j} left_manipulator_of_rover_joint{j}' in printed for j in range(1, 8))
    assert 'N m' in printed and 'kg m^2' in printed


def assert_fits(text):
    assert max(map(len, text.splitlines())) <= 100


def test_sliding_joints_have_their_own_units(explain):
    text = arm(link('hand'), joint('slide', 'forearm', 'hand', kind='prismatic'))
    _, printed, _ = explain(text, '--json')
    document = json.loads(printed)
    assert document['position_units'] == ['rad', 'rad', 'm']
    assert document['effort_units'] == ['N m', 'N m', 'N']
    _, printed, _ = explain(text)
    assert 'N m|N' in printed and 'rad|m' in printed


def test_joints_left_out_stand_as_near_to_zero_as_they_may(explain):
    text = arm(elbow_inside=LIMIT.replace('lower="-2"', 'lower="0.5"'))
    _, printed, _ = explain(text, '--json', '--q', 'shoulder=1')
    assert json.loads(printed)['q'] == [1.0, 0.5]


@pytest.mark.parametrize('options, words', [
    (['--q', '1'], 'give 2 numbers'), (['--q', '1', '2', '3'], 'shoulder, elbow'),
    (['--q', 'elbo=1'], "did you mean 'elbow'"), (['--q', 'elbow=x'], "'x' must be a number"),
    (['--qd', 'nan', '0'], '--qd'), (['--qdd', 'elbow=1', '2'], 'each as joint=number'),
    (['--q', 'elbow=1', 'elbow=2'], 'twice'), (['--link', 'forarm'], "did you mean 'forearm'")])
def test_mistakes_are_explained(explain, options, words):
    code, _, printed = explain(arm(), *options)
    assert code == USER_MISTAKE and words in printed


def test_a_state_beyond_the_limits_has_notes(explain):
    code, printed, _ = explain(arm(), '--q', '9', '-2', '--qd', '0', '-4')
    assert code == SUCCESS
    assert "note  joint 'shoulder' at 9 rad is outside its limits -2 .. 2 rad" in printed
    assert "note  joint 'elbow' with 4 rad/s is faster than its limit of 3 rad/s" in printed
    _, printed, _ = explain(arm(), '--q', '9', '0', '--json')
    note, = json.loads(printed)['notes']
    assert "'shoulder' at 9 rad" in note
    _, printed, _ = explain(arm(), '--q', '2', '-2', '--qd', '3', '-3')
    assert 'note' not in printed


def test_a_joint_without_mass_has_tables_all_the_same(explain):
    text = arm(link('ghost', ''), joint('idle', 'forearm', 'ghost'))
    code, printed, _ = explain(text)
    assert code == SUCCESS and 'no effective mass' in printed


def test_picture(explain, tmp_path):
    pytest.importorskip('matplotlib', reason='there is no picture without it')
    path = tmp_path / 'explained.png'
    for text in (arm(), arm(link('ghost', ''), joint('idle', 'forearm', 'ghost'))):
        code, printed, _ = explain(
            text, '--q', 'elbow=1', '--qd', 'shoulder=1', '--plot', str(path))
        assert code == SUCCESS and f'written: {path}' in printed
        data = path.read_bytes()
        assert (int.from_bytes(data[16:20], 'big'), int.from_bytes(data[20:24], 'big')) == (
            1800, 650)
        path.unlink()


def test_a_picture_that_cannot_be_written_names_its_option(explain):
    pytest.importorskip('matplotlib', reason='there is no picture without it')
    code, _, printed = explain(arm(), '--plot', '/proc/nothing/x.png')
    assert code == USER_MISTAKE and '--plot /proc/nothing/x.png' in printed


def test_an_unknown_kind_of_picture_is_one_message(explain, tmp_path):
    pytest.importorskip('matplotlib', reason='there is no picture without it')
    code, _, printed = explain(arm(), '--plot', str(tmp_path / 'x.foo'))
    assert code == USER_MISTAKE and '.png' in printed and not (tmp_path / 'x.foo').exists()
