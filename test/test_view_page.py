"""The page and its server with clients that are no browsers; without ROS."""
from queue import SimpleQueue
import socket
import time

import numpy as np
import pytest

pytest.importorskip('viser', reason='the page needs the extra `view`')

from page_client import PageClient  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import ParameterError  # noqa: E402
from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.view.moves import usual_poses  # noqa: E402
from robodyn_ros.view.orders import Ask, Wrench  # noqa: E402
from robodyn_ros.view.page import Page  # noqa: E402
from robodyn_ros.view.server import is_own_page, serve, url  # noqa: E402
from robodyn_ros.view.surfaces import arm_surfaces  # noqa: E402
from robodyn_ros.view.visuals import read_visuals  # noqa: E402
from test_view import ARM, MODEL, Q, snapshot  # noqa: E402

DYNAMICS = Dynamics(MODEL)
SURFACES = arm_surfaces(MODEL, read_visuals(ARM.read_text())[0])[0]
PATIENCE = 20.0
LINK4 = '/arm/link4/surface4'


class Shown:
    """A page that is shown again and again, and what is ordered there."""

    def __init__(self, server, control):
        self.server = server
        self.orders = SimpleQueue()
        self.page = Page(self.server, DYNAMICS, SURFACES, 'tool0', self.orders.put, control,
                         usual_poses(MODEL))
        self.url = url(self.server)
        self.now = 0.0

    def show(self, **changes):
        """Show the arm; every call is a thirtieth of a second later."""
        self.now += 1.0 / 30.0
        self.page.show(snapshot(time=self.now, simulated=True, **changes))

    def until(self, condition, *clients, **changes):
        """Show it, and let clients read, until a condition holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, 'nothing came of it'
            self.show(**changes)
            for client in clients:
                client.read()


@pytest.fixture
def shown(request):
    with serve('127.0.0.1', 0, 'arm') as server:
        yield Shown(server, getattr(request, 'param', True))


def places(client, name):
    """Return the places that a client was told of a node."""
    return [each['position'] for each in client.of_type('SetPositionMessage')
            if each['name'] == name]


def test_a_client_sees_the_arm_where_it_is(shown):
    with PageClient(shown.url) as client:
        for q in (Q, -Q):
            pose = DYNAMICS.forward_kinematics(q, 'link5')
            shown.until(lambda pose=pose: places(client, '/arm/link5') and np.allclose(
                places(client, '/arm/link5')[-1], pose[:3, 3]), client, q=q)


def test_the_reference_is_a_ghost_only_where_it_is_elsewhere(shown):
    def visible():
        told = [each['visible'] for each in client.of_type('SetSceneNodeVisibilityMessage')
                if each['name'] == '/reference']
        return bool(told) and told[-1]

    with PageClient(shown.url) as client:
        shown.until(visible, client, reference=Q + 0.1)
        pose = DYNAMICS.forward_kinematics(Q + 0.1, 'link7')
        assert np.allclose(places(client, '/reference/link7')[-1], pose[:3, 3])
        shown.until(lambda: not visible(), client, reference=Q + 0.001)


def test_the_first_client_commands_until_it_leaves(shown):
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
            shown.until(lambda: not shown.orders.empty(), first, second)
            assert shown.orders.get() == Ask('float')
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
        assert shown.orders.empty()


def test_a_page_from_elsewhere_may_not_command(shown):
    with PageClient(shown.url, origin='http://elsewhere.example') as client:
        shown.until(lambda: places(client, '/arm/link5'), client)
        for _ in range(20):
            shown.show()
            client.read()
        assert not client.buttons()
        with PageClient(shown.url, origin=shown.url) as own:
            shown.until(lambda: 'Hold' in own.buttons(), own)
    assert not is_own_page(shown.server, 12345)


def test_whose_origin_cannot_be_found_out_may_not_command(shown, monkeypatch):
    monkeypatch.delattr(shown.server._websock_server, '_live_connections')
    assert not is_own_page(shown.server, 0)
    monkeypatch.delattr(shown.server, '_websock_server')
    assert not is_own_page(shown.server, 0)


def test_a_drag_pulls_the_link_until_it_is_let_go(shown):
    with PageClient(shown.url) as client, PageClient(shown.url) as other:
        shown.until(lambda: client.buttons() and LINK4 in client.draggable(), client, other)
        begin = DYNAMICS.forward_kinematics(Q, 'link4')[:3, 3]
        end = begin + [0.2, 0.0, 0.0]
        other.drag('start', LINK4, begin, end)
        client.drag('start', LINK4, begin, end)
        client.drag('update', LINK4, begin, end)
        shown.until(lambda: shown.orders.qsize() > 3, client, other)
        first = shown.orders.get()
        force = DYNAMICS.forward_kinematics(Q, 'link4')[:3, :3] @ first.force
        assert isinstance(first, Wrench) and first.link == 'link4'
        assert force[0] > 1.0 and np.abs(force[1:]).max() < 1e-6
        client.drag('end', LINK4, begin, end)
        shown.until(lambda: shown.page._grip._held is None, client, other)
        shown.show()
        orders = [shown.orders.get() for _ in range(shown.orders.qsize())]
        assert not orders[-1].force.any(), 'the pull ends at once'
        shown.show()
        assert shown.orders.empty()


def test_a_hand_that_is_gone_lets_go(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: client.buttons() and LINK4 in client.draggable(), client)
        begin = DYNAMICS.forward_kinematics(Q, 'link4')[:3, 3]
        client.drag('start', LINK4, begin, begin + [0.2, 0.0, 0.0])
        shown.until(lambda: not shown.orders.empty(), client)
        client.crash()
    shown.until(lambda: shown.page._grip._held is None)


def test_a_client_that_does_not_read_holds_up_nobody(shown):
    with PageClient(shown.url) as dead, PageClient(shown.url) as client:
        shown.until(lambda: places(client, '/arm/link5'), client)
        longest = 0.0
        for k in range(600):
            begin = time.monotonic()
            shown.show(q=Q + 0.001 * k, torque=Q)
            longest = max(longest, time.monotonic() - begin)
        assert longest < 0.5, longest
        pose = DYNAMICS.forward_kinematics(-Q, 'link5')
        shown.until(lambda: np.allclose(places(client, '/arm/link5')[-1], pose[:3, 3]),
                    client, q=-Q)
        # what it has missed is not kept for it: only the newest of each node
        assert len(shown.server._websock_server._broadcast_buffer.message_from_id) < 2000
        assert dead.socket.protocol.state.name == 'OPEN'


def test_the_server_listens_where_it_says(shown):
    port = shown.server.get_port()
    assert shown.url == f'http://localhost:{port}'
    with pytest.raises(OSError):  # another address of this machine
        socket.create_connection(('127.0.0.2', port), timeout=1.0)
    with pytest.raises(ParameterError, match='--port'):
        serve('127.0.0.1', port, 'arm').__enter__()
    with pytest.raises(ParameterError, match='--host'):
        serve('203.0.113.1', None, 'arm').__enter__()


def test_nobody_can_ask_for_a_tunnel(shown):
    assert shown.server.request_share_url() is None


def test_an_arm_with_no_shapes_is_drawn_as_capsules():
    text = ARM.read_text()
    model = RobotModel.from_urdf(text)
    surfaces, problems = arm_surfaces(model, [])
    assert not problems
    assert {surface.body for surface in surfaces} >= set(range(model.nb - 1))
