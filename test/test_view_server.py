"""The server of the page: many clients, and odd ones."""
import socket
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser', reason='the page needs the extra `view`')

from websockets.datastructures import Headers  # noqa: E402

from page_client import PageClient  # noqa: E402
from robodyn_ros.exceptions import ParameterError  # noqa: E402
from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.view.orders import Explain  # noqa: E402
from robodyn_ros.view.server import is_own_page, look_after, serve  # noqa: E402
from robodyn_ros.view.surfaces import arm_surfaces  # noqa: E402
from shown_page import DYNAMICS, named, places, put, showing  # noqa: E402
from test_view import ARM, Q  # noqa: E402


@pytest.fixture
def shown(request):
    """Return a page, with control unless a test says otherwise."""
    with showing(getattr(request, 'param', True)) as page:
        yield page


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


def test_the_terms_are_for_own_pages_while_one_is_there(shown):
    with PageClient(shown.url, origin='http://elsewhere.example') as foreign:
        shown.until(lambda: named(foreign, 'listen'), foreign)
        put(foreign, 'listen', True)
        shown.until(lambda: not shown.orders.empty(), foreign)
        assert shown.orders.get() == Explain(False)
        with PageClient(shown.url) as own:
            shown.until(lambda: named(own, 'listen'), own)
            put(own, 'listen', True)
            shown.until(lambda: not shown.orders.empty(), own)
            assert shown.orders.get() == Explain(True)
    shown.until(lambda: not shown.orders.empty())
    assert shown.orders.get() == Explain(False)
    assert not shown.page._plots._wanted.value


def test_a_joint_that_is_none_is_not_explained(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: named(client, 'joint'), client)
        put(client, 'joint', 'nobody')
        shown.until(lambda: shown.page._plots._joint.value == 'nobody', client)
        shown.show(terms={'gravity': Q})


def test_a_resting_arm_is_not_sent_again_and_again(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: places(client, '/arm/link5'), client)
        body = shown.page._arm._bodies[4]
        before = body.position.copy()
        for k in range(10):
            shown.show(q=Q + 1e-4 * (-1) ** k)
        np.testing.assert_array_equal(body.position, before)
        shown.until(lambda: (body.position != before).any(), client, q=Q + 1e-3)


@pytest.mark.parametrize('shown, drawn', [(True, True), (False, False)], indirect=['shown'])
def test_a_goal_is_drawn_only_for_who_may_have_one(shown, drawn):
    with PageClient(shown.url) as client:
        shown.until(lambda: places(client, '/arm/link5'), client)
        assert any(str(each.get('name')).startswith('/goal') for each in client.messages) == drawn


@pytest.mark.parametrize('host, headers, own', [
    ('127.0.0.1', {'Host': 'localhost:80'}, True), ('::1', {'Host': '[::1]:80'}, True),
    ('127.0.0.1', {'Host': '127.0.0.1:80', 'Origin': 'http://127.0.0.1:80'}, True),
    ('0.0.0.0', {'Host': 'arm:80', 'Origin': 'http://arm:80'}, True),
    ('127.0.0.1', {'Host': 'evil.example:80', 'Origin': 'http://evil.example:80'}, False),
    ('127.0.0.1', {'Host': 'localhost:80', 'Origin': 'http://localhost:81'}, False),
    ('127.0.0.1', {'Host': 'localhost:80', 'Origin': 'http://['}, False),
    ('127.0.0.1', {'Host': '[', 'Origin': 'http://localhost'}, False),
    ('127.0.0.1', (('Host', 'localhost'), ('Origin', 'a'), ('Origin', 'b')), False),
    ('127.0.0.1', {}, False), ('0.0.0.0', {}, False)])
def test_whose_page_it_is_is_told_by_its_headers(host, headers, own):
    connection = SimpleNamespace(request=SimpleNamespace(headers=Headers(headers)))
    server = SimpleNamespace(get_host=lambda: host, _websock_server=SimpleNamespace(
        _live_connections={0: connection}))
    assert is_own_page(server, 0) is own


def test_a_browser_that_vanishes_is_missed_soon(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: places(client, '/arm/link5'), client)
        [connection] = shown.server._websock_server._live_connections.values()
        assert (connection.ping_interval + connection.ping_timeout
                + connection.close_timeout) <= 10.0
    look_after(shown.server, 12345)


def test_the_server_listens_where_it_says(shown):
    port = shown.server.get_port()
    assert shown.url == f'http://localhost:{port}'
    with pytest.raises(OSError):  # another address of this machine
        socket.create_connection(('127.0.0.2', port), timeout=1.0)
    with pytest.raises(ParameterError, match='--port'):
        serve('127.0.0.1', port, 'arm').__enter__()
    for wrong in ('203.0.113.1', 'a' * 100):
        with pytest.raises(ParameterError, match='--host'):
            serve(wrong, None, 'arm').__enter__()
    for port in (99999, -1):
        with pytest.raises(ParameterError, match='--port'):
            serve('127.0.0.1', port, 'arm').__enter__()


@pytest.mark.parametrize('host, words', [
    ('127.0.0.1', 'this machine only'), ('localhost', 'this machine only'),
    ('::1', 'this machine only'), ('0.0.0.0', 'anybody')])
def test_it_is_told_who_can_look(capsys, host, words):
    from robodyn_ros.cli.view.command import _announce
    server = SimpleNamespace(get_host=lambda: host, get_port=lambda: 8080)
    _announce(server, SimpleNamespace(host=host, control=True))
    assert words in capsys.readouterr().out


def test_nobody_can_ask_for_a_tunnel(shown):
    assert shown.server.request_share_url() is None


def test_an_arm_with_no_shapes_is_drawn_as_capsules():
    text = ARM.read_text()
    model = RobotModel.from_urdf(text)
    surfaces, problems = arm_surfaces(model, [])
    assert not problems
    assert {surface.body for surface in surfaces} >= set(range(model.nb - 1))
