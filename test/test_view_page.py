"""The page with clients that are no browsers; without ROS."""
import numpy as np
import pytest

pytest.importorskip('viser', reason='the page needs the extra `view`')

from page_client import PageClient  # noqa: E402
from robodyn_ros.view.snapshot import CallService, Wrench  # noqa: E402
from shown_page import DYNAMICS, LINK4, places, showing  # noqa: E402
from test_view import Q  # noqa: E402


@pytest.fixture
def shown(request):
    """Return a page, with control by default."""
    with showing(getattr(request, 'param', True)) as page:
        yield page


def test_a_client_sees_the_arm_where_it_is(shown):
    with PageClient(shown.url) as client:
        for q in (Q, -Q):
            pose = DYNAMICS.forward_kinematics(q, 'link5')
            shown.until(lambda pose=pose: places(client, '/arm/link5') and np.allclose(
                places(client, '/arm/link5')[-1], pose[:3, 3]), client, q=q)


def test_the_reference_is_a_ghost_only_where_it_is_elsewhere(shown):
    def visible():
        visibilities = [each['visible'] for each in client.of_type('SetSceneNodeVisibilityMessage')
                        if each['name'] == '/reference']
        return bool(visibilities) and visibilities[-1]

    with PageClient(shown.url) as client:
        shown.until(visible, client, reference=Q + 0.1)
        pose = DYNAMICS.forward_kinematics(Q + 0.1, 'link7')
        assert np.allclose(places(client, '/reference/link7')[-1], pose[:3, 3])
        shown.until(lambda: not visible(), client, reference=Q + 0.001)


def test_the_first_client_commands_until_it_disconnects(shown):
    with PageClient(shown.url) as second:
        with PageClient(shown.url) as first:
            shown.until(lambda: 'Hold' in first.buttons() or 'Hold' in second.buttons(),
                        first, second)
            for _ in range(20):
                shown.show()
                first.read()
                second.read()
            commanding, watching = (first, second) if first.buttons() else (second, first)
            assert not watching.buttons()
            commanding.click('Float')
            shown.until(lambda: not shown.page_commands.empty(), first, second)
            assert shown.page_commands.get() == CallService('float')
            commanding.socket.close()
            shown.until(lambda: 'Hold' in watching.buttons(), watching)


@pytest.mark.parametrize('shown', [False], indirect=True)
def test_without_control_there_is_nothing_to_command_with(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: places(client, '/arm/link5'), client)
        for _ in range(20):
            shown.show()
            client.read()
        assert not client.buttons()
        assert not client.draggable()
        client.drag('start', LINK4, (0.0, 0.0, 0.5), (0.5, 0.0, 0.5))
        for _ in range(20):
            shown.show()
            client.read()
        assert shown.page_commands.empty()


def test_a_drag_pulls_the_link_until_it_is_let_go(shown):
    with PageClient(shown.url) as client, PageClient(shown.url) as other:
        shown.until(lambda: client.buttons() and LINK4 in client.draggable(), client, other)
        begin = DYNAMICS.forward_kinematics(Q, 'link4')[:3, 3]
        end = begin + [0.2, 0.0, 0.0]
        other.drag('start', LINK4, begin, end)
        client.drag('start', LINK4, begin, end)
        client.drag('update', LINK4, begin, end)
        shown.until(lambda: shown.page_commands.qsize() > 3, client, other)
        first = shown.page_commands.get()
        force = DYNAMICS.forward_kinematics(Q, 'link4')[:3, :3] @ first.force
        assert isinstance(first, Wrench) and first.link == 'link4'
        assert force[0] > 1.0 and np.abs(force[1:]).max() < 1e-6
        client.drag('end', LINK4, begin, end)
        shown.until(lambda: shown.page._drag_force._drag is None, client, other)
        shown.show()
        page_commands = [shown.page_commands.get() for _ in range(shown.page_commands.qsize())]
        assert not page_commands[-1].force.any(), 'the pull ends at once'
        shown.show()
        assert shown.page_commands.empty()


def test_a_hand_that_is_gone_lets_go(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: client.buttons() and LINK4 in client.draggable(), client)
        begin = DYNAMICS.forward_kinematics(Q, 'link4')[:3, 3]
        client.drag('start', LINK4, begin, begin + [0.2, 0.0, 0.0])
        shown.until(lambda: not shown.page_commands.empty(), client)
        client.crash()
    shown.until(lambda: shown.page._drag_force._drag is None)


def test_nothing_is_drawn_where_nothing_pulls(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: client.buttons() and LINK4 in client.draggable(), client)
        begin = DYNAMICS.forward_kinematics(Q, 'link4')[:3, 3]
        client.drag('start', LINK4, begin, begin + [0.2, 0.0, 0.0])
        line = shown.page._drag_force._line
        shown.until(lambda: line.visible, client)
        for changes in ({'simulated': False}, {'age': 1.0}):  # a real arm, a silent one
            shown.until(lambda: not line.visible, client, **changes)
            assert shown.page._drag_force._drag is not None
            shown.until(lambda: line.visible, client)
