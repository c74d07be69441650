"""The web server of the page, and its access control."""

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
LOOPBACK = ('127.0.0.1', 'localhost', '::1')
_ANYWHERE = ('0.0.0.0', '::')
_TRIED = 20   # ports
_PING = 4.0   # s between pings of a browser, and for its pong
_CLOSE = 1.0  # s for the closing handshake
_TOKEN = 16   # random bytes
_VIOLATION = 1008  # close code: policy violation, RFC 6455 7.4.1


class AccessPolicy(NamedTuple):
    """
    Conditions for a connection to the server.

    Attributes
    ----------
    token : str
        Path of the connection, which only the printed address contains.
    names : collection of str
        Permitted names of this machine. DNS can resolve any other name to this machine, so that
        a browser takes an unknown page for one of the same origin (DNS rebinding).
    anywhere : bool
        Whether numeric addresses, which DNS cannot redirect, are permitted.

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
            Request whose path must be the token, Host one of the names, and Origin, which every
            browser sends, the same as Host. Malformed requests are rejected.

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


def _policy(host: str, allowed: Collection[str]) -> AccessPolicy:
    names = {*LOOPBACK, *allowed}
    if host not in LOOPBACK:
        names |= {host, socket.gethostname(), f'{socket.gethostname()}.local'}
    return AccessPolicy(secrets.token_urlsafe(_TOKEN), frozenset(map(str.lower, names)),
                        host not in LOOPBACK)


@contextlib.contextmanager
def serve(host: str, port: int | None, title: str, allowed: Collection[str] = ()
          ) -> Iterator[tuple[viser.ViserServer, str]]:
    """
    Run the server in a `with` block; yield the server, and the token of its address.

    Its threads end with the block, as threads that remain at exit can crash the interpreter.

    Parameters
    ----------
    host : str
        Address of the server: a loopback address, or another one of this machine.
    port : int or None
        Port; None: 8080, or the next free one.
    title : str
        Title of the panel.
    allowed : collection of str
        Additional permitted names of this machine.

    Raises
    ------
    ParameterError
        The address or port cannot be used.

    """
    port, policy = free_port(host, port), _policy(host, allowed)
    with contextlib.redirect_stdout(io.StringIO()):  # viser prints a banner
        server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
    _enforce(server, policy)
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width='large')
    # any client could request it, which would make the page public
    server.request_share_url = lambda *_, **__: None
    try:
        yield server, policy.token
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


def free_port(host: str, port: int | None) -> int:
    """Return a port for the server (parameters and errors as of `serve`)."""
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
    raise ParameterError(f'no server can run at {host}, port {number}: {reason}; choose others '
                         'with --host and --port', host=host, port=number)


def _enforce(server: viser.ViserServer, policy: AccessPolicy) -> None:
    """Close all connections that the policy rejects."""
    websockets = server._websock_server  # viser has no public interface for this

    async def check(client) -> None:
        connection = websockets._live_connections[client.client_id]
        if not policy.admits(connection.request):
            connection.recv = _closed  # messages received meanwhile are not read
            connection.close_timeout = _CLOSE
            await connection.close(_VIOLATION, 'open the address that robodyn view printed')

    websockets.on_client_connect(check)
    websockets.disconnect_all_clients()  # earlier connections; browsers connect again


async def _closed(*_, **__):
    raise ConnectionClosedOK(None, None)


def url(server: viser.ViserServer, token: str, name: str = '') -> str:
    """
    Return the address for a browser.

    Parameters
    ----------
    server : ViserServer
        Server of the page.
    token : str
        Token from `serve`.
    name : str
        Name of this machine; default the address of the server.

    """
    host = name or server.get_host()
    host = 'localhost' if host in (*_ANYWHERE, '127.0.0.1') else host
    location = f'{f"[{host}]" if ":" in host else host}:{server.get_port()}'
    # the static page is not secret; it connects to the address after the question mark
    return f'http://{location}/?websocket=ws://{location}/{token}'


def detect_disconnect(server: viser.ViserServer, client_id: int) -> None:
    """Shorten the time after which a lost client is detected, 50 s by default."""
    with contextlib.suppress(AttributeError, LookupError):  # not a public interface of viser
        connection = server._websock_server._live_connections[client_id]
        connection.ping_interval = connection.ping_timeout = _PING
        connection.close_timeout = _CLOSE
