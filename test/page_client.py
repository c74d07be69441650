"""A client of a page that is no browser: it implements the protocol, and may be slow."""
import socket
from urllib.parse import parse_qs, urlparse

import msgspec
import viser
from viser import _messages as messages
from websockets.sync.client import connect
import zstandard

# the server takes a client for connected once it reports its camera
CAMERA = messages.ViewerCameraMessage(
    (1.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0), 0.8, 0.01, 100.0, 600, 800, (0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0))


class PageClient:
    """
    Connected until the end of the `with` block.

    Parameters
    ----------
    url : str
        Of the page.
    origin : str, optional
        Origin of the page that connects, as a browser reports it.

    Attributes
    ----------
    messages : list of dict
        What has come.

    """

    def __init__(self, url, origin=None):
        self.messages = []
        address = urlparse(url)
        given = parse_qs(address.query).get('websocket')  # as the page does
        target = given[0] if given else f'ws://{address.netloc}{address.path}'
        self.socket = connect(
            target, origin=origin, compression=None, max_size=None, close_timeout=0.1,
            subprotocols=[f'viser-v{viser.__version__}'])
        self.send(CAMERA)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, message):
        """Send one message."""
        self.socket.send(msgspec.msgpack.encode(message.as_serializable_dict()))

    def crash(self):
        """Be gone without a word."""
        self.socket.socket.shutdown(socket.SHUT_RDWR)

    def read(self, seconds=0.01):
        """Take what comes within a time."""
        try:
            data = self.socket.recv(timeout=seconds)
        except TimeoutError:
            return
        size = int.from_bytes(data[8:16], 'little')
        text = zstandard.ZstdDecompressor().decompress(
            data[16:16 + size], max_output_size=int.from_bytes(data[:8], 'little'))
        self.messages += msgspec.msgpack.decode(text)['messages']

    def of_type(self, name):
        """Return the messages of a type that have come."""
        return [each for each in self.messages if each['type'] == name]

    def buttons(self):
        """Return the ids of the buttons of the page by their labels."""
        return {each['props']['label']: each['uuid']
                for each in self.of_type('GuiButtonMessage')}

    def click(self, label):
        """Click a button."""
        self.send(messages.GuiUpdateMessage(self.buttons()[label], {'value': True}))

    def drag(self, phase, name, begin, end):
        """Drag a node of the scene from one place to another."""
        self.send(messages.SceneNodeDragMessage(
            phase, name, None, tuple(begin), (0.0, 0.0), tuple(end), (0.0, 0.0), 'left', None))

    def draggable(self):
        """Return the names of what can be dragged."""
        return [each['name'] for each in self.of_type('SetSceneNodeDragBindingsMessage')]
