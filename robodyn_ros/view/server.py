"""The web server of the page, and who is let in."""

from __future__ import annotations

from collections.abc import Collection, Iterator
import contextlib
import io
import ipaddress
import secrets
import socket
from typing import NamedTuple
from urllib.parse import urlparse

import viser
from websockets.exceptions import ConnectionClosedOK

from robodyn_ros.exceptions import ParameterError

FIRST_PORT = 8080
LOOPBACK = ('127.0.0.1', 'localhost', '::1')  # addresses of this machine alone
_ANYWHERE = ('0.0.0.0', '::')
_TRIED = 20
_PING = 4.0  # s between two questions whether a browser is still there, and for its answer
_CLOSE = 1.0  # s for it to say goodbye
_TOKEN = 16   # random bytes
_VIOLATION = 1008  # of the policy of a server, RFC 6455 7.4.1


class Door(NamedTuple):
    """
    Who may connect to a server.

    Attributes
    ----------
    token : str
        Path of the connection: only who was given the address of the page knows it.
    names : collection of str
        By which the machine may be called. Another name may be that of anybody who lets it lead
        to this machine, so that the page of a stranger is, to a browser, of the same origin.
    anywhere : bool
        Whether an address in digits, which nobody can redirect, is as good as a name.

    """

    token: str
    names: Collection[str]
    anywhere: bool

    def admits(self, request) -> bool:
        """
        Return whether a request for a connection comes from the page of this server.

        Parameters
        ----------
        request : websockets.http11.Request
            Its path is the token, its Host one of the names, and its Origin, which a browser
            tells for every page, the same. What cannot be found out counts as wrong.

        """
        try:
            host, origin = request.headers['Host'], request.headers.get('Origin')
            name = urlparse(f'//{host}').hostname or ''
            return (secrets.compare_digest(request.path.encode(), f'/{self.token}'.encode())
                    and (name in self.names or (self.anywhere and _is_address(name)))
                    and (origin is None or urlparse(origin).netloc == host))
        except (AttributeError, LookupError, ValueError):
            return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _door(host: str, allowed: Collection[str]) -> Door:
    names = {*LOOPBACK, *allowed}
    if host not in LOOPBACK:
        names |= {host, socket.gethostname(), f'{socket.gethostname()}.local'}
    return Door(secrets.token_urlsafe(_TOKEN), frozenset(map(str.lower, names)),
                host not in LOOPBACK)


@contextlib.contextmanager
def serve(host: str, port: int | None, title: str, allowed: Collection[str] = ()
          ) -> Iterator[tuple[viser.ViserServer, str]]:
    """
    Run the server for the time of a `with` block; give it, and the token of its address.

    Its threads are gone before the interpreter is: what is left of them then can crash it.

    Parameters
    ----------
    host : str
        Address to listen at: that of this machine alone, or another of its own.
    port : int or None
        None: 8080, or the next one that is free.
    title : str
        Over the panel.
    allowed : collection of str
        Names of this machine by which the page may be asked for, besides the usual ones.

    Raises
    ------
    ParameterError
        Nobody can listen there.

    """
    port, door = free_port(host, port), _door(host, allowed)
    with contextlib.redirect_stdout(io.StringIO()):  # it would announce itself in a frame
        server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
    _watch(server, door)
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width='large')
    # any page could ask for it, and be seen by all the world
    server.request_share_url = lambda *_, **__: None
    try:
        yield server, door.token
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


def free_port(host: str, port: int | None) -> int:
    """Return the port to listen at (parameters and errors as of `serve`)."""
    wanted = range(FIRST_PORT, FIRST_PORT + _TRIED) if port is None else (port,)
    for number in wanted:
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, number))
            return number
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, 'strerror', None) or str(error)
    raise ParameterError(f'nobody can listen at {host}, port {number}: {reason}; choose others '
                         'with --host and --port', host=host, port=number)


def _watch(server: viser.ViserServer, door: Door) -> None:
    """Let nobody in but through the door."""
    websockets = server._websock_server  # viser has no door of its own

    async def check(client) -> None:
        connection = websockets._live_connections[client.client_id]
        if not door.admits(connection.request):
            connection.recv = _closed  # what came meanwhile is not read
            connection.close_timeout = _CLOSE
            await connection.close(_VIOLATION, 'open the address that robodyn view printed')

    websockets.on_client_connect(check)
    websockets.disconnect_all_clients()  # who was quicker than this; a browser comes again


async def _closed(*_, **__):
    raise ConnectionClosedOK(None, None)


def url(server: viser.ViserServer, token: str, name: str = '') -> str:
    """
    Return what to type into a browser.

    Parameters
    ----------
    server : ViserServer
        Of the page.
    token : str
        As `serve` gave it.
    name : str
        Of this machine; default the address at which it listens.

    """
    host = name or server.get_host()
    host = 'localhost' if host in (*_ANYWHERE, '127.0.0.1') else host
    place = f'{f"[{host}]" if ":" in host else host}:{server.get_port()}'
    # the page itself is no secret; it connects to what comes behind the question mark
    return f'http://{place}/?websocket=ws://{place}/{token}'


def look_after(server: viser.ViserServer, client_id: int) -> None:
    """Find out soon if a client is gone without a word, not after 50 s as is usual."""
    with contextlib.suppress(AttributeError, LookupError):  # viser does not show it to others
        connection = server._websock_server._live_connections[client_id]
        connection.ping_interval = connection.ping_timeout = _PING
        connection.close_timeout = _CLOSE
