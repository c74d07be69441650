"""The server of the page: many clients, and odd ones."""
import socket
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser', reason='the page needs the extra `view`')

import msgspec  # noqa: E402
import viser  # noqa: E402
from websockets.datastructures import Headers  # noqa: E402
from websockets.frames import Frame, Opcode  # noqa: E402
from websockets.http11 import Request  # noqa: E402

from page_client import CAMERA, messages, PageClient  # noqa: E402
from robodyn_ros.exceptions import ParameterError  # noqa: E402
from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.view.server import _policy, detect_disconnect, serve, url  # noqa: E402
from robodyn_ros.view.snapshot import SubscribeTerms  # noqa: E402
from robodyn_ros.view.surfaces import arm_surfaces  # noqa: E402
from shown_page import DYNAMICS, named, PATIENCE, places, put, showing  # noqa: E402
from test_view import ARM, Q  # noqa: E402


@pytest.fixture
def shown(request):
    """Return a page, with control by default."""
    with showing(getattr(request, 'param', True)) as page:
        yield page


def test_a_client_that_does_not_read_holds_up_no_other(shown):
    with PageClient(shown.url) as dead, PageClient(shown.url) as client:
        shown.until(lambda: places(client, '/arm/link5'), client)
        longest = 0.0
        for k in range(600):
            begin = time.monotonic()
            shown.show(q=Q + 0.001 * k, torque=Q)
            longest = max(longest, time.monotonic() - begin)
        assert longest < 5.0, 'held up, as long as the other lives'
        pose = DYNAMICS.forward_kinematics(-Q, 'link5')
        shown.until(lambda: np.allclose(places(client, '/arm/link5')[-1], pose[:3, 3]),
                    client, q=-Q)
        # what it has missed is not kept for it: only the newest of each node
        assert len(shown.server._websock_server._broadcast_buffer.message_from_id) < 2000
        assert dead.socket.protocol.state.name == 'OPEN'


def test_the_terms_are_published_while_a_page_is_there(shown):
    with PageClient(shown.url) as own:
        shown.until(lambda: named(own, 'show terms'), own)
        put(own, 'show terms', True)
        shown.until(lambda: not shown.page_commands.empty(), own)
        assert shown.page_commands.get() == SubscribeTerms(True)
    shown.until(lambda: not shown.page_commands.empty())
    assert shown.page_commands.get() == SubscribeTerms(False)
    assert not shown.page._plots._show_terms.value


def test_a_joint_that_is_none_is_not_explained(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: named(client, 'joint'), client)
        put(client, 'joint', 'unknown')
        shown.until(lambda: shown.page._plots._joint.value == 'unknown', client)
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


HERE = socket.gethostname().lower()


@pytest.mark.parametrize('host, headers, admitted', [
    ('127.0.0.1', {'Host': 'localhost:80'}, True), ('::1', {'Host': '[::1]:80'}, True),
    ('127.0.0.1', {'Host': '127.0.0.1:80', 'Origin': 'http://127.0.0.1:80'}, True),
    ('127.0.0.1', {'Host': 'arm.example:80'}, True),  # was allowed
    ('0.0.0.0', {'Host': f'{HERE}:80', 'Origin': f'http://{HERE}:80'}, True),
    ('0.0.0.0', {'Host': f'{HERE.upper()}.local:80'}, True),
    ('0.0.0.0', {'Host': 'Arm.example:80', 'Origin': 'http://Arm.example:80'}, True),
    ('0.0.0.0', {'Host': '203.0.113.7:80', 'Origin': 'http://203.0.113.7:80'}, True),
    ('0.0.0.0', {'Host': '[2001:db8::7]:80'}, True), ('arm2', {'Host': 'arm2'}, True),
    ('127.0.0.1', {'Host': '203.0.113.7:80'}, False), ('127.0.0.1', {'Host': HERE}, False),
    ('0.0.0.0', {'Host': 'evil.example:80', 'Origin': 'http://evil.example:80'}, False),
    ('127.0.0.1', {'Host': 'evil.example:80', 'Origin': 'http://evil.example:80'}, False),
    ('127.0.0.1', {'Host': 'localhost:80', 'Origin': 'http://localhost:81'}, False),
    ('127.0.0.1', {'Host': 'localhost:80', 'Origin': 'null'}, False),
    ('127.0.0.1', {'Host': 'localhost:80', 'Origin': 'http://['}, False),
    ('127.0.0.1', {'Host': '[', 'Origin': 'http://localhost'}, False),
    ('127.0.0.1', (('Host', 'localhost'), ('Origin', 'a'), ('Origin', 'b')), False),
    ('127.0.0.1', {'Host': ''}, False), ('127.0.0.1', {}, False), ('0.0.0.0', {}, False)])
def test_a_policy_admits_its_own_page_by_path_and_headers(host, headers, admitted):
    policy = _policy(host, ['ARM.example'])
    path = f'/{policy.token}'
    assert policy.admits(Request(path, Headers(headers))) is admitted
    for wrong in ('/', path[:-1], f'{path}/', path.swapcase(), f'{path}?', '/\ud800', ''):
        assert not policy.admits(Request(wrong, Headers(headers)))


def test_every_token_is_another_one():
    tokens = {_policy('127.0.0.1', ()).token for _ in range(100)}
    assert len(tokens) == 100 and min(map(len, tokens)) >= 22


REFUSED_CLIENTS = {
    'no token': {'path': '/'}, 'a wrong token': {'path': '/{wrong}'},
    'another origin': {'origin': 'http://elsewhere.example'},
    'another port': {'origin': 'http://localhost:1'}, 'a file': {'origin': 'null'},
    'another name': {'host': 'evil.example:{port}', 'origin': 'http://evil.example:{port}'}}
KNOCK = ('GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n'
         'Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
         'Sec-WebSocket-Version: 13\r\n'
         f'Sec-WebSocket-Protocol: viser-v{viser.__version__}\r\n\r\n')


def knock(port, sent, **given):
    """Connect, and send all of it before the server has answered; return its answers."""
    frames = [Frame(Opcode.BINARY, msgspec.msgpack.encode(each.as_serializable_dict()))
              for each in sent]
    request = KNOCK.format(**given).encode() + b''.join(
        frame.serialize(mask=True) for frame in frames)
    answer = b''
    with socket.create_connection(('localhost', port), timeout=PATIENCE) as client_without_token:
        client_without_token.sendall(request)
        while not (part := answer.partition(b'\r\n\r\n')[2]) or len(part) < part[1] + 2:
            answer += client_without_token.recv(4096)
    assert answer.startswith(b'HTTP/1.1 101')
    return answer.partition(b'\r\n\r\n')[2]


@pytest.mark.parametrize('who', REFUSED_CLIENTS)
def test_a_client_without_the_token_neither_watches_nor_sets_anything(shown, who):
    port = shown.server.get_port()
    wrong = shown.token[:-1] + ('a' if shown.token[-1] != 'a' else 'b')
    given = {'path': f'/{shown.token}', 'host': f'localhost:{port}',
             'origin': f'http://localhost:{port}'}
    with PageClient(shown.url, given['origin']) as own:
        shown.until(lambda: named(own, 'show terms') and 'Float' in own.buttons(), own)
        sent = [CAMERA] + [messages.GuiUpdateMessage(each, {'value': True}) for each in (
            *named(own, 'show terms'), own.buttons()['Float'])]
        given |= {key: value.format(port=port, wrong=wrong)
                  for key, value in REFUSED_CLIENTS[who].items()}
        closing = knock(port, sent, **given)
        assert closing[:4] == bytes([0x88, len(closing) - 2]) + (1008).to_bytes(2, 'big')
        for _ in range(20):
            shown.show()
            own.read()
        assert shown.page_commands.empty() and not shown.page._plots._show_terms.value
        assert len(shown.server.get_clients()) == 1


def test_a_browser_that_vanishes_is_missed_soon(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: places(client, '/arm/link5'), client)
        [connection] = shown.server._websock_server._live_connections.values()
        assert (connection.ping_interval + connection.ping_timeout
                + connection.close_timeout) <= 10.0
    detect_disconnect(shown.server, 12345)


def test_the_server_has_the_address_that_it_prints(shown):
    port = shown.server.get_port()
    place = f'localhost:{port}'
    assert shown.url == f'http://{place}/?websocket=ws://{place}/{shown.token}'
    assert url(shown.server, 'x', 'fe80::1') == (
        f'http://[fe80::1]:{port}/?websocket=ws://[fe80::1]:{port}/x')
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
    ('::1', 'this machine only'), ('0.0.0.0', 'all who have this address can watch'),
    ('0.0.0.0', f'from other machines: http://{socket.gethostname()}:8080/?websocket=ws://'
     f'{socket.gethostname()}:8080/secret')])
def test_the_command_prints_who_can_watch(capsys, host, words):
    from robodyn_ros.cli.view import _announce
    server = SimpleNamespace(get_host=lambda: host, get_port=lambda: 8080)
    _announce(server, 'secret', SimpleNamespace(host=host, control=True))
    assert words in capsys.readouterr().out


def test_no_client_can_request_a_tunnel(shown):
    assert shown.server.request_share_url() is None


def test_an_arm_with_no_shapes_is_drawn_as_capsules():
    text = ARM.read_text()
    model = RobotModel.from_urdf(text)
    surfaces, problems = arm_surfaces(model, [])
    assert not problems
    assert {surface.body for surface in surfaces} >= set(range(model.nb - 1))
