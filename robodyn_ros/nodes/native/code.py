"""
Machine code of the native loop, as LLVM IR.

A turn waits for a state, or for a word of the guard, at most until a torque is due; runs the cycle
with the newest program; sends what it returns; sends the heartbeat; and keeps a row of what was
seen and done. It calls nothing but functions of rcl, clocks and compiled steps, takes no lock, and
needs no interpreter. Words of the block are named as in `block`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math

from llvmlite import ir

from robodyn_ros.control.permission import SPACING
from robodyn_ros.control.state import (
    BETWEEN, COAST, DUE, FROM_STATE, RECEIVED, REQUESTS, SILENT, WAITING)
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.nodes.native import rcl, writer
from robodyn_ros.nodes.native.block import PLACES, PROGRAM_WORDS, ROW
from robodyn_ros.nodes.native.writer import (
    BUFFER, F64, I32, I64, LENGTH, MESSAGE, REALTIME, STAMP, Writer)

_REST = 500        # us after an error of rcl_wait
_FAILURES = 10     # torques that could not be published, after which no heartbeat is sent
_TEXT = STAMP + 8  # of a Header, after its stamp


class _Writer(Writer):
    """Writes a function of the block, with the blocks of cycle and permission."""

    def __init__(self, fields: Mapping[str, int], module: ir.Module, name: str, result: ir.Type):
        super().__init__(module, name, PLACES, result)
        self._fields = fields

    def place(self, name: str) -> int:
        """Return the place of a field."""
        return self._fields[name]

    def read(self, block: str, name: str):
        """Return a field of a block of the cycle, or of the permission."""
        return self.load(self.word(block), 8 * self._fields[f'{block}.{name}'], F64)

    def write(self, block: str, name: str, value) -> None:
        """Set a field of a block of the cycle, or of the permission."""
        self.store(F64(value) if isinstance(value, float) else value, self.word(block),
                   8 * self._fields[f'{block}.{name}'])

    def since(self, stamp):
        """Return a stamp in ns as seconds, as the permission counts them."""
        return self.b.fmul(F64(1e-9), self.b.sitofp(self.b.sub(stamp, self.word('since')), F64))

    def step(self, name: str):
        """Run a step of the permission, at the time in its turn; return its result."""
        self.copy(self.word('before'), self.word('permission'), self.word('permission_bytes'))
        self.call(name, *map(self.word, ('turn', 'before', 'permission_program', 'permission',
                                         'result')), result=ir.VoidType())
        return self.load(self.word('result'), kind=F64)


def loop_ir(places: Mapping[str, int]) -> str:
    """
    Return the module with `loop(block)`, `turn(block)`, `decode(block)` and `swap(block)`.

    Parameters
    ----------
    places : mapping of str to int
        Places of the fields of the blocks of cycle and permission, such as 'state.kind'.

    """
    module = ir.Module('native loop')
    functions = {}

    def function(write: Callable, name: str, result: ir.Type = ir.VoidType()) -> None:
        w = _Writer(places, module, name, result)
        write(w, functions)
        if not w.b.block.is_terminated:
            w.b.ret_void()
        functions[name] = w.b.function

    function(_decode, 'decode', I64)
    function(_hear, 'hear_guard')
    function(_send, 'send')
    function(_beat, 'send_heartbeat')
    function(_keep, 'keep')
    function(_turn, 'turn')
    function(_loop, 'loop')
    function(_swap, 'swap')
    return str(module)


def _decode(w: _Writer, _functions) -> None:
    """Write the joint state of the message that was received; return whether there is one."""
    b = w.b
    message = w.word('state_message')
    data, length = w.load(message, BUFFER), w.load(message, LENGTH)
    with w.fitting(w.word('layouts'), w.word('layout_count'), data, length) as x:
        with b.if_then(b.icmp_signed('==', x['joints'], I64(0))):
            b.ret(I64(0))  # of others
        _read(w, x, data)
        b.ret(I64(1))
    w.count_up('refused')
    fits = b.and_(b.icmp_signed('==', w.word('strange_length'), I64(0)),
                  b.icmp_signed('<=', length, w.word('strange_bytes')))
    with b.if_then(fits):
        w.copy(w.word('strange'), data, length)
        b.fence('release')
        w.put('strange_length', length)
    b.ret(I64(0))


def _read(w: _Writer, x: Mapping, data) -> None:
    """Write the numbers of a message of a known layout into the state."""
    b = w.b
    state = w.word('state')
    with w.each(x['joints']) as j:
        column = w.load(b.add(x['columns'], b.mul(j, I64(8))))
        for name, key in (('position', 'q'), ('velocity', 'qd'), ('effort', 'effort')):
            place = b.add(b.add(data, x[name]), b.mul(column, I64(8)))
            there = b.icmp_signed('>=', x[name], I64(0))
            # an array that is not there is read from the begin of the message, and not used
            value = b.select(there, w.load(b.select(there, place, data), kind=F64),
                             F64(math.nan))
            begin = b.add(state, I64(8 * w.place(f'state.{key}')))
            w.store(value, b.add(begin, b.mul(j, I64(8))))
    w.write('state', 'stamp', w.seconds(*w.stamp(data, STAMP)))


def _hear(w: _Writer, _functions) -> None:
    """Take note of a word of the guard, if one has come."""
    b = w.b
    message = w.word('word_message')
    with b.if_then(b.icmp_signed('==', w.word('words'), I64(0))):
        b.ret_void()
    with b.if_then(b.not_(w.take(w.word('words'), message))):
        b.ret_void()
    data, length = w.load(message, BUFFER), w.load(message, LENGTH)
    with w.each(w.word('word_count')) as index:
        row = b.add(w.word('word_table'), b.mul(index, I64(16)))
        text, size = w.load(row), w.load(row, 8)
        with b.if_then(b.icmp_signed('>=', length, b.add(size, I64(_TEXT)))):
            differs = w.variable()
            w.compare(text, b.add(data, I64(_TEXT)), size, differs)
            with b.if_then(b.icmp_signed('==', b.load(differs), I64(0))):
                w.write('turn', 'guard_state', b.sitofp(b.add(index, I64(1)), F64))
                w.write('turn', 'echo', w.since(w.nanoseconds(*w.stamp(data, STAMP))))
                w.write('turn', 'now', w.now())
                w.step('receive')


def _send(w: _Writer, _functions) -> None:
    """Send the torque, in the order of the wire, unless the permission is out of date."""
    b = w.b
    w.write('turn', 'now', w.now())
    with b.if_else(w.is_(w.step('check'), 0.0)) as (permitted, late):
        with permitted:
            with w.each(w.word('joints')) as j:
                joint = w.load(b.add(w.word('order'), b.mul(j, I64(8))))
                torque = w.load(b.add(w.word('torque'), b.mul(joint, I64(8))), kind=F64)
                w.store(torque, b.add(w.word('torque_data'), b.mul(j, I64(8))))
            good = w.ask('publish', w.word('torques'), w.word('torque_message'), I64(0))
            with b.if_else(good) as (published, failed):
                with published:
                    w.put('commands', 1)
                    w.count_up('sent')
                    w.put('failures', 0)
                    w.put('unsent', 0)
                with failed:  # the guard is to take over if that goes on
                    w.count_up('failures')
                    w.count_up('withheld')
                    w.put('unsent', 1)
        with late:
            w.count_up('withheld')
            w.put('unsent', 1)


def _beat(w: _Writer, _functions) -> None:
    """Send a heartbeat, if the last one is not quite fresh or was of another phase."""
    b = w.b
    after, wall = b.add(w.word('beat_stamp'), I64(1)), w.nanoseconds(*w.clock(REALTIME))
    stamp = b.select(b.icmp_signed('>', after, wall), after, wall)
    w.put('beat_stamp', stamp)
    w.write('turn', 'commands', b.sitofp(w.word('commands'), F64))
    w.write('turn', 'stamp', w.since(stamp))
    now = w.now()
    w.write('turn', 'now', now)
    phase = b.fptosi(w.step('heartbeat_sent'), I64)
    due = b.or_(b.icmp_signed('!=', phase, w.word('beat_phase')), b.fcmp_ordered(
        '>=', b.fsub(now, w.number('beat_time')), F64(SPACING)))
    alive = b.and_(b.icmp_signed('!=', w.word('heard'), I64(0)),
                   b.icmp_signed('<', w.word('failures'), I64(_FAILURES)))
    with b.if_then(b.and_(due, alive)):
        w.put('beat_time', now)
        w.put('beat_phase', phase)
        message = b.add(w.word('heartbeat_messages'), b.mul(phase, I64(MESSAGE)))
        w.set_stamp(w.load(message, BUFFER), stamp)
        w.ask('publish', w.word('heartbeats'), message, I64(0))


def _keep(w: _Writer, _functions) -> None:
    """Put what was seen and done into the ring."""
    b = w.b
    count = w.word('count')
    row = b.add(w.word('ring'), b.mul(b.srem(count, w.word('ring_rows')), w.word('ring_bytes')))
    head = {name.lstrip('~'): 8 * place for place, name in enumerate(ROW)}
    w.store(I64(-1), row, head['number'])
    b.fence('seq_cst')
    message = w.word('state_message')
    w.store(w.nanoseconds(*w.stamp(w.load(message, BUFFER), STAMP)), row, head['stamp'])
    w.store(w.read('state', 'arrival'), row, head['arrival'])
    w.store(w.read('state', 'clock'), row, head['wall'])
    w.store(w.now(), row, head['end'])
    w.store(w.word('sent'), row, head['sent'])
    after = b.add(row, I64(8 * len(ROW)))
    w.copy(after, w.word('permission'), w.word('permission_bytes'))
    w.copy(b.add(after, w.word('permission_bytes')), w.word('memory'), w.word('memory_bytes'))
    b.fence('seq_cst')
    w.store(count, row, head['number'])
    b.fence('release')
    w.count_up('count')


def _turn(w: _Writer, functions: Mapping) -> None:
    b = w.b
    # until a state comes, or a word of the guard, or something is to be done
    wait = b.fsub(w.number('due'), w.now())
    wait = b.select(b.fcmp_ordered('<', wait, F64(COAST)), wait, F64(COAST))
    wait = b.select(b.fcmp_ordered('>', wait, F64(0.0)), wait, F64(0.0))
    wait_set, none = w.word('wait_set'), I64(0)
    w.ask('clear', wait_set)
    w.ask('add_subscription', wait_set, w.word('states'), none)
    with b.if_then(b.icmp_signed('!=', w.word('words'), I64(0))):
        w.ask('add_subscription', wait_set, w.word('words'), none)
    w.ask('add_guard_condition', wait_set, w.word('wake'), none)
    code = w.call('wait', wait_set, b.fptosi(b.fmul(wait, F64(1e9)), I64))
    with b.if_then(b.and_(b.icmp_signed('!=', code, I32(rcl.OK)),
                          b.icmp_signed('!=', code, I32(rcl.TIMEOUT)))):
        w.fail()
        w.call('usleep', I32(_REST))
    b.call(functions['hear_guard'], [w.block])
    # what has come
    received = w.variable()
    with b.if_then(w.take(w.word('states'), w.word('state_message'))):
        b.store(b.call(functions['decode'], [w.block]), received)
    came = b.icmp_signed('!=', b.load(received), I64(0))
    now = w.now()
    wall = w.seconds(*w.clock(REALTIME))
    late = b.fcmp_ordered('>=', now, w.number('due'))
    kind = b.select(came, F64(RECEIVED), b.select(late, F64(DUE), F64(WAITING)))
    simulated = b.icmp_signed('!=', w.word('simulated'), I64(0))
    w.write('state', 'clock', b.select(
        b.and_(simulated, came), w.read('state', 'stamp'), wall))
    for name, value in (('kind', kind), ('now', now), ('arrival', now)):
        w.write('state', name, value)
    w.write('state', 'cause', b.select(came, F64(0.0), w.number('cause')))
    # who may act
    w.write('turn', 'now', now)
    permitted = b.not_(w.is_(w.step('begin'), 0.0))
    with b.if_then(b.not_(w.is_(w.read('permission', 'guard_commands'), 0.0))):
        for name, value in (('commands', 0), ('lost', 1), ('failures', 0)):
            w.put(name, value)
    permitted = b.and_(permitted, b.icmp_signed('==', w.word('lost'), I64(0)))
    w.write('state', 'permitted', b.uitofp(permitted, F64))
    age = b.fsub(now, w.number('alive'))
    w.write('state', 'unattended', b.uitofp(
        b.fcmp_ordered('>', age, w.number('patience')), F64))
    # the cycle, with the newest program
    number = _take_program(w)
    w.call('cycle', w.word('cycle_block'), result=ir.VoidType())
    made = w.read('memory', 'acceptance.kind')
    with b.if_then(b.not_(w.is_(made, REQUESTS))):
        b.call(functions['send'], [w.block])
    _plan(w, made, permitted, now)
    b.call(functions['send_heartbeat'], [w.block])
    b.call(functions['keep'], [w.block])
    # whoever waits for that finds the turn in the ring
    b.fence('release')
    w.put('used', number)


def _take_program(w: _Writer):
    """Let the cycle use the newest program; return its number."""
    b = w.b
    again, after = b.append_basic_block(), b.append_basic_block()
    current, using = map(w.word_at, ('current', 'using'))
    b.branch(again)
    b.position_at_end(again)
    index = b.load_atomic(current, 'seq_cst', 8)
    b.store_atomic(index, using, 'seq_cst', 8)
    # Python may have put another one there before it could see that this one is in use
    same = b.icmp_signed('==', index, b.load_atomic(current, 'seq_cst', 8))
    b.cbranch(same, after, again)
    b.position_at_end(after)
    program = w.row_of('number0', index, PROGRAM_WORDS)
    w.store(w.load(program, 8), w.word('program_slot'))
    w.store(w.load(program, 16), w.word('segments_slot'))
    w.store(w.load(program, 24), w.word('segments_slot'), 8)
    return w.load(program)


def _plan(w: _Writer, made, permitted, now) -> None:
    """Set the time at which the next torque is due without a state."""
    b = w.b
    due, period, never = w.number('due'), w.number('period'), F64(math.inf)
    earliest = b.fsub(now, period)
    between = b.fadd(b.select(b.fcmp_ordered('>', due, earliest), due, earliest), period)
    for kind, value in ((BETWEEN, between), (SILENT, never), (FROM_STATE, b.fadd(now, period))):
        due = b.select(w.is_(made, kind), value, due)
    w.put('due', b.select(permitted, due, never))


def _loop(w: _Writer, functions: Mapping) -> None:
    w.until_stopped(lambda: w.b.call(functions['turn'], [w.block]))


def _swap(w: _Writer, _functions) -> None:
    """Let the program of a number be the newest."""
    w.b.store_atomic(w.word('chosen'), w.word_at('current'), 'seq_cst', 8)


def compiled(places: Mapping[str, int]) -> machine.Code:
    """Return the machine code, from the cache or compiled."""
    return writer.compiled(loop_ir(places))
