"""Requests to Linux for priority, memory and processors, in separate processes."""
import gc
import os
import subprocess
import sys
from types import SimpleNamespace
import weakref

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from robodyn_ros.nodes.realtime import configure_realtime, RealtimeSettings  # noqa: E402

REQUEST = """
import os, resource, sys
from types import SimpleNamespace
{prepare}
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.realtime import enter_realtime
values = dict(priority=0, lock_memory=False, processors=())
values.update({wishes})
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # whoever starts this
try:
    granted, refused = enter_realtime(SimpleNamespace(**values), alone={alone})
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


def run_request(wishes, prepare='', alone=False, after=''):
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    # imported before rights are dropped: an ordinary user may not read the checkout
    code = 'import robodyn_ros.nodes.realtime\n' + REQUEST.format(
        wishes=wishes, prepare=prepare, alone=alone) + after
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60,
                         env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_nothing_is_requested_for_an_ordinary_process():
    printed = run_request({})
    assert printed.startswith('[] []')
    assert f'policy {os.SCHED_OTHER}' in printed


def test_by_default_the_priority_is_taken_where_it_is_permitted():
    default = {'priority': RealtimeSettings().priority}
    refused = run_request(default, POWERLESS, alone=True)
    assert refused.startswith('[] []'), 'it was not requested'
    assert f'policy {os.SCHED_OTHER}' in refused
    permitted = 'real-time priority 40' in run_request({'priority': 40})
    granted = run_request(default, alone=True)
    assert ('real-time priority 40' in granted) == permitted
    assert (f'policy {os.SCHED_FIFO}' in granted) == permitted
    assert f'policy {os.SCHED_OTHER}' in run_request(default), 'threads of others stay as they are'


SPINNING = """
import threading
from pathlib import Path
def named(name):
    Path(f'/proc/self/task/{threading.get_native_id()}/comm').write_text(name)
    begun.set()
    ended.wait()
ended = threading.Event()
ids = {}
for name in 'dds.asyn.0.3', 'dds.ev.0':
    begun = threading.Event()
    threading.Thread(target=named, args=(name,), daemon=True).start()
    begun.wait()
    ids[name] = threading.enumerate()[-1].native_id
"""


def test_a_thread_that_waits_without_a_pause_keeps_the_ordinary_priority():
    """Fast DDS tries a lock without a pause; whoever has it would get no processor."""
    printed = run_request({'priority': 40}, SPINNING, after="""
print({name: os.sched_getscheduler(thread) for name, thread in ids.items()})""")
    if 'real-time priority 40' not in printed:
        pytest.skip('a real-time priority is not permitted here')
    assert str({'dds.asyn.0.3': os.SCHED_OTHER, 'dds.ev.0': os.SCHED_FIFO}) in printed


@pytest.mark.parametrize('wishes, words', [
    ({'priority': 40}, 'rtprio 40'), ({'lock_memory': True}, 'memlock')])
def test_what_is_refused_comes_with_the_remedy(wishes, words):
    printed = run_request(wishes, POWERLESS)
    assert words in printed and 'limits.d' in printed
    assert f'policy {os.SCHED_OTHER}' in printed


def test_processors():
    mine = sorted(os.sched_getaffinity(0))
    assert f'on [{mine[-1]}]' in run_request({'processors': (mine[-1],)})
    printed = run_request({'processors': (4000,)})
    assert 'ParameterError' in printed and str(mine) in printed


def test_granted_settings_are_reported():
    printed = run_request({'priority': 40, 'lock_memory': True})
    granted = 'real-time priority 40' in printed
    assert granted == (f'policy {os.SCHED_FIFO}' in printed)
    assert granted or 'rtprio' in printed
    assert 'memory locked' in printed or 'memlock' in printed


def test_what_an_earlier_configuration_left_is_collected():
    """Frozen objects that refer to each other would stay for ever, a configuration's each time."""
    class Part:
        pass

    part, node = Part(), SimpleNamespace(get_logger=None)
    part.itself = part
    configure_realtime(node, RealtimeSettings(priority=0))
    left = weakref.ref(part)
    del part
    try:
        assert left() is not None
        configure_realtime(node, RealtimeSettings(priority=0))
        assert left() is None
    finally:
        gc.unfreeze()
