"""Goals and payloads of who commands at the page."""
import numpy as np
import pytest

pytest.importorskip('viser', reason='the page needs the extra `view`')

from page_client import PageClient  # noqa: E402
from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.view.controls import MAX_PAYLOAD, slider_ends  # noqa: E402
from robodyn_ros.view.snapshot import CallService, Follow, SetPayload  # noqa: E402
from shown_page import notified, POSES, put, showing  # noqa: E402
from test_view import MODEL, Q  # noqa: E402


@pytest.fixture
def shown(request):
    """Return a page, with control by default."""
    with showing(getattr(request, 'param', True)) as page:
        yield page


# --- a goal ------------------------------------------------------------------------------------

LIMITS = """<robot name="wild"><link name="base"/><link name="a"><inertial><mass value="1"/>
</inertial></link><link name="b"/><link name="c"/>
<joint name="far" type="revolute"><parent link="base"/><child link="a"/>
 <limit lower="3.5" upper="6" velocity="1" effort="9"/></joint>
<joint name="wheel" type="continuous"><parent link="a"/><child link="b"/>
 <limit velocity="1" effort="9"/></joint>
<joint name="rail" type="prismatic"><parent link="b"/><child link="c"/>
 <limit lower="-5" upper="7" velocity="1" effort="9"/></joint></robot>"""


def test_sliders_go_as_far_as_their_joints():
    lower, now, upper = slider_ends(RobotModel.from_urdf(LIMITS), np.array([4.0, 10.0, -6.0]))
    np.testing.assert_allclose(lower, [3.5, 10.0 - np.pi, -5.0])
    np.testing.assert_allclose(upper, [6.0, 10.0 + np.pi, 7.0])
    assert now == [4.0, 10.0, -5.0]


def test_only_joints_that_are_touched_move(shown):
    beyond = Q + [0.0, 0.0, 0.0, 0.0, 0.0, 9.0, 0.0]  # where no slider reaches
    with PageClient(shown.url) as client:
        shown.until_controls(client)
        for _ in range(10):
            shown.show(reference=beyond)
        assert shown.goal is None
        put(client, 'joint3', 0.5)
        shown.until(lambda: shown.goal is not None, client, reference=beyond)
        expected = beyond.copy()
        expected[2] = 0.5
        np.testing.assert_array_equal(shown.goal, expected)
        client.click('Clear')
        shown.until(lambda: shown.goal is None, client)
        assert shown.page_commands.empty()


def test_a_pose_is_the_goal_exactly_and_again_and_again(shown):
    with PageClient(shown.url) as client:
        shown.until_controls(client)
        for _ in range(2):
            put(client, 'pose', 'odd')
            shown.until(lambda: shown.goal is not None, client)
            np.testing.assert_array_equal(shown.goal, POSES['odd'])
            client.click('Go')
            shown.until(lambda: not shown.page_commands.empty(), client)
            assert shown.page_commands.get().positions == tuple(POSES['odd'].tolist())
            shown.until(lambda: shown.goal is None, client)
        put(client, 'pose', 'odd')
        shown.until(lambda: shown.goal is not None, client)
        put(client, 'pose', '')
        shown.until(lambda: shown.goal is None, client)


def test_a_goal_that_makes_no_sense_is_refused(shown):
    with PageClient(shown.url) as client:
        shown.until_controls(client)
        put(client, 'joint2', float('nan'))
        put(client, 'pose', 'far')
        shown.until(lambda: shown.goal is not None, client)
        np.testing.assert_array_equal(shown.goal, POSES['far'])
        client.click('Go')
        shown.until(lambda: notified(client, 'joint1'), client)
        put(client, 'pose', 'odd')
        shown.until(lambda: shown.goal is POSES['odd'] and shown.page._controls._snapshot.fault,
                    client, fault='stale')
        client.click('Go')
        shown.until(
            lambda: notified(client, 'Reset the fault first: stale'), client, fault='stale')
        assert shown.page_commands.empty()


# --- a payload ---------------------------------------------------------------------------------

def test_a_payload_is_bounded_and_its_slider_goes_on_where_it_was(shown):
    def kilograms(client):
        return [each['value'] for each in client.of_type('GuiSliderMessage')
                if each['props']['label'] == 'kg'][-1]

    with PageClient(shown.url) as first, PageClient(shown.url) as second:
        first, second = shown.until_controls(first, second)
        for typed, mass in ((1e9, MAX_PAYLOAD), (float('nan'), 0.0), (-3.0, 0.0), (1.5, 1.5)):
            put(first, 'kg', typed)
            shown.until(lambda: not shown.page_commands.empty(), first, second)
            assert shown.page_commands.get() == SetPayload('tool0', mass, True)
        first.socket.close()
        shown.until_controls(second)
        assert kilograms(second) == 1.5


def test_a_payload_that_the_motors_cannot_hold_is_refused(shown, monkeypatch):
    monkeypatch.setattr('robodyn_ros.view.controls.MAX_PAYLOAD', 1e4)
    with PageClient(shown.url) as client:
        shown.until_controls(client)
        put(client, 'kg', 1e4)
        shown.until(lambda: notified(client, 'to hold 10000 kg here'), client)
        assert shown.page_commands.empty()


def test_only_a_simulated_arm_is_given_a_payload(shown):
    with PageClient(shown.url) as client:
        shown.until_controls(client, simulated=False)
        folder = shown.page._controls._payload_folder
        assert not folder.visible
        shown.until(lambda: folder.visible, client)
        shown.until(lambda: not folder.visible, client, simulated=False)


def test_motions_are_paused_and_resumed(shown):
    with PageClient(shown.url) as client:
        shown.until_controls(client)
        for label, service in (('Pause motion', 'pause'), ('Resume motion', 'resume')):
            client.click(label)
            shown.until(lambda: not shown.page_commands.empty(), client)
            assert shown.page_commands.get() == CallService(service)


# --- teaching ----------------------------------------------------------------------------------

def test_a_recorded_motion_is_replayed_from_the_present_position(shown):
    def ordered(client):
        shown.until(lambda: not shown.page_commands.empty(), client, q=end)
        return shown.page_commands.get()

    end = Q + 0.2
    with PageClient(shown.url) as client:
        shown.until_controls(client)
        client.click('Replay')
        shown.until(lambda: notified(client, 'Record a motion first'), client)
        client.click('Record by hand')
        shown.until(lambda: not shown.page_commands.empty(), client)
        assert shown.page_commands.get() == CallService('float')
        for part in np.linspace(0.0, 1.0, 60):
            shown.show(q=Q + 0.2 * part)
        client.click('End recording')
        assert ordered(client) == CallService('hold')
        client.click('Replay')
        motion = ordered(client)
        assert isinstance(motion, Follow) and motion.joints == MODEL.joint_names
        np.testing.assert_allclose(motion.positions[0], Q, atol=1e-6)
        np.testing.assert_allclose(motion.positions[-1], end, atol=1e-6)
        assert 1.9 < motion.times[-1] - motion.times[0] < 4.0
        # to the start at a tenth of the velocity limits
        assert motion.times[0] > 0.2 / (0.1 * MODEL.velocity_limit.min())
        assert not motion.velocities[[0, -1]].any()


def test_an_arm_is_not_left_floating_when_its_page_is_closed(shown):
    with PageClient(shown.url) as first, PageClient(shown.url) as second:
        first, second = shown.until_controls(first, second)
        first.click('Record by hand')
        shown.until(lambda: not shown.page_commands.empty(), first, second)
        assert shown.page_commands.get() == CallService('float')
        first.socket.close()
        shown.until(lambda: not shown.page_commands.empty(), second)
        assert shown.page_commands.get() == CallService('hold')
