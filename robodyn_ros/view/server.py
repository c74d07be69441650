"""The web server of the page."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import io
import socket
from urllib.parse import urlparse

import viser

from robodyn_ros.exceptions import ParameterError

FIRST_PORT = 8080
LOOPBACK = ('127.0.0.1', 'localhost', '::1')  # addresses of this machine alone
_TRIED = 20
_PING = 4.0  # s between two questions whether a browser is still there, and for its answer
_CLOSE = 1.0  # s for it to say goodbye


@contextlib.contextmanager
def serve(host: str, port: int | None, title: str) -> Iterator[viser.ViserServer]:
    """
    Run the server for the time of a `with` block.

    Its threads are gone before the interpreter is: what is left of them then can crash it.

    Parameters
    ----------
    host : str
        Address to listen at: that of this machine alone, or another of its own.
    port : int or None
        None: 8080, or the next one that is free.
    title : str
        Over the panel.

    Raises
    ------
    ParameterError
        Nobody can listen there.

    """
    port = free_port(host, port)
    with contextlib.redirect_stdout(io.StringIO()):  # it would announce itself in a frame
        server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width='large')
    # any page could ask for it, and be seen by all the world
    server.request_share_url = lambda *_, **__: None
    try:
        yield server
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


def url(server: viser.ViserServer) -> str:
    """Return what to type into a browser."""
    host = server.get_host()
    host = 'localhost' if host in ('0.0.0.0', '::', '127.0.0.1') else host
    return f'http://{f"[{host}]" if ":" in host else host}:{server.get_port()}'


def is_own_page(server: viser.ViserServer, client_id: int) -> bool:
    """
    Return whether a client is the page of this server, not one from elsewhere.

    A browser lets every page that it shows connect to this machine; only its Origin tells. Where
    that cannot be found out, it is none: nobody commands by mistake. Nor is it where a server for
    this machine alone was found by the name of another one, which anybody may give to it.
    """
    try:  # viser does not show the headers to others
        headers = server._websock_server._live_connections[client_id].request.headers
        origin, host = headers.get('Origin'), headers['Host']
        if server.get_host() in LOOPBACK and urlparse(f'//{host}').hostname not in LOOPBACK:
            return False
        return origin is None or urlparse(origin).netloc == host
    except (AttributeError, LookupError, ValueError):
        return False


def look_after(server: viser.ViserServer, client_id: int) -> None:
    """Find out soon if a client is gone without a word, not after 50 s as is usual."""
    with contextlib.suppress(AttributeError, LookupError):  # viser does not show it to others
        connection = server._websock_server._live_connections[client_id]
        connection.ping_interval = connection.ping_timeout = _PING
        connection.close_timeout = _CLOSE
