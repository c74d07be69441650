"""Golden logs at the node: joint state messages in, effort commands out."""

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from golden.log_file import off_grid
from golden.node_host import NodeHost
from golden.replay import events, torques
from golden.scripted_time import EPOCH, instead_of_time, ScriptedTime

_QUANTITIES = ('q', 'qd', 'effort')
_LOCKSTEP_DEPTH = 5


class Wire:
    """
    Joint state messages as integers.

    Attributes
    ----------
    layouts : list of list of str
        Names of the joints of a message.
    rows : list of (arrival, stamp, index of the layout, integers of q, qd and effort)
        Times in ns since the beginning; a stamp of -1 is none.

    """

    def __init__(self):
        self.layouts, self.rows = [], []

    def add(self, arrival, stamp, names, *values):
        """Append a message, and return it."""
        if names not in self.layouts:
            self.layouts.append(names)
        self.rows.append((arrival, stamp, self.layouts.index(names), *values))
        return self.message(self.rows[-1])

    def message(self, row):
        """Return the message of a row."""
        _, stamp, layout, *values = row
        q, qd, effort = (off_grid(np.array(whole, dtype=np.int64), name).tolist()
                         for whole, name in zip(values, _QUANTITIES))
        message = JointState(name=self.layouts[layout], position=q, velocity=qd, effort=effort)
        if stamp >= 0:
            second, rest = divmod(EPOCH + stamp, 1_000_000_000)
            message.header.stamp = Time(sec=second, nanosec=rest)
        return message

    def arrays(self):
        """Return the rows as arrays; values are padded to the longest message."""
        arrays = {'wire': np.array([row[:3] for row in self.rows], dtype=np.int64)}
        for k, name in enumerate(_QUANTITIES):
            values = [row[3 + k] for row in self.rows]
            width = max(map(len, values), default=0)
            arrays[f'size {name}'] = np.array([[len(each)] for each in values], dtype=np.int64)
            arrays[f'wire {name}'] = np.array([
                np.pad(each, (0, width - len(each))) for each in values], dtype=np.int64)
        return arrays

    @classmethod
    def of(cls, layouts, arrays):
        """Return the messages of a log."""
        wire = cls()
        wire.layouts = layouts
        columns = [[row[:size[0]] for row, size in zip(arrays[f'wire {name}'],
                                                       arrays[f'size {name}'])]
                   for name in _QUANTITIES]
        wire.rows = [(*row, *values) for row, *values in zip(arrays['wire'].tolist(), *columns)]
        return wire

    def source(self):
        """Return the source of the messages, see `ScriptedTime`."""
        rows = iter(self.rows)
        following = next(rows, None)

        def source(end):
            nonlocal following
            if following is None or following[0] > end:
                return None
            row, following = following, next(rows, None)
            return row[0], self.message(row)
        return source


class NodeRecorder:
    """
    Runs a scenario at the node and records its commands.

    Parameters
    ----------
    robot : str
    scenario : dict
        As plain data.
    nodes : pair of Node
    source : callable
        See `ScriptedTime`.
    sent : callable, optional
        Called with the torques of every command, in the order of the wire.

    Attributes
    ----------
    answers : list of (ns, answer)
        Of the requests.
    events : list of (number of commands before, changes)
    commands : list of (ns, ns of the state that is answered, torques in the order of the wire)

    """

    def __init__(self, robot, scenario, nodes, source, sent=None):
        setup = scenario['setup']
        lockstep = setup.get('node', {}).get('lockstep', False)
        self.clock = ScriptedTime(source, _LOCKSTEP_DEPTH if lockstep else 1, [
            spell[:2] for spell in scenario['spells'] if spell[2] == 'paused'])
        self.answers, self.events, self.commands = [], [], []
        self._status, self._forward = {}, sent
        with instead_of_time(self.clock):
            self.host = host = NodeHost(robot, setup, nodes, self.clock, self._sent)
            try:
                self._run(scenario)
            finally:
                host.destroy()

    def _run(self, scenario):
        requests = sorted(scenario['requests'], key=lambda each: each[0])
        while self.clock.now < 1e9 * scenario['seconds']:
            while requests and 1e9 * requests[0][0] <= self.clock.now:
                answer = self.host.request(requests[0][1], self.clock.now, requests.pop(0)[2])
                self.answers.append([self.clock.now, answer])
            self.host.turn()
            self._observe()

    def _sent(self, torque, stamp):
        self.commands.append((self.clock.now, stamp, torque))
        if self._forward is not None:
            self._forward(torque)
        self._observe()

    def _observe(self):
        status = self.host.status()
        changes = {name: value for name, value in status.items()
                   if name not in self._status or self._status[name] != value}
        if changes:
            self.events.append([len(self.commands), {'ns': self.clock.now, **changes}])
            self._status = status

    def arrays(self):
        """Return the commands."""
        return {'sent': np.array([each[:2] for each in self.commands], dtype=np.int64),
                'torque': np.array([each[2] for each in self.commands], dtype=float)}


def replay_node(header, arrays, nodes):
    """Replay a log; return the differences."""
    wire = Wire.of(header['layouts'], arrays)
    scenario = header['scenario']
    recorder = NodeRecorder(header['robot'], scenario, nodes, wire.source())
    return list(_compare(header, arrays, recorder))


def _compare(header, arrays, recorder):
    what, now = f'{header["robot"]}/{header["scenario"]["name"]}', recorder.arrays()

    def place(index):
        ns = arrays['sent'][min(index, len(arrays['sent']) - 1), 0] if len(arrays['sent']) else 0
        return f'{what}: command {index} (t = {1e-9 * ns:.4f} s)'

    for before, after in zip(header['answers'], recorder.answers):
        if before != after:
            yield f'{what}: a request was answered {before}, now {after}'
            break
    yield from events(header['events'], recorder.events, place)
    count = min(len(arrays['sent']), len(now['sent']))
    if len(arrays['sent']) != len(now['sent']):
        yield f'{what}: {len(arrays["sent"])} commands, now {len(now["sent"])}'
    differ = (now['sent'][:count] != arrays['sent'][:count]).any(axis=1)
    if differ.any():
        index = int(np.argmax(differ))
        yield (f'{place(index)}: sent at, and in answer to (ns) '
               f'{arrays["sent"][index].tolist()}, now {now["sent"][index].tolist()}')
    host = recorder.host
    limit = host.effort_limit
    yield from torques(arrays['torque'][:count], now['torque'][:count], limit, host.joints, place)
