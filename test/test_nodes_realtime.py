"""Asking Linux for priority, memory and processors, in processes of their own."""
import gc
import os
import subprocess
import sys
from types import SimpleNamespace
import weakref

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from robodyn_ros.nodes.realtime import configure_realtime, RealtimeSettings  # noqa: E402

ASK = """
import os, resource, sys
from types import SimpleNamespace
{prepare}
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.realtime import enter_realtime
values = dict(priority=0, lock_memory=False, processors=())
values.update({wishes})
try:
    granted, refused = enter_realtime(SimpleNamespace(**values))
    print(granted, refused)
except ParameterError as error:
    print('ParameterError', error)
print('policy', os.sched_getscheduler(0), 'on', sorted(os.sched_getaffinity(0)))
"""
# without the right to raise its priority or lock memory, as an ordinary user
POWERLESS = """
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
"""


def ask(wishes, prepare=''):
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    # imported before rights are dropped: an ordinary user may not read the checkout
    code = 'import robodyn_ros.nodes.realtime\n' + ASK.format(wishes=wishes, prepare=prepare)
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60,
                         env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_nothing_is_asked_by_default():
    said = ask({})
    assert said.startswith('[] []')
    assert f'policy {os.SCHED_OTHER}' in said


@pytest.mark.parametrize('wishes, words', [
    ({'priority': 40}, 'rtprio 40'), ({'lock_memory': True}, 'memlock')])
def test_what_is_refused_comes_with_the_remedy(wishes, words):
    said = ask(wishes, POWERLESS)
    assert words in said and 'limits.d' in said
    assert f'policy {os.SCHED_OTHER}' in said


def test_processors():
    mine = sorted(os.sched_getaffinity(0))
    assert f'on [{mine[-1]}]' in ask({'processors': (mine[-1],)})
    said = ask({'processors': (4000,)})
    assert 'ParameterError' in said and str(mine) in said


def test_what_is_granted_is_said():
    said = ask({'priority': 40, 'lock_memory': True})
    granted = 'real-time priority 40' in said
    assert granted == (f'policy {os.SCHED_FIFO}' in said)
    assert granted or 'rtprio' in said
    assert 'memory locked' in said or 'memlock' in said


def test_what_an_earlier_configuration_left_is_collected():
    """Frozen objects that refer to each other would stay for ever, a configuration's each time."""
    class Part:
        pass

    part, node = Part(), SimpleNamespace(get_logger=None)
    part.itself = part
    configure_realtime(node, RealtimeSettings())
    left = weakref.ref(part)
    del part
    try:
        assert left() is not None
        configure_realtime(node, RealtimeSettings())
        assert left() is None
    finally:
        gc.unfreeze()
