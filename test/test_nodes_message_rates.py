"""Rates of what is published from a loop that polls at its own intervals."""

from importlib import import_module
from importlib.util import find_spec
import sys
from types import ModuleType, SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

PACKAGE = 'robodyn_ros.nodes.trajectories.'


class Types(ModuleType):
    """Module of message types that are only named here."""

    def __getattr__(self, name):
        return SimpleNamespace


@pytest.fixture
def load(monkeypatch):
    """Import a module that needs control_msgs, of which the rates need no message."""
    if find_spec('control_msgs') is None:
        for name in ('control_msgs', 'control_msgs.msg', 'control_msgs.action'):
            monkeypatch.setitem(sys.modules, name, Types(name))
        before = set(sys.modules)
        yield lambda name: import_module(PACKAGE + name)
        for name in set(sys.modules) - before:
            if name.startswith(PACKAGE):
                del sys.modules[name]
    else:
        yield lambda name: import_module(PACKAGE + name)


def _bare(kind):
    return kind.__new__(kind)


@pytest.mark.parametrize('interval', (0.007, 0.012, 0.022))
def test_feedback_has_its_rate(interval, load):
    sent, clock = [], SimpleNamespace(now=0.0)
    action = _bare(load('action').TrajectoryAction)
    action._controller, action._period = None, 1 / 20
    action._interfaces = SimpleNamespace(now=lambda: clock.now, outcome=lambda _: None)
    action.goal = SimpleNamespace(next_feedback=0.0, handle=SimpleNamespace(
        is_cancel_requested=False, request=SimpleNamespace(trajectory=None)))
    action._publish_feedback = lambda: sent.append(clock.now)
    while clock.now < 10.0:
        action.poll()
        clock.now += interval
    assert 199 <= len(sent) <= 201


@pytest.mark.parametrize('interval', (0.005, 0.007, 0.012))
def test_the_state_has_its_rate(interval, monkeypatch, load):
    sent, clock = [], SimpleNamespace(now=100.0)
    monkeypatch.setattr('time.monotonic', lambda: clock.now)
    publisher = SimpleNamespace(get_subscription_count=lambda: 1, publish=sent.append)
    state = _bare(load('controller_state').ControllerState)
    state._period, state._due, state._publisher = 1 / 50, clock.now, publisher
    state._states, state._filled = SimpleNamespace(complete=True), lambda: clock.now
    while clock.now < 110.0:
        state.update()
        clock.now += interval
    assert 499 <= len(sent) <= 501
