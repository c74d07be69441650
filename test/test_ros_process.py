"""The probe of the tests, which talks to nodes that come and go, and their domain."""

from pathlib import Path
import subprocess
import sys
import threading

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from ros_process import Probe  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

NAME = '/probe_restarted/act'


def _answer(_request, response):
    response.success = True
    return response


LISTS_THREADS = """
from robodyn_ros.nodes.domain import isolate
isolate()
import rclpy
from pathlib import Path
rclpy.init()
node = rclpy.create_node('lists_threads')
print({path.read_text().strip() for path in Path('/proc/self/task').glob('*/comm')})
rclpy.shutdown()
"""


@pytest.mark.skipif(not Path('/proc/self/task').is_dir(), reason='needs the threads of Linux')
def test_nodes_of_a_private_domain_share_no_locks():
    """Shared memory has locks, by which a process that is not scheduled holds up others."""
    run = subprocess.run([sys.executable, '-c', LISTS_THREADS], capture_output=True, text=True,
                         timeout=60)
    if 'dds.' not in run.stdout:
        pytest.skip('another middleware than Fast DDS')
    assert 'dds.udp' in run.stdout and 'dds.shm' not in run.stdout


def test_a_restarted_server_is_asked_beside_one_that_is_dead():
    with Probe('dead') as dead, Probe('restarted') as restarted, Probe('asking') as probe:
        dead.node.create_service(Trigger, NAME, _answer)  # listed, but nothing spins it
        ended = threading.Event()

        def serve():
            probe_waits.wait()
            restarted.node.create_service(Trigger, NAME, _answer)
            while not ended.is_set():
                restarted.spin()

        probe_waits = threading.Event()
        server = threading.Thread(target=serve)
        server.start()
        send = probe.node.create_client

        def create_client(*args):
            client = send(*args)
            call = client.call_async

            def call_async(request):
                future = call(request)
                probe_waits.set()
                return future
            client.call_async = call_async
            return client
        probe.node.create_client = create_client
        try:
            assert probe.call(Trigger, NAME).success
        finally:
            probe_waits.set()
            ended.set()
            server.join()
