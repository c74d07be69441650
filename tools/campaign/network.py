"""Two hosts on one machine: Linux network namespaces, with a link that can be cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import ctypes
import os
import shutil
import subprocess

from robodyn_ros.exceptions import RobodynError

_NEWNET = 0x40000000


class Network:
    """
    Two hosts connected by a switch; they exist in a `with` block.

    Raises
    ------
    RobodynError
        The machine does not permit it: it takes root on Linux, and `ip`.

    """

    HOSTS = ('here', 'there')

    def __init__(self) -> None:
        self._own = f'robodyn{os.getpid()}'
        self._names = {host: f'{self._own}{host}' for host in ('switch', *self.HOSTS)}

    def __enter__(self) -> Network:
        try:
            self._build()
        except (OSError, RobodynError):
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error) -> None:
        for name in self._names.values():
            subprocess.run(['ip', 'netns', 'del', name], capture_output=True, check=False)

    def _build(self) -> None:
        if not shutil.which('ip'):
            raise RobodynError('two hosts cannot be made: the command `ip` is missing')
        switch = self._names['switch']
        for name in self._names.values():
            _ip('netns', 'add', name)
        _ip('-n', switch, 'link', 'add', 'switch', 'type', 'bridge', 'mcast_snooping', '0')
        _ip('-n', switch, 'link', 'set', 'switch', 'up')
        for number, host in enumerate(self.HOSTS, start=1):
            name = self._names[host]
            _ip('-n', name, 'link', 'add', 'wire', 'type', 'veth', 'peer', 'name', host,
                'netns', switch)
            _ip('-n', name, 'address', 'add', f'10.77.0.{number}/24', 'dev', 'wire')
            for device in ('lo', 'wire'):
                _ip('-n', name, 'link', 'set', device, 'up')
            _ip('-n', name, 'route', 'add', '224.0.0.0/4', 'dev', 'wire')
            _ip('-n', switch, 'link', 'set', host, 'master', 'switch', 'up')

    def cut(self) -> None:
        """Cut the link between the hosts."""
        _ip('-n', self._names['switch'], 'link', 'set', 'there', 'nomaster')

    def restore(self) -> None:
        """Restore the link between the hosts."""
        _ip('-n', self._names['switch'], 'link', 'set', 'there', 'master', 'switch')

    @contextmanager
    def on(self, host: str) -> Iterator[None]:
        """Move this thread, and processes that it starts, to a host in the `with` block."""
        with open('/proc/thread-self/ns/net', encoding='ascii') as before, \
                open(f'/run/netns/{self._names[host]}', encoding='ascii') as there:
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())


def _enter(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f'cannot enter a network namespace: {os.strerror(number)}')


def _ip(*arguments: str) -> None:
    done = subprocess.run(['ip', *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RobodynError(f'two hosts cannot be made: `ip {" ".join(arguments)}` failed: '
                           f'{done.stderr.strip()}')
