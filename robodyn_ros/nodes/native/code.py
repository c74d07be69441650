"""
Machine code of the native control loop, as LLVM IR.

An iteration is a turn of `control.turn`: it waits for a joint state or a state of the guard, at
most until a torque is due; runs the cycle with the newest program; publishes the torque and the
heartbeat; and writes a row of the ring buffer. Decisions are those of `turn` and `cycle`; here are
calls of these, of rcl and of clocks, without a lock and without the Python interpreter. Words of
the block are named as in `block`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math

from llvmlite import ir

from robodyn_ros.control.shared_block import PROGRAM_WORDS, ROW
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.nodes.native import rcl, writer
from robodyn_ros.nodes.native.block import PLACES
from robodyn_ros.nodes.native.writer import (
    BUFFER, F64, I32, I64, LENGTH, MESSAGE, REALTIME, STAMP, Writer)
from robodyn_ros.safety.acceptance import REQUESTS

_PAUSE = 500       # us after an error of rcl_wait
_TEXT = STAMP + 8  # offset of the text of a Header


class _Writer(Writer):
    """Writes a function of the block, with access to the blocks of cycle and turn."""

    def __init__(self, fields: Mapping[str, int], module: ir.Module, name: str, result: ir.Type):
        super().__init__(module, name, PLACES, result)
        self._fields = fields

    def start(self, block: str, name: str):
        """Return the address of a field of a block of the cycle."""
        return self.b.add(self.word(block), I64(8 * self._fields[f'{block}.{name}']))

    def read(self, block: str, name: str):
        """Return a field of a block of the cycle or of the turn."""
        return self.load(self.word(block), 8 * self._fields[f'{block}.{name}'], F64)

    def write(self, block: str, name: str, value) -> None:
        """Set a field of a block of the cycle or of the turn."""
        self.store(F64(value) if isinstance(value, float) else value, self.word(block),
                   8 * self._fields[f'{block}.{name}'])

    def since(self, stamp):
        """Return a stamp in ns as seconds since the origin of the turn."""
        return self.b.fmul(F64(1e-9), self.b.sitofp(self.b.sub(stamp, self.word('since')), F64))

    def bound_to(self, name: str):
        """Return whether the message that was taken is of the source that is bound, if one is."""
        b, info = self.b, self.word('info')
        same, bound = b.icmp_signed('==', I64(0), I64(0)), b.icmp_signed('!=', I64(0), I64(0))
        for k in range(2):
            word, gid = self.word(f'{name}{k}'), self.load(info, rcl.GID + 8 * k)
            same = b.and_(same, b.icmp_signed('==', word, gid))
            bound = b.or_(bound, b.icmp_signed('!=', word, I64(0)))
        with b.if_then(b.and_(bound, b.not_(same))):
            for k in range(2):
                self.put(f'foreign{k}', self.load(info, rcl.GID + 8 * k))
            self.count_up('strangers')
        return b.or_(same, b.not_(bound))

    def step(self, name: str, now=None):
        """Run a function of `turn` at a time, by default now; return its result."""
        self.write('inputs', 'now', self.now() if now is None else now)
        self.copy(self.word('previous'), self.word('turn'), self.word('turn_bytes'))
        self.call(f'turn_{name}', *map(self.word, ('inputs', 'previous', 'turn_program', 'turn',
                                                   'result')), result=ir.VoidType())
        return self.load(self.word('result'), kind=F64)


def loop_ir(places: Mapping[str, int]) -> str:
    """
    Return the module with `loop(block)`, `iterate(block)`, `decode(block)` and `swap(block)`.

    Parameters
    ----------
    places : mapping of str to int
        Indices of the fields of the blocks of cycle and turn, such as 'state.kind'.

    """
    module = ir.Module('native loop')
    functions: dict[str, ir.Function] = {}

    def function(write: Callable, name: str, result: ir.Type = ir.VoidType()) -> None:
        w = _Writer(places, module, name, result)
        write(w, functions)
        if not w.b.block.is_terminated:
            w.b.ret_void()
        functions[name] = w.b.function

    function(_decode, 'decode', I64)
    function(_receive_states, 'receive_states', I64)
    function(_receive_guard_state, 'receive_guard_state')
    function(_send, 'send')
    function(_send_heartbeat, 'send_heartbeat')
    function(_record, 'record')
    function(_iterate, 'iterate')
    function(_loop, 'loop')
    function(lambda w, _functions: w.swap(), 'swap')
    return str(module)


def _decode(w: _Writer, _functions) -> None:
    """Copy the joint state of the received message; return whether its layout is known."""
    b = w.b
    message = w.word('state_message')
    data, length = w.load(message, BUFFER), w.load(message, LENGTH)
    with w.fitting(w.word('layouts'), w.word('layout_count'), data, length) as x:
        with b.if_then(b.icmp_signed('==', x['joints'], I64(0))):
            w.count_up('others')
            b.ret(I64(0))  # joints of another robot
        _read(w, x, data)
        b.ret(I64(1))
    w.count_up('refused')
    fits = b.and_(b.icmp_signed('==', w.word('unknown_length'), I64(0)),
                  b.icmp_signed('<=', length, w.word('unknown_bytes')))
    with b.if_then(fits):
        w.copy(w.word('unknown'), data, length)
        b.fence('release')
        w.put('unknown_length', length)
    b.ret(I64(0))


def _receive_states(w: _Writer, functions: Mapping) -> None:
    """Take all waiting messages; return whether one of them is a state: the newest counts."""
    b, after, received = w.b, w.b.append_basic_block(), w.variable()
    with w.each(w.word('depth')):
        with b.if_then(b.not_(w.take(w.word('states'), w.word('state_message'), w.word('info')))):
            b.branch(after)
        with b.if_then(w.bound_to('state_source')):
            b.store(b.or_(b.load(received), b.call(functions['decode'], [w.block])), received)
    b.branch(after)
    b.position_at_end(after)
    b.ret(b.load(received))


def _read(w: _Writer, x: Mapping, data) -> None:
    """Copy the numbers of a message of a known layout into the state."""
    b = w.b
    with w.each(x['joints']) as j:
        column = w.load(b.add(x['columns'], b.mul(j, I64(8))))
        for name, key in (('position', 'q'), ('velocity', 'qd'), ('effort', 'effort')):
            place = b.add(b.add(data, x[name]), b.mul(column, I64(8)))
            present = b.icmp_signed('>=', x[name], I64(0))
            # for an absent array the begin of the message is read, and not used
            value = b.select(present, w.load(b.select(present, place, data), kind=F64),
                             F64(math.nan))
            if name == 'effort':
                value = b.fdiv(value, w.load(b.add(w.word('effort_scale'), b.mul(j, I64(8))),
                                             kind=F64))
            w.store(value, b.add(w.start('state', key), b.mul(j, I64(8))))
    w.write('state', 'stamp', w.seconds(*w.stamp(data, STAMP)))
    w.put('stamp', w.nanoseconds(*w.stamp(data, STAMP)))


def _receive_guard_state(w: _Writer, _functions) -> None:
    """Take a state of the guard, if there is one."""
    b = w.b
    message = w.word('guard_message')
    with b.if_then(b.icmp_signed('==', w.word('guard_states'), I64(0))):
        b.ret_void()
    with b.if_then(b.not_(w.take(w.word('guard_states'), message, w.word('info')))):
        b.ret_void()
    with b.if_then(b.not_(w.bound_to('guard_source'))):
        b.ret_void()
    data, length = w.load(message, BUFFER), w.load(message, LENGTH)
    with w.each(w.word('guard_state_count')) as index:
        row = b.add(w.word('guard_state_table'), b.mul(index, I64(16)))
        text, size = w.load(row), w.load(row, 8)
        with b.if_then(b.icmp_signed('>=', length, b.add(size, I64(_TEXT)))):
            differs = w.variable()
            w.compare(text, b.add(data, I64(_TEXT)), size, differs)
            with b.if_then(b.icmp_signed('==', b.load(differs), I64(0))):
                w.write('inputs', 'guard_state', b.sitofp(b.add(index, I64(1)), F64))
                w.write('inputs', 'echo', w.since(w.nanoseconds(*w.stamp(data, STAMP))))
                w.step('guard_heard')


def _send(w: _Writer, _functions) -> None:
    """Publish the torque, in the order of the message, unless it is withheld."""
    b = w.b
    w.call_rcl('matched', w.word('torques'), w.address('subscribers'))
    w.write('inputs', 'subscribers', b.uitofp(w.word('subscribers'), F64))
    with b.if_else(w.is_(w.step('check'), 0.0)) as (permitted, late):
        with permitted:
            _write_command(w)
            success = w.call_rcl('publish', w.word('torques'), w.word('torque_message'), I64(0))
            w.write('inputs', 'published', b.uitofp(success, F64))
            w.step('sent')
            with b.if_else(success) as (published, failed):
                with published:
                    w.count_up('sent')
                    w.put('unsent', 0)
                with failed:
                    w.count_up('withheld')
                    w.put('unsent', 1)
        with late:
            w.count_up('withheld')
            w.put('unsent', 1)


def _write_command(w: _Writer) -> None:
    """Write the numbers of the torque into the message."""
    b, zero = w.b, I64(0)
    with b.if_then(b.icmp_signed('!=', w.word('drive'), zero)):
        w.call('drive', w.word('drive_block'), result=ir.VoidType())
    with w.each(w.word('number_count')) as k:
        row = b.add(w.word('numbers'), b.mul(k, I64(24)))
        value, place = w.load(w.load(row), kind=F64), w.load(row, 8)
        with b.if_else(b.icmp_signed('==', w.load(row, 16), I64(8))) as (double, single):
            with double:
                w.store(value, place)
            with single:
                w.store(b.fptrunc(value, ir.FloatType()), place)
    stamp = w.word('command_stamp')
    with b.if_then(b.icmp_signed('!=', stamp, zero)):
        w.set_stamp(stamp, w.nanoseconds(*w.clock(REALTIME)))


def _send_heartbeat(w: _Writer, _functions) -> None:
    """Publish a heartbeat, if one is due and a guard subscribes."""
    b = w.b
    after, wall = b.add(w.word('heartbeat_stamp'), I64(1)), w.nanoseconds(*w.clock(REALTIME))
    stamp = b.select(b.icmp_signed('>', after, wall), after, wall)
    w.put('heartbeat_stamp', stamp)
    w.write('inputs', 'stamp', w.since(stamp))
    phase = b.fptosi(w.step('heartbeat'), I64)
    with b.if_then(b.and_(b.icmp_signed('>=', phase, I64(0)),
                          b.icmp_signed('!=', w.word('guard_subscribed'), I64(0)))):
        message = b.add(w.word('heartbeat_messages'), b.mul(phase, I64(MESSAGE)))
        w.set_stamp(w.load(message, BUFFER), stamp)
        w.call_rcl('publish', w.word('heartbeats'), message, I64(0))


def _record(w: _Writer, _functions) -> None:
    """Write inputs and results of the iteration into the ring buffer."""
    b = w.b
    count = w.word('count')
    row = b.add(w.word('ring'), b.mul(b.srem(count, w.word('ring_rows')), w.word('ring_bytes')))
    head = {name.lstrip('~'): 8 * place for place, name in enumerate(ROW)}
    w.store(I64(-1), row, head['number'])
    b.fence('seq_cst')
    w.store(w.word('stamp'), row, head['stamp'])
    w.store(w.read('state', 'arrival'), row, head['arrival'])
    w.store(w.read('state', 'clock'), row, head['wall'])
    w.store(w.now(), row, head['end'])
    w.store(w.word('sent'), row, head['sent'])
    after = b.add(row, I64(8 * len(ROW)))
    w.copy(after, w.word('turn'), w.word('turn_bytes'))
    w.copy(b.add(after, w.word('turn_bytes')), w.word('memory'), w.word('memory_bytes'))
    b.fence('seq_cst')
    w.store(count, row, head['number'])
    b.fence('release')
    w.count_up('count')


def _iterate(w: _Writer, functions: Mapping) -> None:
    b = w.b
    # wait for a joint state, a state of the guard, or a request of Python
    wait = w.step('wait')
    wait_set, none = w.word('wait_set'), I64(0)
    w.call_rcl('clear', wait_set)
    w.call_rcl('add_subscription', wait_set, w.word('states'), none)
    with b.if_then(b.icmp_signed('!=', w.word('guard_states'), I64(0))):
        w.call_rcl('add_subscription', wait_set, w.word('guard_states'), none)
    w.call_rcl('add_guard_condition', wait_set, w.word('wake'), none)
    code = w.call('wait', wait_set, b.fptosi(b.fmul(wait, F64(1e9)), I64))
    with b.if_then(b.and_(b.icmp_signed('!=', code, I32(rcl.OK)),
                          b.icmp_signed('!=', code, I32(rcl.TIMEOUT)))):
        w.count_error()
        w.call('usleep', I32(_PAUSE))
    b.call(functions['receive_guard_state'], [w.block])
    has_state = b.icmp_signed('!=', b.call(functions['receive_states'], [w.block]), I64(0))
    now = w.now()
    wall = w.seconds(*w.clock(REALTIME))
    # what the turn is, and whether it may command
    w.write('inputs', 'received', b.uitofp(has_state, F64))
    w.write('inputs', 'alive', w.number('alive'))
    w.write('inputs', 'lost', b.sitofp(w.word('lost'), F64))
    w.step('begin', now)
    with b.if_then(b.not_(w.is_(w.read('turn', 'guard_commands'), 0.0))):
        w.put('lost', 1)
    for name in ('kind', 'permitted', 'unattended'):
        w.write('state', name, w.read('turn', name))
    simulated = b.icmp_signed('!=', w.word('simulated'), I64(0))
    w.write('state', 'clock', b.select(
        b.and_(simulated, has_state), w.read('state', 'stamp'), wall))
    for name in ('now', 'arrival'):
        w.write('state', name, now)
    w.write('state', 'cause', b.select(has_state, F64(0.0), w.number('cause')))
    # the cycle, with the newest program
    number = _take_program(w)
    w.call('cycle', w.word('cycle_block'), result=ir.VoidType())
    made = w.read('memory', 'acceptance.kind')
    w.write('inputs', 'kind', made)
    with b.if_then(b.not_(w.is_(made, REQUESTS))):
        b.call(functions['send'], [w.block])
    w.step('end', now)
    b.call(functions['send_heartbeat'], [w.block])
    b.call(functions['record'], [w.block])
    # once Python reads `used`, this iteration is in the ring buffer
    b.fence('release')
    w.put('used', number)


def _take_program(w: _Writer):
    """Set the newest program for the cycle; return its number."""
    b = w.b
    again, after = b.append_basic_block(), b.append_basic_block()
    current, using = map(w.word_at, ('current', 'using'))
    b.branch(again)
    b.position_at_end(again)
    index = b.load_atomic(current, 'seq_cst', 8)
    b.store_atomic(index, using, 'seq_cst', 8)
    # Python may have submitted another one before `using` was visible to it
    same = b.icmp_signed('==', index, b.load_atomic(current, 'seq_cst', 8))
    b.cbranch(same, after, again)
    b.position_at_end(after)
    program = w.row_of('number0', index, PROGRAM_WORDS)
    w.store(w.load(program, 8), w.word('program_slot'))
    w.store(w.load(program, 16), w.word('segments_slot'))
    w.store(w.load(program, 24), w.word('segments_slot'), 8)
    return w.load(program)


def _loop(w: _Writer, functions: Mapping) -> None:
    w.until_stopped(lambda: w.b.call(functions['iterate'], [w.block]))


def compiled(places: Mapping[str, int]) -> machine.Code:
    """Return the machine code, from the cache or compiled."""
    return writer.compiled(loop_ir(places))
