"""The programs that the pages show, beside running nodes."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the programs are nodes and clients of nodes')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, HOME, logged, MODEL, PATIENT, RELEASED, simulator, Wire)
from ros_process import NodeProcess, ROOT  # noqa: E402


def program(page, words, folder):
    """Start the program of a page that contains these words; its text is written to a file."""
    shown = re.findall(r'^```python\n(.*?)^```', (ROOT / 'docs' / page).read_text(
        encoding='utf-8'), re.DOTALL | re.MULTILINE)
    text, = (each for each in shown if words in each)
    (folder / 'program.py').write_text(text)
    return subprocess.Popen(
        [sys.executable, 'program.py'], cwd=folder, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={
            **os.environ, 'PYTHONPATH': os.pathsep.join(
                [str(ROOT), os.environ.get('PYTHONPATH', '')])})


@pytest.fixture
def controller():
    """Return the running controller of a simulated arm at home."""
    with simulator() as plant, NodeProcess(CONTROLLER, {
            'urdf_file': str(ARM), 'stream.timeout': 1.0, **PATIENT}) as process:
        process.wait_for_output(ACTIVE)
        plant.wait_for_output(RELEASED)
        yield process


def test_the_node_of_the_page_swings_the_first_joint(probe, controller, tmp_path):
    arm = Wire(probe)
    swing = program('motions.md', "'swing'", tmp_path)
    try:
        probe.until(lambda: logged(controller, 'stream of targets from /swing'), 'the stream')
        probe.until(lambda: (arm.catch_up() or arm.q[0]) > HOME[0] + 0.35, 'the swing')
        np.testing.assert_allclose(arm.q[1:], HOME[1:], atol=0.05)
    finally:
        swing.kill()
        swing.communicate(timeout=10.0)


def test_the_client_of_the_page_moves_floats_and_holds(controller, tmp_path):
    client = program('motions.md', 'input(', tmp_path)
    said, _ = client.communicate('\n', timeout=120.0)
    assert client.returncode == 0 and 'Enter: hold' in said, said
    assert all(name in said for name in MODEL.joint_names)
    assert not logged(controller, 'fault:')


def test_the_arm_of_mujoco_of_the_page_is_held(probe, tmp_path):
    pytest.importorskip('mujoco', reason='the program of the page needs mujoco')
    pytest.importorskip('cmeel', reason='the URDF is of example-robot-data')
    from mujoco_arm import urdf_text
    (tmp_path / 'xarm7.urdf').write_text(urdf_text('xarm7'))
    start = np.array([0.2, -0.3, 0.1, 0.9, 0.2, 0.8, 0.1])
    truth = program('simulator.md', 'mujoco_arm', tmp_path)
    try:
        arm = Wire(probe)
        with NodeProcess(CONTROLLER, {
                'urdf_file': str(tmp_path / 'xarm7.urdf'), **PATIENT}) as controller:
            controller.wait_for_output(ACTIVE)
            probe.until(lambda: len(arm.commands) > 100, 'torques')
            probe.spin_for(2.0)
            arm.catch_up()
            np.testing.assert_allclose(arm.q, start, atol=0.05)
            assert not logged(controller, 'fault:')
    finally:
        truth.kill()
        said, _ = truth.communicate(timeout=10.0)
    assert not said, said
