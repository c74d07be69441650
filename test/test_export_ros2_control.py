"""
The exported controller of ros2_control, called as by controller_manager, alone and with an owner.

Where CMake finds the packages of ros2_control, the plugin itself is built, too.
"""

import os
from pathlib import Path
import re
import shutil
import subprocess
from threading import Thread
import time
from types import SimpleNamespace
import uuid
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from robodyn_ros.cli.main import main
from robodyn_ros.control import ArmController, Mode, with_slots
from robodyn_ros.control.arm.loop_measurement import CAUTION
from robodyn_ros.control.arm.loop_response import SOFT
from robodyn_ros.control.arm.messages import Messages
from robodyn_ros.control.shared_block import HEAD, SEGMENT_ROWS, SharedLayout, WORDS
from robodyn_ros.control.steps import laws, modes
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.export import Export
from robodyn_ros.export.ros2_control_package import fault_texts
from robodyn_ros.model import RobotModel
from robodyn_ros.safety import events
from robodyn_ros.trajectory import TrajectoryPoint
from shared_host import build, ControllerProcess, missing

URDF = Path(__file__).resolve().parents[1] / 'urdf'
SMALL = URDF / 'reference' / 'two_link_payload.urdf'
START = np.array([0.4, -0.7])


def export_of(**values):
    return Export(RobotModel.from_urdf(SMALL), ('cycle',), laws.NAMES, **values)


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    if missing():
        pytest.skip(f'there is no compiler {missing()}')
    return build(export_of(), tmp_path_factory.mktemp('host'))


@pytest.fixture
def block():
    return f'/robodyn_test_{uuid.uuid4().hex[:12]}'


@pytest.fixture
def arm(program, block):
    process = ControllerProcess(program, block, RobotModel.from_urdf(SMALL), START)
    process.activate()
    yield process
    process.close()


class Owner:
    """An owner of the controller, without ROS around it."""

    def __init__(self, arm, block, model=None, patience=1e9):
        shared_loop = pytest.importorskip('robodyn_ros.nodes.native.shared_loop')
        model = model or RobotModel.from_urdf(SMALL)
        self.arm = arm
        self.controller = ArmController(Dynamics(with_slots(model)), simulated=True)
        self.loop = shared_loop.SharedLoop(self.controller.host, model.joint_names, block,
                                           patience)

    def take_over(self):
        self.loop.attach()
        row, q, qd, torque = self.loop.state()
        self.controller.activate(1e-9 * row.stamp, q, qd, row.arrival)
        self.controller.requests.start_from(torque)
        self.during(self.loop.hand_over)

    def during(self, act, *arguments):
        """Call something that waits for the controller; return its result."""
        found = []
        thread = Thread(target=lambda: found.append(act(*arguments)))
        thread.start()
        while thread.is_alive():
            self.arm.update()
        return found[0]

    def follow(self, goal, duration):
        points = [TrajectoryPoint(goal, np.zeros_like(goal), time_from_start=duration)]
        start = self.controller.motions.start_state()
        trajectory = self.controller.motions.plan(start, self.controller.model.joint_names, points)
        self.run(1)  # to the cycle the first plan, which compiles, is a pause of its process
        assert self.during(self.controller.motions.begin, start, trajectory)

    def run(self, updates):
        for _ in range(updates):
            self.arm.update()
        self.loop.data.refresh()


@pytest.fixture
def owner(arm, block):
    for _ in range(50):
        arm.update()
    made = Owner(arm, block)
    made.take_over()
    yield made
    made.loop.close()


# --- the package ----------------------------------------------------------------------------


def test_the_same_input_gives_the_same_package(tmp_path):
    first, second = (export_of().ros2_control_files() for _ in range(2))
    assert first == second
    assert main(['export', str(SMALL), str(tmp_path), '--ros2-control']) == 0
    written = {str(path.relative_to(tmp_path)): path.read_text()
               for path in tmp_path.rglob('*') if path.is_file()}
    assert written == first


def test_names_of_the_package_fit():
    files = export_of().ros2_control_files()
    name = ElementTree.fromstring(files['package.xml']).findtext('name')
    library = ElementTree.fromstring(files['plugin.xml'])
    assert library.get('path') == name and f'project({name} ' in files['CMakeLists.txt']
    kind = library.find('class').get('type')
    assert library.find('class').get('name') == kind.replace('::', '/')
    assert f'{kind}, ' in files['src/controller.cpp']
    assert f'type: {name}/Controller' in files['config/controllers.yaml']
    launch = files['launch/controller.launch.py']
    compile(launch, 'controller.launch.py', 'exec')
    assert f"['joint_state_broadcaster', '{name}']" in launch
    assert all('@' not in re.sub(r'\S+@todo', '', text) for text in files.values())
    sources = re.findall(r'src/\w+\.c\b', files['CMakeLists.txt'])
    assert sorted(sources) == sorted(each for each in files if each.endswith('.c'))


def test_parts_of_the_block_do_not_overlap():
    layout = SharedLayout.of(export_of().cycle.compiled, ['a', 'b'])
    begins = [8 * len(WORDS), layout.programs, layout.handover, layout.segments, layout.ring,
              layout.total]
    assert begins == sorted(begins) and all(each % 8 == 0 for each in begins)
    assert layout.handover - layout.programs >= 3 * 8 * layout.sizes['program']
    assert layout.segments - layout.handover >= 8 * layout.sizes['memory']
    assert layout.ring - layout.segments >= 3 * 8 * SEGMENT_ROWS * layout.segment
    assert list(layout.head()) == list(HEAD)


def test_a_package_without_the_cycle_is_refused():
    with pytest.raises(ParameterError, match='function cycle'):
        Export(RobotModel.from_urdf(SMALL), ('gravity',)).ros2_control_files()


def test_the_plugin_is_built_where_ros2_control_is(tmp_path):
    if shutil.which('cmake') is None:
        pytest.skip('there is no cmake')
    (tmp_path / 'CMakeLists.txt').write_text(
        'cmake_minimum_required(VERSION 3.16)\nproject(find CXX)\n'
        'find_package(controller_interface REQUIRED)\n')
    found = subprocess.run(['cmake', '-S', tmp_path, '-B', tmp_path / 'find'],
                           capture_output=True, text=True)
    if found.returncode:
        pytest.skip('CMake finds no ros2_control: the plugin was not built')
    folder = tmp_path / 'package'
    for name, text in export_of().ros2_control_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for command in (['cmake', '-S', folder, '-B', tmp_path / 'build', '-DCMAKE_CXX_FLAGS=-Werror'],
                    ['cmake', '--build', tmp_path / 'build']):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]


# --- alone ----------------------------------------------------------------------------------


def test_alone_it_holds_the_arm(arm):
    assert all(arm.update() for _ in range(1000))
    assert arm.mode == modes.HOLD and arm.fault == 0.0
    assert np.abs(arm.q - START).max() < 1e-3


def test_a_driver_that_adds_the_gravity_torque_gets_none(program, block):
    process = ControllerProcess(program, block, RobotModel.from_urdf(SMALL), START, carried=True)
    process.activate()
    for _ in range(300):
        process.update()
    assert np.abs(process.q - START).max() < 1e-6 and np.abs(process.torque).max() < 1e-6
    process.ask('e')
    assert np.abs(process.torque).max() < 1e-6
    process.close()


def test_it_takes_the_arm_over_with_the_first_finite_state(arm):
    assert not arm.update([np.nan, 0.0]) and not arm.update([0.4, np.inf])
    assert arm.update()
    gravity = Dynamics(RobotModel.from_urdf(SMALL)).gravity(START)
    assert np.abs(arm.torque - gravity).max() < 0.05 * np.abs(gravity).max()


def test_states_that_are_not_finite_are_bridged(arm):
    for _ in range(100):
        arm.update()
    for _ in range(3):
        assert arm.update([np.nan, 0.0])
        assert np.isfinite(arm.torque).all() and arm.fault == 0.0
    for _ in range(500):
        arm.update()
    assert arm.mode == modes.HOLD and np.abs(arm.q - START).max() < 2e-3


def test_the_last_torque_carries_the_arm(arm):
    for _ in range(300):
        arm.update()
    arm.show()
    assert arm.ask('e')
    gravity = Dynamics(RobotModel.from_urdf(SMALL)).gravity(arm.q)
    np.testing.assert_allclose(arm.torque, gravity, rtol=1e-9)
    before = arm.torque
    arm.activate()
    arm.show([np.nan, 0.0])
    assert not arm.ask('e')  # never took the arm over, so there is nothing to write
    np.testing.assert_array_equal(arm.torque, before)


def test_the_last_torque_is_kept_if_the_state_is_not_finite(arm):
    for _ in range(100):
        arm.update()
    before = arm.torque
    arm.show([np.nan, 0.0])
    assert arm.ask('e') and np.abs(before).max() > 0.0
    np.testing.assert_array_equal(arm.torque, before)


def test_a_block_has_one_controller(arm, program, block):
    arm.update()
    second = subprocess.run([program, block], capture_output=True, text=True)
    assert second.returncode == 1 and 'another controller uses it' in second.stderr


def test_a_block_of_a_killed_controller_is_made_anew(program, block):
    model = RobotModel.from_urdf(SMALL)
    first = ControllerProcess(program, block, model, START)
    first.activate()
    first.update()
    first.process.kill()
    first.close()
    second = ControllerProcess(program, block, model, START)
    second.activate()
    assert second.update() and second.mode != modes.INACTIVE
    second.close()


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root, to make a file of another user')
def test_a_block_that_another_user_has_made_is_not_adopted(program, block):
    file = Path('/dev/shm') / block[1:]
    file.write_bytes(bytes(8))
    file.chmod(0o666)
    os.chown(file, 1234, 1234)
    try:
        refused = subprocess.run([program, block], capture_output=True, text=True)
        assert refused.returncode == 1 and 'belongs to user 1234' in refused.stderr
        assert file.stat().st_uid == 1234
    finally:
        file.unlink()


def test_a_block_is_of_its_user_alone_and_no_file_of_before(program, block):
    file = Path('/dev/shm') / block[1:]
    file.write_bytes(bytes(8))
    file.chmod(0o666)
    with open(file, 'rb') as open_before:
        arm = ControllerProcess(program, block, RobotModel.from_urdf(SMALL), START)
        arm.activate()
        found = file.stat()
        assert found.st_mode & 0o777 == 0o600
        assert found.st_ino != os.fstat(open_before.fileno()).st_ino
        arm.close()
    assert not file.exists()


def test_a_link_in_place_of_a_block_is_not_followed(program, block, tmp_path):
    target, link = tmp_path / 'target', Path('/dev/shm') / block[1:]
    target.write_bytes(b'of somebody')
    link.symlink_to(target)
    try:
        refused = subprocess.run([program, block], capture_output=True, text=True)
        assert refused.returncode == 1 and 'cannot be opened' in refused.stderr
        assert target.read_bytes() == b'of somebody'
    finally:
        link.unlink()


@pytest.mark.parametrize('name', ['robodyn', '/', '/../robodyn', '/a/b', '/.hidden', '/a b'])
def test_a_block_has_a_name_without_folders(program, name):
    refused = subprocess.run([program, name], capture_output=True, text=True)
    assert refused.returncode == 1 and 'the parameter `block` must be' in refused.stderr


_PRINT_FAULT = """\
#include <cstdio>
#include <cstdlib>
#include "fault_text.hpp"

int main(int, char ** a)
{
  using namespace two_link_payload_controller;
  const Fault fault{atoi(a[1]), atoi(a[2]), atof(a[3]), atof(a[4]), atof(a[5])};
  puts(text_of(fault, {"shoulder", "elbow"}).c_str());
}
"""


def test_a_fault_has_the_text_of_the_node(program, tmp_path):
    main_file = tmp_path / 'main.cpp'
    main_file.write_text(_PRINT_FAULT)
    folder = program.parent
    subprocess.run(['c++', '-std=c++17', f'-I{folder}', main_file, folder / 'fault_text.o', '-o',
                    tmp_path / 'print'], check=True)

    def printed(*event):
        return subprocess.run([tmp_path / 'print', *map(str, event)], capture_output=True,
                              text=True, check=True).stdout.strip()

    messages = Messages(RobotModel.from_urdf(SMALL), 'tip')
    for event in ((events.OVERSPEED, 1, -4.48, 2.6, 0.0),
                  (events.JUMPED, 0, 0.5, 0.002, 0.125),
                  (modes.COLLIDED, 1, 12.5, 10.0, 0.0),
                  (events.FROZEN, 0, 1.5, 0.0, 0.125)):
        expected = messages.text(SimpleNamespace(**dict(zip(
            ('code', 'joint', 'value', 'bound', 'time'), event))))
        words = expected.replace("'joint1'", "'shoulder'").replace("'joint2'", "'elbow'")
        assert printed(int(event[0]), *event[1:]) == words.replace('1.500000', '1.5')
    assert 'code 1003' in printed(1003, 0, 0.0, 0.0, 0.0)
    assert '{' not in ''.join(printed(code, -1, 0.0, 0.0, 0.0) for code in fault_texts())


# --- behind another controller --------------------------------------------------------------


def test_references_from_upstream_are_tracked(arm):
    for _ in range(50):
        arm.update()
    assert arm.ask('c')
    largest = 0.0
    for k in range(2000):
        t = 1e-3 * k
        reference = START + 0.2 * (1.0 - np.cos(2.0 * t))
        assert arm.follow(reference, np.full(2, 0.4 * np.sin(2.0 * t)),
                          np.full(2, 0.8 * np.cos(2.0 * t))) == -1
        arm.update()
        largest = max(largest, np.abs(arm.q - reference).max())
    assert arm.mode == modes.TRACK and largest < 2e-3
    nothing = np.full(2, np.nan)
    for _ in range(1500):
        arm.follow(nothing, nothing, nothing)
        arm.update()
    assert arm.mode == modes.HOLD and np.abs(arm.qd).max() < 1e-3


def test_drives_with_gains_get_the_torque_of_the_cycle(arm):
    gains = [np.array([40.0, 20.0]), np.array([4.0, 2.0])]
    for _ in range(50):
        arm.update()
    assert arm.ask('c')
    for k in range(400):
        t = 1e-3 * k
        to, speed = START + 0.2 * (1.0 - np.cos(2.0 * t)), np.full(2, 0.4 * np.sin(2.0 * t))
        arm.follow(to, speed, np.full(2, 0.8 * np.cos(2.0 * t)))
        state = arm.q.copy(), arm.qd.copy()
        arm.update()
        effort, q, qd, kp, kd = arm.drive(*gains)
        np.testing.assert_array_equal([kp, kd], gains)
        np.testing.assert_allclose(kp * (to - state[0]) + kd * (speed - state[1]) + effort,
                                   arm.torque, atol=1e-9)
        if k > 10:  # half an update later
            np.testing.assert_allclose(q - to, 5e-4 * speed, rtol=0.02, atol=1e-9)
        # a damping that the drive always has, and a stiffness that is not known
        effort, q, qd, kp, _ = arm.drive(*gains, commanded=False)
        np.testing.assert_array_equal([q, qd, kp], [state[0], *np.zeros((2, 2))])
        np.testing.assert_allclose(effort - gains[1] * state[1], arm.torque, atol=1e-12)
    assert arm.mode == modes.TRACK and np.abs(arm.qd).min() > 0.1
    arm.show()
    assert arm.ask('e')  # the drives hold the arm, and stop it
    expected = [Dynamics(RobotModel.from_urdf(SMALL)).gravity(arm.q), arm.q, np.zeros(2), *gains]
    np.testing.assert_allclose(arm.drive(*gains), expected, rtol=1e-9)


def test_drives_without_a_reference_have_no_gains(owner):
    gains = [np.array([40.0, 20.0]), np.array([4.0, 2.0])]
    owner.during(owner.controller.requests.compensate_gravity)
    owner.run(10)
    effort, _, _, *without = owner.arm.drive(*gains)
    np.testing.assert_array_equal(without, np.zeros((2, 2)))
    np.testing.assert_array_equal(effort, owner.arm.torque)
    owner.arm.show()
    assert owner.arm.ask('e')  # the last command, by which the drives hold the arm
    effort, q, _, *gained = owner.arm.drive(*gains)
    np.testing.assert_array_equal(gained, gains)
    np.testing.assert_array_equal([effort, q], [owner.arm.torque, owner.arm.q])


@pytest.mark.parametrize('release', [None, 0.2])
def test_drives_hold_after_the_shutdown_of_an_owner_unless_it_has_faded_out_its_torque(
        owner, release):
    gains, arm = [np.array([40.0, 20.0]), np.array([4.0, 2.0])], owner.arm
    owner.during(owner.controller.requests.shut_down, 'ends', release)
    for _ in range(3000):
        owner.run(1)
        if owner.controller.status.shutdown_over:
            break
    assert arm.mode == modes.CARRY
    owner.loop.close()  # the node has left
    assert not arm.ask('q') and arm.ask('e')
    effort, q, qd, *gained = arm.drive(*gains)
    np.testing.assert_array_equal(gained, gains if release is None else np.zeros((2, 2)))
    np.testing.assert_array_equal(effort, arm.torque)
    assert not qd.any() and arm.torque.any() == (release is None)


def test_the_soft_hold_of_an_owner_that_has_left_ends_behind_another_controller(owner):
    arm, dynamics = owner.arm, Dynamics(RobotModel.from_urdf(SMALL))
    owner.controller.host.program.probe.softness[:] = CAUTION, SOFT  # not measured; unexplained
    owner.during(owner.controller.host.apply)

    def squared_frequencies():
        """Return what a displacement adds to the acceleration, by its size, 1/s^2."""
        for _ in range(1000):
            arm.update()
        q, torque = arm.q.copy(), arm.torque
        moved = q + 1e-3
        arm.update(moved)
        change = arm.torque - torque - dynamics.gravity(moved) + dynamics.gravity(q)
        return np.linalg.solve(dynamics.mass_matrix(moved), change) / -1e-3

    before = squared_frequencies()
    owner.loop.block.set_number('alive', 0.0)
    owner.loop.block.set_number('patience', 0.5)
    arm.update()
    assert arm.ask('c')
    np.testing.assert_allclose(squared_frequencies() / before, [(1.0 - CAUTION)**-2, 1.0],
                               rtol=0.05)


def test_a_reference_far_away_is_refused(arm):
    for _ in range(50):
        arm.update()
    assert arm.ask('c')
    zero = np.zeros(2)
    assert arm.follow(START, zero, zero) == -1
    arm.update()
    assert arm.follow(START + [0.0, 0.3], zero, zero) == 1
    for _ in range(500):
        arm.update()
    assert arm.mode == modes.HOLD and np.abs(arm.q - START).max() < 2e-3


@pytest.mark.parametrize('commands', ['d', 'eda'], ids=['alone', 'with controller_manager'])
def test_upstream_that_leaves_stops_the_arm(arm, commands):
    # controller_manager deactivates and activates a controller whose chained mode changes
    for _ in range(50):
        arm.update()
    arm.ask('c')
    for k in range(400):
        arm.follow(START + 0.3 * 1e-3 * k, np.full(2, 0.3), np.zeros(2))
        arm.update()
    assert arm.mode == modes.TRACK and arm.qd.min() > 0.25
    before = arm.q
    arm.show()
    for command in commands:
        arm.ask(command)
    for _ in range(1500):
        arm.update()
    assert arm.mode == modes.HOLD and arm.fault == 0.0 and np.abs(arm.qd).max() < 1e-3
    assert np.abs(arm.q - before).max() < 0.1


# --- with an owner --------------------------------------------------------------------------


def test_the_owner_takes_the_arm_over_without_a_jump(arm, block):
    for _ in range(500):
        arm.update()
    before = arm.torque
    owner = Owner(arm, block)
    owner.take_over()
    assert np.abs(arm.torque - before).max() < 0.05 * np.abs(before).max()
    owner.run(500)
    assert owner.controller.mode is Mode.HOLD and np.abs(arm.q - START).max() < 2e-3
    owner.loop.close()


def test_the_owner_moves_the_arm(owner):
    goal = START + [0.3, 0.2]
    owner.follow(goal, 1.0)
    largest = 0.0
    for _ in range(1500):
        owner.run(1)
        largest = max(largest, np.abs(owner.arm.q - owner.controller.reference.q).max())
    assert owner.controller.mode is Mode.HOLD and not owner.controller.fault
    assert np.abs(owner.arm.q - goal).max() < 1e-3 and largest < 5e-3
    rows = owner.loop.data.rows()
    assert len(rows) == len({row.stamp for row in rows}) > 500


def test_requests_of_the_owner_are_handled(owner):
    owner.during(owner.controller.requests.compensate_gravity)
    assert owner.controller.mode is Mode.FLOAT and owner.arm.mode == modes.FLOAT
    owner.during(owner.controller.requests.fail, 'broken')
    owner.run(10)
    assert owner.controller.fault == 'broken' and owner.arm.fault != 0.0
    owner.during(owner.controller.reset_fault)
    owner.during(owner.controller.requests.hold)
    owner.run(500)
    assert not owner.controller.fault and owner.controller.mode is Mode.HOLD


def test_a_motion_ends_if_the_owner_falls_silent(owner):
    owner.follow(START + [0.5, 0.5], 2.0)
    owner.run(500)
    assert owner.controller.mode is Mode.TRACK
    owner.loop.block.set_number('patience', 0.5)
    owner.loop.block.set_number('alive', 0.0)  # long ago
    owner.run(1500)
    assert owner.controller.mode is Mode.HOLD and np.abs(owner.arm.qd).max() < 1e-3
    assert np.abs(owner.arm.q - START).max() < 0.45


def test_another_owner_follows_the_last_one(owner, block):
    owner.during(owner.controller.requests.fail, 'of the last owner')
    other = Owner(owner.arm, block)
    with pytest.raises(StateError, match='another node owns'):
        other.loop.attach()
    owner.loop.close()
    other.take_over()
    other.run(100)
    assert not other.controller.fault and other.controller.mode in (Mode.STOP, Mode.HOLD)
    other.loop.close()


def stopped(arm):
    """Deactivate in motion, as outside of the real-time thread; return the number of updates."""
    for k in range(2000):
        arm.show()
        if not arm.ask('q'):
            assert arm.ask('e')
            return k
        arm.update()
    raise AssertionError('the arm is not brought to rest')


def test_a_deactivation_brings_the_arm_to_rest_before(owner):
    arm = owner.arm
    owner.follow(START + [0.5, 0.5], 1.0)
    owner.run(500)
    assert np.abs(arm.qd).min() > 0.5 and np.abs(arm.qd).max() < 1.2
    before = arm.q.copy()
    assert 10 < stopped(arm) < 1000
    assert np.abs(arm.qd).max() < 0.02 and np.abs(arm.q - before).max() < 0.2
    gravity = Dynamics(RobotModel.from_urdf(SMALL)).gravity(arm.q)
    np.testing.assert_allclose(arm.torque, gravity, rtol=1e-9)
    assert not owner.loop.owned and 'not activated' in owner.loop.problem
    arm.activate()
    assert arm.update() and arm.mode in (modes.STOP, modes.HOLD)


def test_a_deactivation_without_states_ends_when_the_model_is_at_rest(owner):
    # as where one of two threads of the executor switches, and the other waits for it
    arm = owner.arm
    owner.follow(START + [0.5, 0.5], 1.0)
    owner.run(500)
    last = np.concatenate([arm.q, arm.qd, np.full(2, np.nan)]).tobytes()
    arm.show = lambda q=None: arm.ask('s', last)
    update = arm.update
    arm.update = lambda: (time.sleep(1e-3), update())  # without states time is that of the machine
    begin = time.monotonic()
    assert stopped(arm) > 0
    assert 0.05 < time.monotonic() - begin < 1.9  # and not after the 2 s in which it gives up


def test_a_deactivation_waits_for_the_update_under_way(arm):
    for _ in range(30):
        arm.activate()
        arm.show()
        assert arm.ask('t') == 0.0, 'updates after the thread of the deactivation has taken over'


def test_a_deactivation_at_rest_needs_no_updates(owner):
    owner.run(100)
    assert stopped(owner.arm) == 0


def test_an_activation_anew_ends_the_ownership(owner):
    owner.follow(START + [0.5, 0.5], 2.0)
    owner.run(300)
    owner.arm.show()
    owner.arm.ask('e')
    assert not owner.loop.owned and 'not activated' in owner.loop.problem
    owner.arm.activate()
    for _ in range(1000):
        owner.arm.update()
    assert owner.arm.mode == modes.HOLD and not owner.loop.owned and not owner.loop.problem
    owner.loop.release()
    owner.take_over()
    assert owner.loop.owned


def test_with_an_owner_no_references_are_taken_from_upstream(owner):
    assert not owner.arm.ask('c')
    owner.loop.block.set_number('alive', 0.0)
    owner.loop.block.set_number('patience', 0.5)
    owner.arm.update()
    assert owner.arm.ask('c') and 'another controller' in owner.loop.problem


def test_too_many_segments_are_refused(owner):
    controller = owner.controller
    controller.host.most_segments = 3
    now = float(controller.host.memory.last_time)
    points = [TrajectoryPoint(START + 0.01 * k, time_from_start=0.2 * (k + 1)) for k in range(8)]
    with pytest.raises(StateError, match='room for 3'):
        controller.follow(now, controller.model.joint_names, points)
    controller.host.most_segments = SEGMENT_ROWS
    owner.follow(START + 0.1, 0.5)
    owner.run(1000)
    assert controller.mode is Mode.HOLD and np.abs(owner.arm.q - START - 0.1).max() < 1e-3


def test_another_arm_is_refused(arm, block, tmp_path):
    arm.update()
    other = tmp_path / 'other.urdf'
    text = SMALL.read_text()
    mass = re.search(r'<mass value="([^"]+)"', text)
    other.write_text(text.replace(mass[0], f'<mass value="{2.0 * float(mass[1])}"', 1))
    with pytest.raises(StateError, match='for another arm'):
        Owner(arm, block, RobotModel.from_urdf(other)).loop.attach()


def test_without_a_controller_the_remedy_is_named(block):
    shared_loop = pytest.importorskip('robodyn_ros.nodes.native.shared_loop')
    controller = ArmController(Dynamics(RobotModel.from_urdf(SMALL)))
    loop = shared_loop.SharedLoop(controller.host, controller.model.joint_names, block, 0.5)
    with pytest.raises(StateError, match='activate the exported controller'):
        loop.attach()
