"""The page and its server with clients that are no browsers; without ROS."""
from queue import SimpleQueue
import socket
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser', reason='the page needs the extra `view`')

from viser import _messages as messages  # noqa: E402
from websockets.datastructures import Headers  # noqa: E402

from page_client import PageClient  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import ParameterError  # noqa: E402
from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.view.controls import MOST_PAYLOAD, slider_ends  # noqa: E402
from robodyn_ros.view.moves import usual_poses  # noqa: E402
from robodyn_ros.view.orders import Ask, Carry, Explain, Wrench  # noqa: E402
from robodyn_ros.view.page import Page  # noqa: E402
from robodyn_ros.view.server import is_own_page, look_after, serve, url  # noqa: E402
from robodyn_ros.view.surfaces import arm_surfaces  # noqa: E402
from robodyn_ros.view.visuals import read_visuals  # noqa: E402
from test_view import ARM, MODEL, Q, snapshot  # noqa: E402

DYNAMICS = Dynamics(MODEL)
SURFACES = arm_surfaces(MODEL, read_visuals(ARM.read_text())[0])[0]
PATIENCE = 20.0
LINK4 = '/arm/link4/surface4'
POSES = {**usual_poses(MODEL), 'odd': Q + 0.1 * np.pi, 'far': Q + 9.0}


class Shown:
    """A page that is shown again and again, and what is ordered there."""

    def __init__(self, server, control):
        self.server = server
        self.orders = SimpleQueue()
        self.page = Page(self.server, DYNAMICS, SURFACES, 'tool0', self.orders.put, control,
                         POSES)
        self.url = url(self.server)
        self.now = 0.0

    def show(self, **changes):
        """Show the arm; every call is a thirtieth of a second later."""
        self.now += 1.0 / 30.0
        self.page.show(snapshot(**{'time': self.now, 'simulated': True, **changes}))

    def until_controls(self, *clients, **changes):
        """Wait for a panel, all of it; return who has it before who has none."""
        def commanding():
            return self.page._controls and [
                client for client in clients if named(client, MODEL.joint_names[-1])]
        self.until(commanding, *clients, **changes)
        return sorted(clients, key=lambda client: client not in commanding())

    @property
    def goal(self):
        """Return the goal of who commands."""
        return self.page._controls.goal

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


def named(client, label):
    """Return the ids of the parts of the page with a label."""
    return [each['uuid'] for each in client.messages
            if each.get('props', {}).get('label') == label]


def put(client, label, value):
    """Give a slider, a check box or a list of the page a value."""
    client.send(messages.GuiUpdateMessage(named(client, label)[-1], {'value': value}))


def told(client, words):
    """Return whether a client was told something."""
    return any(words in str(each) for each in client.messages
               if each['type'].startswith('Notification'))


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


def test_nothing_is_drawn_where_nothing_pulls(shown):
    with PageClient(shown.url) as client:
        shown.until(lambda: client.buttons() and LINK4 in client.draggable(), client)
        begin = DYNAMICS.forward_kinematics(Q, 'link4')[:3, 3]
        client.drag('start', LINK4, begin, begin + [0.2, 0.0, 0.0])
        line = shown.page._grip._line
        shown.until(lambda: line.visible, client)
        for changes in ({'simulated': False}, {'age': 1.0}):  # a real arm, a silent one
            shown.until(lambda: not line.visible, client, **changes)
            assert shown.page._grip._held is not None
            shown.until(lambda: line.visible, client)


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
        client.click('Withdraw')
        shown.until(lambda: shown.goal is None, client)
        assert shown.orders.empty()


def test_a_pose_is_the_goal_exactly_and_again_and_again(shown):
    with PageClient(shown.url) as client:
        shown.until_controls(client)
        for _ in range(2):
            put(client, 'pose', 'odd')
            shown.until(lambda: shown.goal is not None, client)
            np.testing.assert_array_equal(shown.goal, POSES['odd'])
            client.click('Go')
            shown.until(lambda: not shown.orders.empty(), client)
            assert shown.orders.get().positions == tuple(POSES['odd'].tolist())
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
        shown.until(lambda: told(client, 'joint1'), client)
        put(client, 'pose', 'odd')
        shown.until(lambda: shown.goal is POSES['odd'] and shown.page._controls._snapshot.fault,
                    client, fault='stale')
        client.click('Go')
        shown.until(lambda: told(client, 'Reset the fault first: stale'), client, fault='stale')
        assert shown.orders.empty()


# --- a payload ---------------------------------------------------------------------------------

def test_a_payload_is_bounded_and_its_slider_goes_on_where_it_was(shown):
    def kilograms(client):
        return [each['value'] for each in client.of_type('GuiSliderMessage')
                if each['props']['label'] == 'kg'][-1]

    with PageClient(shown.url) as first, PageClient(shown.url) as second:
        first, second = shown.until_controls(first, second)
        for typed, mass in ((1e9, MOST_PAYLOAD), (float('nan'), 0.0), (-3.0, 0.0), (1.5, 1.5)):
            put(first, 'kg', typed)
            shown.until(lambda: not shown.orders.empty(), first, second)
            assert shown.orders.get() == Carry('tool0', mass, True)
        first.socket.close()
        shown.until_controls(second)
        assert kilograms(second) == 1.5


def test_a_payload_that_the_motors_cannot_hold_is_refused(shown, monkeypatch):
    monkeypatch.setattr('robodyn_ros.view.controls.MOST_PAYLOAD', 1e4)
    with PageClient(shown.url) as client:
        shown.until_controls(client)
        put(client, 'kg', 1e4)
        shown.until(lambda: told(client, 'to hold 10000 kg here'), client)
        assert shown.orders.empty()


def test_only_a_simulated_arm_is_given_a_payload(shown):
    with PageClient(shown.url) as client:
        shown.until_controls(client, simulated=False)
        folder = shown.page._controls._payload
        assert not folder.visible
        shown.until(lambda: folder.visible, client)
        shown.until(lambda: not folder.visible, client, simulated=False)


# --- many clients, and odd ones ----------------------------------------------------------------

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
