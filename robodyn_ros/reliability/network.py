"""Two hosts in one machine: Linux network namespaces on a wire that can be cut."""

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
    Two hosts, connected by a switch; exists in a `with` block.

    Raises
    ------
    RobodynError
        This machine does not allow it: that takes root on Linux, and `ip`.

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
            raise RobodynError('no two hosts here: the command `ip` is missing')
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
        """Let nothing through any more."""
        _ip('-n', self._names['switch'], 'link', 'set', 'there', 'nomaster')

    def heal(self) -> None:
        """Let everything through again."""
        _ip('-n', self._names['switch'], 'link', 'set', 'there', 'master', 'switch')

    @contextmanager
    def on(self, host: str) -> Iterator[None]:
        """Let this thread, and what it starts, live on a host meanwhile."""
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
        raise RobodynError(f'no two hosts here: `ip {" ".join(arguments)}` said: '
                           f'{done.stderr.strip()}')
