"""
A process that has imported all that nodes need, and forks for each requested node.

Starting Python and importing a node costs more than most tests that need one. `spawn` sends the
request to the server of this test process, which `python -m node_server` is; a node in a fork runs
its module as `python -m` does: same arguments, environment, output, signals and exit code. The
server has no ROS context and no thread of its own when it forks, and it ends with its nodes as
soon as the test process is gone.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback

IMPORTED = ('robodyn_ros.nodes.controller.node', 'robodyn_ros.nodes.simulator.node',
            'robodyn_ros.nodes.guard.node', 'robodyn_ros.nodes.view.markers',
            'robodyn_ros.cli.main')
_MOST = 1 << 17  # bytes of a request
_server = None  # connection, process


class ForkedProcess:
    """
    A process forked by the server, with the methods of `subprocess.Popen` that tests use.

    Attributes
    ----------
    pid : int
    returncode : int or None
        Exit code, or minus the number of the signal that ended it; None while it runs.
    stdout : text file
        What it writes to stdout and stderr.

    """

    def __init__(self, pid, status, stdout):
        self.pid, self.returncode, self.stdout = pid, None, stdout
        self._status = status

    def wait(self, timeout=None):
        """Wait for the end; return the exit code, or raise `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                word = self._status.recv(64)
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired(f'node {self.pid}', timeout) from None
            if not word:
                raise RuntimeError(f'the server of node {self.pid} has ended')
            self.returncode = int(word)
            self._status.close()
        return self.returncode

    def poll(self):
        """Return the exit code, or None while it runs."""
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number):
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def spawn(module, arguments, environment, folder):
    """Return a process that runs a module, from the server of this process."""
    global _server
    if _server is None:
        _server = _start(environment)
        atexit.register(_stop)
    connection, _ = _server
    output, its_output = os.pipe()
    status, its_status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = json.dumps([module, arguments, environment, str(folder)]).encode()
    socket.send_fds(connection, [request], [its_output, its_status.fileno()])
    os.close(its_output)
    its_status.close()
    status.settimeout(60.0)
    return ForkedProcess(int(status.recv(64)), status,
                         open(output, encoding='utf-8', errors='replace'))


def _start(environment):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {**environment, 'PYTHONPATH': os.pathsep.join(
        [os.path.dirname(__file__), environment['PYTHONPATH']])}
    process = subprocess.Popen([sys.executable, '-m', 'node_server', str(theirs.fileno())],
                               env=environment, pass_fds=[theirs.fileno()],
                               stdin=subprocess.DEVNULL, start_new_session=True)
    theirs.close()
    return ours, process


def _stop():
    connection, process = _server
    connection.close()
    process.wait()


class _Server:
    """Forks on request, and reports how each process ended."""

    def __init__(self, connection):
        self._connection = connection
        self._running = {}
        self._events = selectors.DefaultSelector()
        self._events.register(connection, selectors.EVENT_READ)

    def serve(self):
        """Fork until the test process is gone; return what to run in a fork, None at the end."""
        while True:
            for key, _ in self._events.select():
                if key.fileobj is not self._connection:
                    self._report(key.fileobj)
                    continue
                request, handles, _, _ = socket.recv_fds(self._connection, _MOST, 2)
                if not request:
                    for pid, _ in self._running.values():
                        os.kill(pid, signal.SIGKILL)
                        os.waitpid(pid, 0)
                    return None
                if self._fork(*handles):
                    return json.loads(request)

    def _fork(self, output, status):
        """Return whether this is the new process."""
        status = socket.socket(fileno=status)
        pid = os.fork()
        if pid:
            os.close(output)
            status.send(str(pid).encode())
            ending = os.pidfd_open(pid)
            self._running[ending] = pid, status
            self._events.register(ending, selectors.EVENT_READ)
            return False
        os.setsid()  # its weight beside other sessions is its own, whatever other nodes set
        self._events.close()
        self._connection.close()
        status.close()
        for ending, (_, other) in self._running.items():
            os.close(ending)
            other.close()
        for stream in (1, 2):
            os.dup2(output, stream)
        os.close(output)
        return True

    def _report(self, ending):
        """Pass on how a process ended."""
        pid, status = self._running.pop(ending)
        self._events.unregister(ending)
        os.close(ending)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        try:
            status.send(str(code).encode())
        except OSError:
            pass  # it is not waited for
        status.close()


def _run(module, arguments, environment, folder):
    """Run a module as `python -m` does, in a new process; return the exit code."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [path for path in environment['PYTHONPATH'].split(os.pathsep)
                    if path not in sys.path]
    sys.argv[:] = [module, *arguments]
    sys.modules.pop(module, None)  # it is run, not imported
    try:
        runpy.run_module(module, run_name='__main__', alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return 0 if end.code is None else end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code):
    """End as Python does, except for libraries that stop threads which a fork lacks."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def main():
    """Serve the process at the other end of a socket."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()  # what all share stays in shared memory
    request = _Server(connection).serve()
    if request is not None:
        _end(_run(*request))


if __name__ == '__main__':
    main()
