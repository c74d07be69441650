"""Calls of services whose response does not arrive, and waiting with a node."""

import threading
import time

import pytest

pytest.importorskip('rclpy', reason='services need ROS 2')

from robodyn_ros.client.connection import ask  # noqa: E402
from robodyn_ros.nodes.process import run  # noqa: E402
from ros_process import Probe  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

NAME = 'order'


class Deaf(threading.Thread):
    """Server that takes requests, and answers from the second one on."""

    def __init__(self):
        super().__init__()
        self.taken, self.ended = [], threading.Event()

    def run(self):
        with Probe('deaf') as probe:
            service = probe.node.create_service(Trigger, NAME, lambda *_: None)
            while not self.ended.wait(0.01):
                request, header = service.handle.service_take_request(Trigger.Request)
                if request is not None:
                    self.taken.append(request)
                    if len(self.taken) > 1:
                        service.send_response(Trigger.Response(success=True), header)
            probe.node.destroy_service(service)


@pytest.mark.parametrize('once, requests', [(False, 2), (True, 1)])
def test_a_request_without_response_is_sent_again_unless_it_may_be_executed_once(once, requests):
    server = Deaf()
    server.start()
    try:
        with Probe('asking') as probe:
            def wait(condition, timeout):
                end = time.monotonic() + timeout
                while not condition() and time.monotonic() < end:
                    probe.spin()
                return condition()
            client = probe.node.create_client(Trigger, NAME)
            assert wait(client.service_is_ready, 30.0)
            response = ask(client, Trigger.Request(), wait, 2.5, once)
            assert (response is None) == once
            assert len(server.taken) == requests
    finally:
        server.ended.set()
        server.join()


def test_a_node_that_is_waited_with_inside_of_a_wait_goes_on_receiving():
    """A node belongs to one executor: the inner wait took it away from the outer one."""
    with Probe('sending') as sender, Probe('waiting') as probe:
        messages, sent = [], []
        probe.node.create_subscription(String, 'news', messages.append, 10)
        publisher = sender.publisher(String, 'news')
        probe.node.executor.remove_node(probe.node)

        def received():
            if not sent:
                assert not run(probe.node, lambda: False, 0.05)
            if len(sent) < 3 and len(messages) == len(sent):
                sent.append(publisher.publish(String(data='x')))
            return len(messages) == 3

        assert run(probe.node, received, 30.0)
