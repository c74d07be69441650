"""What a page shows of an arm, without ROS, without a server, and without a browser."""
from pathlib import Path
import runpy

import numpy as np
import pytest

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ModelError, TrajectoryError
from robodyn_ros.model import RobotModel
from robodyn_ros.view.drag_force import FREQUENCY, Spring, STRETCH
from robodyn_ros.view.feasibility import check_payload, default_poses, plan_move
from robodyn_ros.view.overlay import mass_ellipsoid, MAX_LENGTH, MIN_LENGTH, UNIT
from robodyn_ros.view.plots import History
from robodyn_ros.view.snapshot import Snapshot
from robodyn_ros.view.status import GOOD, HIGH, OVER, status, torque_bars
from robodyn_ros.view.throttle import Throttle
from robodyn_ros.view.visuals import find_mesh, read_visuals

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
MODEL = RobotModel.from_urdf(ARM)
DYNAMICS = Dynamics(MODEL)
Q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.6, 0.1])

# a cart on a rail with a pole: a box, a capsule, a mesh that is not there, and nothing at all
CART = """<robot name="cart"><link name="rail"/>
<material name="red"><color rgba="1 0 0 0.5"/></material>
<link name="cart"><inertial><mass value="2"/></inertial>
 <visual><origin xyz="0 0 0.1" rpy="0 0 1.5707963267948966"/>
  <geometry><box size="0.4 0.2 0.1"/></geometry><material name="red"/></visual>
 <visual><geometry><capsule radius="0.02" length="0.1"/></geometry></visual></link>
<link name="pole"><inertial><origin xyz="0 0 0.5"/><mass value="1"/></inertial>
 <visual><geometry><mesh filename="package://no_such/pole.stl" scale="2 2 2"/></geometry>
 </visual>
 <visual><geometry><box size="1 2"/></geometry></visual></link>
<link name="end"/>
<joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
 <origin xyz="0 0 0.5"/><limit lower="-1" upper="1" velocity="1" effort="50"/></joint>
<joint name="swing" type="revolute"><parent link="cart"/><child link="pole"/><axis xyz="0 1 0"/>
 <limit lower="-2" upper="2" velocity="2" effort="20"/></joint>
<joint name="tip" type="fixed"><parent link="pole"/><child link="end"/>
 <origin xyz="0 0 1"/></joint>
</robot>"""


def snapshot(**changes):
    """Return what is known of an arm at rest."""
    values = {'time': 0.0, 'age': 0.0, 'q': Q, 'qd': 0.0 * Q,
              'reference': None, 'error': np.nan * Q, 'torque': 0.0 * Q}
    return Snapshot(**{**values, **changes})


# --- shapes ------------------------------------------------------------------------------------

def test_visuals_are_read_with_place_size_and_color():
    visuals, problems = read_visuals(CART)
    box, capsule, mesh = visuals
    assert (box.link, box.shape, box.size) == ('cart', 'box', (0.4, 0.2, 0.1))
    np.testing.assert_allclose(box.rotation @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)
    np.testing.assert_array_equal(box.translation, [0.0, 0.0, 0.1])
    assert box.color == (1.0, 0.0, 0.0, 0.5)
    assert (capsule.size, capsule.color) == ((0.02, 0.1), None)
    assert (mesh.file, mesh.size) == ('package://no_such/pole.stl', (2.0, 2.0, 2.0))
    assert len(problems) == 1
    assert "'pole'" in problems[0] and "'1 2'" in problems[0]


def test_meshes_are_found_wherever_ros_has_them(tmp_path, monkeypatch):
    for variable in ('AMENT_PREFIX_PATH', 'ROS_PACKAGE_PATH'):
        monkeypatch.delenv(variable, raising=False)
    place = tmp_path / 'install' / 'share' / 'some_arm' / 'meshes'
    place.mkdir(parents=True)
    (place / 'link 1.STL').touch()
    uri, found = 'package://some_arm/meshes/link%201.STL', place / 'link 1.STL'
    with pytest.raises(ModelError, match='source the workspace'):
        find_mesh(uri)
    for variable, value in (('AMENT_PREFIX_PATH', f'/none:{tmp_path / "install"}'),
                            ('ROS_PACKAGE_PATH', str(place.parents[1])),
                            ('ROS_PACKAGE_PATH', str(place.parent))):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            assert find_mesh(uri) == found
    assert find_mesh(uri, place.parent / 'urdf') == found
    assert find_mesh('meshes/link 1.STL', place.parent) == found
    assert find_mesh(f'file://{str(found).replace(" ", "%20")}', tmp_path) == found


@pytest.mark.parametrize('uri, words', [
    ('/etc/passwd', 'none of .stl'), ('file:///none/at/all.stl', 'there is no mesh'),
    ('', 'none of .stl'), ('x' * 5000 + '.stl', 'cannot be looked up: File name too long'),
    ('file://[/a.stl', 'cannot be looked up: Invalid IPv6'),
    ('a\0.stl', r"there is no mesh '.*/a\\x00.stl'|cannot be looked up: embedded null"),
    ('a\n[FATAL] gone.stl', r"there is no mesh '.*/a\\n\[FATAL\] gone.stl'"),
    ('package://a\nb/c.stl', r"package://a.*b/c.stl' was not found")])
def test_what_is_no_mesh_is_not_read(uri, words, tmp_path):
    with pytest.raises(ModelError, match=words) as caught:
        find_mesh(uri, tmp_path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize('error', [PermissionError(13, 'Permission denied'), ValueError('odd')])
def test_a_folder_that_cannot_be_looked_into_is_a_problem_of_the_mesh(monkeypatch, error):
    def refuse(_):
        raise error

    monkeypatch.setattr(Path, 'is_file', refuse)  # root may look into any
    with pytest.raises(ModelError, match=f'cannot be looked up: {error.args[-1]}'):
        find_mesh('/root/a.stl', Path('/'))


def test_a_robot_from_the_network_names_files_of_packages_alone(tmp_path, monkeypatch):
    package, other = tmp_path / 'install' / 'share' / 'some_arm', tmp_path / 'private'
    for folder in (package, other):
        folder.mkdir(parents=True)
        (folder / 'a.stl').touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'install'))
    monkeypatch.setenv('ROS_PACKAGE_PATH', '')
    monkeypatch.chdir(other)
    for uri in ('package://some_arm/a.stl', f'file://{package}/a.stl', f'{package}/a.stl'):
        assert find_mesh(uri) == package / 'a.stl'
    for uri in (f'file://{other}/a.stl', f'{other}/a.stl', 'a.stl',
                'package://some_arm/../../../private/a.stl',
                f'file://{package}/../../../private/a.stl'):
        assert find_mesh(uri, tmp_path / 'private').samefile(other / 'a.stl')
        with pytest.raises(ModelError, match='from the network is not in an installed pack'):
            find_mesh(uri)


def test_a_description_may_begin_with_a_line_end():
    text = '\n \ufeff<?xml version="1.0"?>\n' + CART
    assert RobotModel.from_urdf(text).nv == 2
    assert len(read_visuals(text)[0]) == 3
    assert len(read_visuals(b'\n' + text.replace('\ufeff', '').encode())[0]) == 3


def test_of_very_many_shapes_the_rest_is_left_out():
    pytest.importorskip('trimesh', reason='surfaces need the extra `view`')
    from robodyn_ros.view import surfaces as module
    ball = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
    urdf = CART.replace('<link name="end"/>', f'<link name="end">{ball * 4_000}</link>')
    surfaces, problems = module.arm_surfaces(RobotModel.from_urdf(urdf), read_visuals(urdf)[0])
    assert len(surfaces) < 510
    assert '3503 shapes of 4003 are left out' in problems[-1]


def test_surfaces_have_the_size_and_place_of_the_urdf():
    pytest.importorskip('trimesh', reason='surfaces need the extra `view`')
    from robodyn_ros.view.surfaces import arm_surfaces
    model = RobotModel.from_urdf(CART)
    surfaces, problems = arm_surfaces(model, read_visuals(CART)[0])
    assert [surface.body for surface in surfaces] == [0, 0, -1, 1]
    box, capsule, base, pole = (np.array([surface.vertices.min(axis=0),
                                          surface.vertices.max(axis=0)]) for surface in surfaces)
    np.testing.assert_allclose(box, [[-0.1, -0.2, 0.05], [0.1, 0.2, 0.15]], atol=1e-12)
    np.testing.assert_allclose(capsule[:, 2], [-0.07, 0.07], atol=1e-12)
    # where there is nothing, a capsule from joint to joint, or to the last link
    np.testing.assert_allclose(base.mean(axis=0), [0.0, 0.0, 0.25], atol=1e-12)
    np.testing.assert_allclose(pole.mean(axis=0), [0.0, 0.0, 0.5], atol=1e-12)
    assert len(problems) == 1
    assert 'no_such' in problems[0]


def test_meshes_are_loaded_with_scale(tmp_path):
    trimesh = pytest.importorskip('trimesh', reason='surfaces need the extra `view`')
    from robodyn_ros.view.surfaces import arm_surfaces
    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / 'pole.stl')
    urdf = CART.replace('package://no_such/', '')
    model = RobotModel.from_urdf(urdf)
    surfaces, problems = arm_surfaces(model, read_visuals(urdf)[0], tmp_path)
    assert not problems
    pole = next(surface for surface in surfaces if surface.body == 1)
    np.testing.assert_allclose(np.ptp(pole.vertices, axis=0), [2.0, 4.0, 6.0])
    (tmp_path / 'pole.stl').write_text('solid nothing')
    surfaces, problems = arm_surfaces(model, read_visuals(urdf)[0], tmp_path)
    assert len(problems) == 1 and 'pole.stl' in problems[0]
    assert 1 in {surface.body for surface in surfaces}, 'a capsule stands for it'


def test_a_material_is_not_copied_for_every_patch_of_a_mesh():
    trimesh = pytest.importorskip('trimesh', reason='surfaces need the extra `view`')
    from robodyn_ros.view.surfaces import _shaded
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    red = trimesh.visual.material.SimpleMaterial(diffuse=[255, 0, 0, 255])
    box.visual = trimesh.visual.TextureVisuals(uv=np.zeros((8, 2)), material=red)
    shaded = _shaded(box)
    assert not shaded.visual.defined
    assert len(shaded.vertices) == 24 and len(shaded.faces) == 12, 'its edges are sharp'


@pytest.mark.parametrize('step', ['smooth_shade', 'split'])
def test_an_odd_mesh_is_a_capsule_and_a_warning(tmp_path, monkeypatch, step):
    trimesh = pytest.importorskip('trimesh', reason='surfaces need the extra `view`')
    from robodyn_ros.view import surfaces as module

    def odd(*_, **__):
        raise IndexError('no such corner')

    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / 'pole.stl')
    monkeypatch.setattr(*((trimesh.graph, step) if step == 'smooth_shade' else
                          (module, '_own_color')), odd)
    urdf = CART.replace('package://no_such/', '')
    surfaces, problems = module.arm_surfaces(
        RobotModel.from_urdf(urdf), [read_visuals(urdf)[0][2]], tmp_path)
    assert len(problems) == 1 and 'no such corner' in problems[0]
    assert 1 in {surface.body for surface in surfaces}


def test_a_mesh_of_many_megabytes_is_not_read(tmp_path, monkeypatch):
    trimesh = pytest.importorskip('trimesh', reason='surfaces need the extra `view`')
    from robodyn_ros.view.surfaces import arm_surfaces
    with (tmp_path / 'pole.stl').open('wb') as file:
        file.truncate(100 * 2**20)
    read = []
    monkeypatch.setattr(trimesh, 'load_scene', read.append)
    urdf = CART.replace('package://no_such/', '')
    _, problems = arm_surfaces(RobotModel.from_urdf(urdf), [read_visuals(urdf)[0][2]], tmp_path)
    assert not read and len(problems) == 1
    assert '(100 MiB, more than 32 MiB: reduce its triangles)' in problems[0]


def test_of_too_many_triangles_the_convex_hull_is_drawn(tmp_path, monkeypatch):
    trimesh = pytest.importorskip('trimesh', reason='surfaces need the extra `view`')
    from robodyn_ros.view import surfaces as module
    parts = [trimesh.creation.box((0.1, 0.1, 0.1), trimesh.transformations.translation_matrix(
        [x, y, 0.0])) for x in (0.0, 1.0) for y in (0.0, 1.0)]
    trimesh.util.concatenate(parts).export(tmp_path / 'pole.stl')
    monkeypatch.setattr(module, '_MAX_TRIANGLES', 40)
    urdf = CART.replace('package://no_such/', '')
    surfaces, problems = module.arm_surfaces(
        RobotModel.from_urdf(urdf), [read_visuals(urdf)[0][2]], tmp_path)
    assert len(problems) == 1 and '48 triangles' in problems[0]
    pole = next(surface for surface in surfaces if surface.body == 1)
    assert len(pole.faces) < 48
    np.testing.assert_allclose(np.ptp(pole.vertices, axis=0), [2.2, 2.2, 0.2])


def test_collada_has_units(tmp_path):
    trimesh = pytest.importorskip('trimesh', reason='surfaces need the extra `view`')
    pytest.importorskip('collada', reason='surfaces need the extra `view`')
    from robodyn_ros.view.surfaces import arm_surfaces
    text = trimesh.creation.box((100.0, 200.0, 300.0)).export(file_type='dae').decode()
    assert '<unit' not in text
    (tmp_path / 'pole.dae').write_text(
        text.replace('<up_axis>', '<unit name="centimeter" meter="0.01"/><up_axis>'))
    urdf = CART.replace('package://no_such/pole.stl', 'pole.dae')
    surfaces, problems = arm_surfaces(
        RobotModel.from_urdf(urdf), [read_visuals(urdf)[0][2]], tmp_path)
    assert not problems
    pole = next(surface for surface in surfaces if surface.body == 1)
    np.testing.assert_allclose(np.ptp(pole.vertices, axis=0), [2.0, 4.0, 6.0], rtol=1e-6)


# --- text --------------------------------------------------------------------------------------

def test_bars_show_how_near_the_limits_are():
    share = np.array([0.5, -0.8, 1.5, 0.0, 0.1, 0.1, np.nan])
    rows = torque_bars(MODEL, share * MODEL.effort_limit).split('display:flex')[1:]
    assert len(rows) == MODEL.nv
    assert 'left:50.00%;width:25.00%' in rows[0] and GOOD in rows[0] and '75.0 / 150' in rows[0]
    assert 'left:10.00%;width:40.00%' in rows[1] and HIGH in rows[1]
    assert 'width:50.00%' in rows[2] and OVER in rows[2]
    assert 'width:0.00%' in rows[6] and '- / 12 N m' in rows[6]


def test_names_cannot_smuggle_in_markup():
    model = RobotModel.from_urdf(CART.replace('"swing"', '"&lt;script>"'))
    assert '<script' not in torque_bars(model, np.zeros(2))
    assert '<script' not in status(snapshot(fault='<script>'))


@pytest.mark.parametrize('changes, words', [
    ({'age': np.inf}, 'no joint states yet'), ({'age': 3.0}, 'for 3 s'),
    ({'fault': 'stale'}, 'stale'), ({'mode': 'float'}, 'float'), ({}, 'no controller'),
    ({'paused': True, 'age': 3.0}, 'paused'), ({'notes': {'law': 'impedance'}}, 'impedance')])
def test_status(changes, words):
    assert words in status(snapshot(**changes))


def test_an_aborted_motion_is_not_green():
    shown = status(snapshot(mode='hold', aborted=True, notes={'last motion': 'silent'}))
    assert 'hold: motion aborted' in shown and '#2f9e5b' not in shown and '<b>silent</b>' in shown
    assert '#2f9e5b' in status(snapshot(mode='hold', notes={'last motion': 'the goal is reached'}))


def test_a_history_forgets():
    history = History(2, 10.0)
    assert history.table().shape == (3, 1)
    for k in range(20):
        history.add(float(k), [k, -k])
    times, first, second = history.table()
    np.testing.assert_array_equal(times, np.arange(-10.0, 1.0))
    np.testing.assert_array_equal(first, np.arange(9.0, 20.0))
    np.testing.assert_array_equal(second, -first)


def test_a_throttle_keeps_its_rate_with_any_rate_of_the_caller():
    throttle = Throttle(0.1)
    assert sum(throttle.ready(0.03 * k) for k in range(1000)) == pytest.approx(300, abs=2)
    throttle = Throttle(0.1)
    rng = np.random.default_rng(1)
    assert sum(throttle.ready(0.1 * k + rng.uniform(0.0, 0.02)) for k in range(500)) > 470
    throttle = Throttle(1.0)
    assert throttle.ready(0.0) and throttle.ready(100.0)
    assert not throttle.ready(100.2), 'missed periods are not repeated'


# --- a hand ------------------------------------------------------------------------------------

def test_a_spring_pulls_its_point_with_the_torques_of_the_force():
    body, point, target = 4, np.array([0.05, -0.02, 0.1]), np.array([0.3, 0.4, 0.9])
    spring = Spring(DYNAMICS, body, point)
    push = spring.push(Q, 0.0 * Q, target)
    pose = DYNAMICS.forward_kinematics(Q, spring.link)
    force = pose[:3, :3] @ push.force
    stretch = target - spring.end(Q)
    np.testing.assert_allclose(np.cross(force, stretch), 0.0, atol=1e-9)
    assert force @ stretch > 0.0
    # virtual work: what the wrench does to the joints is what the force does at the point
    torque = DYNAMICS.jacobian(Q, spring.link).T @ np.concatenate(
        [force, pose[:3, :3] @ push.moment])
    for j, step in enumerate(1e-6 * np.eye(MODEL.nv)):
        way = (spring.end(Q + step) - spring.end(Q - step)) / 2e-6
        assert torque[j] == pytest.approx(way @ force, abs=1e-6)


def test_a_spring_is_as_stiff_as_the_arm_is_heavy_there():
    spring = Spring(DYNAMICS, 6, np.zeros(3))
    lightest = DYNAMICS.effective_mass(Q, 'link7').masses[0]
    for way, length in ((0.1, 0.1), (5.0, STRETCH)):
        push = spring.push(Q, 0.0 * Q, spring.end(Q) + [way, 0.0, 0.0])
        assert np.linalg.norm(push.force) == pytest.approx(lightest * FREQUENCY ** 2 * length)
    # at rest in the joints but moving: only the damper, against the motion
    qd = np.linspace(-1.0, 1.0, MODEL.nv)
    push = spring.push(Q, qd, spring.end(Q))
    pose = DYNAMICS.forward_kinematics(Q, 'link7')
    speed = DYNAMICS.jacobian(Q, 'link7')[:3] @ qd
    assert pose[:3, :3] @ push.force @ speed < 0.0


def test_a_spring_begins_where_it_is_taken():
    place = np.array([0.1, 0.2, 0.6])
    np.testing.assert_allclose(Spring.at(DYNAMICS, 2, place, Q).end(Q), place, atol=1e-12)


# --- motions -----------------------------------------------------------------------------------

def test_a_move_is_checked_and_keeps_the_other_joints():
    goal = Q + 0.5
    move = plan_move(DYNAMICS, Q, goal, 0.5, ['joint3', 'joint1'])
    assert move.joints == ('joint1', 'joint3')
    np.testing.assert_allclose(move.positions, goal[[0, 2]])
    # the quintic from rest to rest is fastest in the middle, 15/8 of its mean
    assert 1.875 * 0.5 / move.duration == pytest.approx(0.5 * MODEL.velocity_limit[[0, 2]].min())


def test_a_move_beyond_a_limit_is_refused():
    with pytest.raises(TrajectoryError, match='joint2'):
        plan_move(DYNAMICS, Q, Q + [0.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.5)


def test_a_move_needs_the_torque_to_make_it():
    weak = RobotModel.from_urdf(ARM.read_text().replace('effort="150"', 'effort="10"'))
    lying = np.array([0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(TrajectoryError, match='joint2.*N m'):
        plan_move(Dynamics(weak), np.zeros(7), lying, 0.3)


def test_usual_poses_are_within_the_limits():
    model = RobotModel.from_urdf(CART.replace('lower="-2"', 'lower="0.5"'))
    np.testing.assert_array_equal(default_poses(model)['zero'], [0.0, 0.5])


def test_a_load_that_the_motors_cannot_hold_is_refused():
    def needed(mass):
        return Dynamics(MODEL.with_payload('tool0', mass)).gravity(Q)

    # the first mass that some motor cannot hold, and which one it is
    per_kilogram = 1e-3 * (needed(1000.0) - needed(0.0)) + 1e-12
    most = (np.copysign(MODEL.effort_limit, per_kilogram) - needed(0.0)) / per_kilogram
    j, mass = np.argmin(most), most.min()
    assert abs(needed(mass)[j]) == pytest.approx(MODEL.effort_limit[j])
    check_payload(DYNAMICS, Q, 'tool0', 0.999 * mass)
    with pytest.raises(ArgumentError, match=f"'{MODEL.joint_names[j]}'.*N m"):
        check_payload(DYNAMICS, Q, 'tool0', 1.001 * mass)


def test_who_cannot_hold_the_arm_may_be_relieved():
    weak = RobotModel.from_urdf(ARM.read_text().replace('effort="150"', 'effort="1"'))
    check_payload(Dynamics(weak), Q, 'tool0', 0.0)


def test_the_page_of_the_demo_shows_the_robot_of_its_nodes():
    launch = pytest.importorskip('launch', reason='needs ROS 2 launch')
    pytest.importorskip('launch_ros', reason='needs ROS 2 launch')
    robot = runpy.run_path(str(ARM.parents[1] / 'launch' / 'demo.launch.py'))['robot']
    context = launch.LaunchContext()
    given = {'base': 'link1', 'tip': '', 'locked': '[joint7:0.5, joint6:-1]',
             'gravity': '[0, 0, -1.62]'}
    context.launch_configurations.update(given)
    assert robot(context) == ['--base', 'link1', '--lock', 'joint7:0.5', '--lock', 'joint6:-1',
                              '--gravity', '0', '0', '-1.62']
    context.launch_configurations.update(dict.fromkeys(given, ''))
    assert not robot(context)


# --- masses ------------------------------------------------------------------------------------

def test_the_ellipsoid_is_long_where_the_arm_is_heavy():
    found = mass_ellipsoid(DYNAMICS, Q, 'link7')
    matrix, masses, _ = DYNAMICS.effective_mass(Q, 'link7')
    np.testing.assert_allclose(found.rotation @ np.diag(masses) @ found.rotation.T, matrix,
                               rtol=1e-6)
    assert np.linalg.det(found.rotation) == pytest.approx(1.0)
    assert (found.lengths >= MIN_LENGTH).all() and (found.lengths <= MAX_LENGTH).all()
    free = (found.lengths > MIN_LENGTH) & (found.lengths < MAX_LENGTH)
    np.testing.assert_allclose(found.lengths[free],
                               (UNIT * masses / MODEL.mass.sum())[free])
    # the first link turns about its origin, which nothing can move
    assert (mass_ellipsoid(DYNAMICS, Q, 'link1').lengths == MAX_LENGTH).all()
