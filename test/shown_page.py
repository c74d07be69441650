"""A page that is shown without ROS, and the messages to its clients."""
from contextlib import contextmanager
from queue import SimpleQueue
import time

import numpy as np
from test_view import ARM, MODEL, Q, snapshot
from viser import _messages as messages

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.view.feasibility import default_poses
from robodyn_ros.view.page import Page
from robodyn_ros.view.server import serve, url
from robodyn_ros.view.surfaces import arm_surfaces
from robodyn_ros.view.visuals import read_visuals

DYNAMICS = Dynamics(MODEL)
SURFACES = arm_surfaces(MODEL, read_visuals(ARM.read_text())[0])[0]
PATIENCE = 20.0
LINK4 = '/arm/link4/surface4'
POSES = {**default_poses(MODEL), 'odd': Q + 0.1 * np.pi, 'far': Q + 9.0}


class Shown:
    """A page that is shown again and again, and what is ordered there."""

    def __init__(self, server, token, control):
        self.server, self.token = server, token
        self.page_commands = SimpleQueue()
        self.page = Page(self.server, DYNAMICS, SURFACES, 'tool0', self.page_commands.put, control,
                         POSES)
        self.url = url(self.server, token)
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


@contextmanager
def showing(control):
    """Give a page on a server of its own."""
    with serve('127.0.0.1', 0, 'arm') as (server, token):
        yield Shown(server, token, control)


def named(client, label):
    """Return the ids of the parts of the page with a label."""
    return [each['uuid'] for each in client.messages
            if each.get('props', {}).get('label') == label]


def put(client, label, value):
    """Give a slider, a check box or a list of the page a value."""
    client.send(messages.GuiUpdateMessage(named(client, label)[-1], {'value': value}))


def notified(client, words):
    """Return whether a client was notified of something."""
    return any(words in str(each) for each in client.messages
               if each['type'].startswith('Notification'))


def places(client, name):
    """Return the positions of a node that were sent to a client."""
    return [each['position'] for each in client.of_type('SetPositionMessage')
            if each['name'] == name]
