"""
Nodes in processes of their own, and a probe that talks to them.

Everything is on one ROS domain that this test process has for itself, or on ROS_DOMAIN_ID if that
is given, and every wait is for a condition, with a limit.
"""
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import threading
import time

import node_server
from robodyn_ros.nodes.domain import isolate

ROOT = Path(__file__).resolve().parents[1]
# Seconds that a node may take for something on a loaded machine, compilation included.
PATIENCE = 60.0
_WAITING = 2000  # messages that may wait in all queues of a probe
_SHOWN = 30      # lines of each node that are shown with a failure
_processes: list['NodeProcess'] = []  # those that run

isolate()
os.environ.setdefault('ROS_LOG_DIR', tempfile.mkdtemp(prefix='robodyn_ros_log_'))


def wait_until(condition, what, timeout=PATIENCE, work=lambda: time.sleep(0.01)):
    """Wait until a condition is true and return its value; fail naming `what` if it never is."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f'{what}: not within {timeout:g} s{_outputs()}'
        work()


def _outputs():
    """Return the last lines of all nodes, for the message of a failure."""
    return ''.join('\n'.join(['', f'--- {each.module}', *each.lines[-_SHOWN:]])
                   for each in _processes)


class NodeProcess:
    """
    A node in a process of its own; ended at the end of the `with` block.

    Parameters
    ----------
    module : str
        Module to run.
    parameters : dict
        ROS parameters.
    arguments : list of str
        More command line, after `--ros-args`.
    fresh : bool
        Whether `python -m module` starts it, and not a fork of a process that has imported it:
        where starting itself is tested.

    Attributes
    ----------
    lines : list of str
        What it has written to stdout and stderr.

    """

    def __init__(self, module, parameters=None, arguments=(), fresh=False):
        settings = [part for name, value in (parameters or {}).items()
                    for part in ('-p', f'{name}:={json.dumps(value)}')]
        environment = {**os.environ, 'PYTHONUNBUFFERED': '1', 'PYTHONPATH': os.pathsep.join(
            [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])])}
        self.module, self.lines = module, []
        line = self.command_line(settings, arguments)
        if fresh or not hasattr(os, 'pidfd_open'):  # that is of Linux
            self.process = subprocess.Popen(
                [sys.executable, '-m', module, *line], text=True, cwd=ROOT, env=environment,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        else:
            self.process = node_server.spawn(module, line, environment, ROOT)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        _processes.append(self)

    def command_line(self, settings, arguments):
        """Return what comes after the module."""
        return ['--ros-args', *settings, *arguments]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # a peer that vanishes may take this process's DDS down with it: first terminate
        for number, timeout in ((signal.SIGINT, 6.0), (signal.SIGKILL, 10.0)):
            if not self.alive:
                break
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                pass
        self._reader.join(10)
        self.process.stdout.close()
        if self in _processes:
            _processes.remove(self)

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    @property
    def output(self):
        """Return what it has written, as one text."""
        return '\n'.join(self.lines)

    @property
    def alive(self):
        """Whether it still runs."""
        return self.process.poll() is None

    def logged(self, text, since=0):
        """Return how many lines hold a text, without the first `since`."""
        return sum(text in line for line in self.lines[since:])

    def wait_for_output(self, text, since=0, timeout=PATIENCE):
        """Wait until it has written a text, later than its first `since` lines."""
        end = time.monotonic() + timeout
        while not self.logged(text, since) and self.alive and time.monotonic() < end:
            time.sleep(0.01)
        self._reader.join(0 if self.alive else 5)
        assert self.logged(text, since), f'{text!r} is not in the output:\n{self.output}'

    def stop(self, number=signal.SIGINT, timeout=10.0):
        """Send a signal; return exit code and the seconds it took to end."""
        start = time.monotonic()
        self.process.send_signal(number)
        code = self.wait(timeout)
        return code, time.monotonic() - start

    def wait(self, timeout=PATIENCE):
        """Wait for the end; return the exit code, and have all of the output."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f'still running after {timeout:g} s:\n{self.output}') from None
        self._reader.join(5)
        return code


class Probe:
    """A node of the test; everything it made is gone at the end of the `with` block."""

    def __init__(self, name='probe'):
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node(name, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clients = {}  # of services, which have discovered their servers

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def until(self, condition, what, timeout=PATIENCE):
        """Spin until a condition is true, and return its value."""
        return wait_until(condition, what, timeout, self.spin)

    def spin(self, seconds=0.01):
        """Take what has come; wait at most so long for it; return whether there was anything."""
        from rclpy.executors import ShutdownException, TimeoutException
        try:
            handler, _, _ = self._executor.wait_for_ready_callbacks(timeout_sec=seconds)
        except (ShutdownException, TimeoutException):
            return False
        handler()
        if handler.exception() is not None:
            raise handler.exception()
        return True

    def spin_for(self, seconds):
        """Take all that comes for a while, and all that waits after it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.spin()
        # this process itself may have paused; where messages never cease, as many as may wait
        for _ in range(_WAITING):
            if not self.spin(0.0):
                break

    def subscribe(self, message, topic, qos=10):
        """Return a list that grows by every message on a topic."""
        messages = []
        self.node.create_subscription(message, topic, messages.append, qos)
        return messages

    def publisher(self, message, topic, qos=10):
        """Return a publisher that has a subscriber."""
        publisher = self.node.create_publisher(message, topic, qos)
        self.until(publisher.get_subscription_count, f'a subscriber of {topic}')
        return publisher

    def call(self, service, name, **request):
        """Call a service; return its response."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(service, name)
        return self._response(client, service.Request(**request), name)

    def _response(self, client, request, name):
        """Return the response; a server that appears after the request is asked as well."""
        self.until(client.service_is_ready, f'service {name}')
        servers = self.node.count_services(name)
        futures, asked = [client.call_async(request)], time.monotonic()

        def responded():
            # a server that was killed is listed for a while: the request may have gone to it; and
            # the response of one that has just appeared is lost until it has discovered the client
            nonlocal servers, asked
            count, now = self.node.count_services(name), time.monotonic()
            again = count > servers or (count > 1 and now > asked + 1.0)
            if again and client.service_is_ready():
                futures.append(client.call_async(request))
                asked = now
            servers = count
            return next((each for each in futures if each.done()), None)

        return self.until(responded, f'a response of {name}').result()

    def change_state(self, node, transition):
        """Request a lifecycle transition of another node; return whether it succeeded."""
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState
        return self.call(ChangeState, f'{node}/change_state',
                         transition=Transition(id=transition)).success

    def set_parameter(self, node, name, value):
        """Set a parameter of another node; return (successful, reason)."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter
        given = Parameter(name, value=value).to_parameter_msg()
        result = self.call(SetParameters, f'{node}/set_parameters', parameters=[given]).results[0]
        return result.successful, result.reason
