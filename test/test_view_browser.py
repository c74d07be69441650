"""
A person at the page: it loads, shows the arm, and the mouse moves the simulated one.

With ROBODYN_PICTURES=1 the page is larger, and docs/view.png is made of what is seen on the way.
"""
import os
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the view needs ROS 2')
pytest.importorskip('viser', reason='the page needs the extra `view`')

from controller_node import ARM, CONTROLLER, HOME, MODEL, PATIENT, SIMULATOR  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from ros_process import NodeProcess, Probe, ROOT  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from view_browser import Browser, missing, PATIENCE  # noqa: E402
from view_process import ViewProcess  # noqa: E402

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()),
              pytest.mark.realtime, pytest.mark.timeout(4 * PATIENCE)]

DYNAMICS = Dynamics(MODEL)
# a browser without a graphics processor takes most of a machine for itself
SLOW = {'step': 0.005}
PICTURE = ROOT / 'docs' / 'view.png' if os.environ.get('ROBODYN_PICTURES') else None
SIZE = {'size': (1400, 1020), 'scale': 1.0} if PICTURE else {}


class Scene:
    """Simulator, controller, view and browser."""

    def __init__(self, probe, controller, browser):
        from robodyn_ros.view.page import ANGLE, first_view
        self.probe, self.controller, self.browser = probe, controller, browser
        self._states = probe.listen(JointState, 'joint_states', qos.newest())
        self._camera = (*first_view(DYNAMICS), ANGLE)

    def state(self):
        """Return the next positions and velocities of the arm."""
        self._states.clear()
        self.probe.until(lambda: self._states, 'a joint state')
        return np.array(self._states[-1].position), np.array(self._states[-1].velocity)

    def pixel(self, link, q, height):
        """Return where the page shows a point on the axis of a link."""
        point = DYNAMICS.forward_kinematics(q, link) @ [0.0, 0.0, height, 1.0]
        return self.browser.pixel_of(point[:3], *self._camera)


@pytest.fixture(scope='module')
def scene():
    places = [f'{name}:{q}' for name, q in zip(MODEL.joint_names, HOME.tolist())]
    urdf = {'urdf_file': str(ARM)}
    with NodeProcess(SIMULATOR, {**urdf, **SLOW, 'initial_positions': places}), \
            NodeProcess(CONTROLLER, {**urdf, **PATIENT}) as controller, \
            ViewProcess('--control', '--rate', '2', '--port', '0') as view, \
            Browser(view.url, **SIZE) as browser, Probe() as probe:
        controller.wait_for_output('active')
        browser.wait_for('Reset fault')
        yield Scene(probe, controller, browser)


def colorful(picture, place, size=6):
    """Return the share of pixels around a place whose colour is no grey."""
    x, y = (int(each) for each in place)
    around = picture[y - size:y + size, x - size:x + size].astype(int)
    return float(np.mean(np.ptp(around, axis=2) > 40))


def test_the_arm_is_drawn_where_it_is(scene, tmp_path):
    q, _ = scene.state()
    deadline = time.monotonic() + PATIENCE
    while True:
        picture = scene.browser.picture(tmp_path / 'page.png')
        scale = picture.shape[1] / scene.browser.width
        shares = [colorful(picture, scale * np.array(scene.pixel(link, q, height)))
                  for link, height in (('link2', 0.1), ('link4', 0.1))]
        if min(shares) > 0.5 or time.monotonic() > deadline:
            break
    assert min(shares) > 0.5, shares
    # beside the arm there is only the floor
    x, y = scale * np.array(scene.pixel('link2', q, 0.1))
    assert colorful(picture, (x - 0.1 * picture.shape[1], y)) < 0.1


def test_a_drag_pulls_the_arm_and_stop_stops_it(scene):
    browser = scene.browser
    if PICTURE:
        browser.dismiss()
        browser.tick('show terms')
        browser.tick('centre of mass')
    browser.click('Float')
    browser.wait_for('gravity compensation')
    begin, _ = scene.state()
    scene.probe.spin_for(1.0)
    assert np.abs(scene.state()[0] - begin).max() < 0.01, 'it moves by itself'
    x, y = scene.pixel('link4', begin, 0.1)
    browser.press(x, y)
    for part in (0.3, 0.6, 1.0):
        browser.drag(x + 40.0 * part, y)
    # it comes after the mouse
    scene.probe.until(lambda: scene.pixel('link4', scene.state()[0], 0.1)[0] > x + 10.0,
                      'the link where the mouse is', PATIENCE)
    if PICTURE:
        scene.probe.spin_for(3.0)
        browser.picture(PICTURE)
        assert PICTURE.stat().st_size < 300_000
    browser.release()
    browser.click('Stop')
    browser.wait_for('hold')
    scene.probe.until(lambda: np.abs(scene.state()[1]).max() < 1e-3, 'rest', PATIENCE)
