"""
Machine code of the simulator's loop, as LLVM IR.

A turn waits for the deadline of a step; takes all commands that wait; steps the plant; and
publishes its state: what `SimulatorNode` does in Python where nothing else is to be done, with the
same numbers. What it cannot do ends the loop before the step, and is Python's. Words of the block
are named as in `plant_block`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llvmlite import ir

from robodyn_ros.dynamics.jit import machine
from robodyn_ros.nodes.native import writer
from robodyn_ros.nodes.native.plant_block import (
    DELAYS, DIVERGED, EVENT, INPUT, INPUTS, PLACES, STOPPED, STRANGE)
from robodyn_ros.nodes.native.writer import (
    BUFFER, F64, I32, I64, LENGTH, MONOTONIC, REALTIME, SECOND, Writer)

_ABSOLUTE = 1             # TIMER_ABSTIME
_PART = 5_000_000         # ns between two looks whether the loop is to end
_BEHIND = 50_000_000      # ns that a step may be late before time is given up, as in `pacing`


def loop_ir() -> str:
    """Return the module with `loop(block)` and `turn(block)`, which returns why it ends or 0."""
    module = ir.Module('native simulator')
    functions: dict[str, ir.Function] = {}

    def function(write: Callable, name: str, result: ir.Type = ir.VoidType(),
                 arguments: tuple[ir.Type, ...] = ()) -> None:
        w = Writer(module, name, PLACES, result, arguments)
        write(w, functions)
        if not w.b.block.is_terminated:
            w.b.ret_void()
        functions[name] = w.b.function

    function(_read, 'read', I64, (I64, I64, I64))
    function(_listen, 'listen', I64)
    function(_begin, 'begin', arguments=(I64,))
    function(_publish, 'send')
    function(_turn, 'turn', I64)
    function(_loop, 'loop')
    return str(module)


def _read(w: Writer, _functions) -> None:
    """Take a command of a known layout and of finite numbers; return whether it is one."""
    b, none = w.b, I64(0)
    layouts, data, length = w.arguments
    table, count = w.load(layouts), w.load(layouts, 8)
    with w.fitting(table, count, data, length) as x:
        numbers, wild = b.add(data, x['effort']), w.variable()
        with w.each(x['joints']) as k:
            value = w.load(b.add(numbers, b.mul(k, I64(8))), kind=F64)
            # the difference of what is not finite is not a number
            b.store(b.or_(b.load(wild), b.zext(
                b.fcmp_unordered('uno', b.fsub(value, value), F64(0.0)), I64)), wild)
        with b.if_then(b.icmp_signed('!=', b.load(wild), none)):
            b.ret(none)
        with w.each(x['joints']) as k:
            offset = b.mul(k, I64(8))
            joint = w.load(b.add(x['columns'], offset))
            w.store(w.load(b.add(numbers, offset), kind=F64),
                    b.add(w.word('torque'), b.mul(joint, I64(8))))
        b.ret(I64(1))
    b.ret(none)


def _listen(w: Writer, functions: Mapping) -> None:
    """Take all messages that wait; return whether one of them is Python's to read."""
    b, none, message = w.b, I64(0), w.word('message')
    for k, name in enumerate(INPUTS):
        row = w.row_of(f'{name}_{INPUT[0]}', none, len(INPUT))
        after = b.append_basic_block()
        with w.each(w.word('depth')):
            with b.if_then(b.not_(w.take(w.load(row), message))):
                b.branch(after)
            data, length = w.load(message, BUFFER), w.load(message, LENGTH)
            known = b.call(functions['read'], [w.block, b.add(row, I64(8)), data, length])
            with b.if_then(b.icmp_signed('==', known, none)):
                w.put('source', k)
                b.ret(I64(1))
            _heard(w)
        b.branch(after)
        b.position_at_end(after)
    b.ret(none)


def _heard(w: Writer) -> None:
    """Take note of a good command: the first one lets go of the brakes, but for a fault."""
    b = w.b
    w.count_up('received')
    w.put('commanded_step', w.word('total_steps'))
    w.put('commanded', w.now())
    held = b.icmp_signed('!=', w.word('brakes'), I64(0))
    with b.if_then(b.and_(held, b.icmp_signed('==', w.word('fault'), I64(0)))):
        w.put('brakes', 0)
        w.count_up('released')
        w.call('trigger', w.word('wake'))


def _begin(w: Writer, _functions) -> None:
    """Take note that a step began at a time, and set the next deadline, as `Pacer.begin`."""
    b, none = w.b, I64(0)
    now, = w.arguments
    period = w.word('period')
    with b.if_then(b.icmp_signed('==', period, none)):
        b.ret_void()
    behind = b.sub(now, w.word('deadline'))
    late = b.select(b.icmp_signed('>', behind, none), behind, none)
    place = b.srem(w.word('delay_count'), I64(DELAYS))
    w.store(b.fmul(F64(1e-9), b.sitofp(late, F64)),
            b.add(w.word('delays'), b.mul(place, I64(8))))
    w.count_up('delay_count')
    with b.if_then(b.icmp_signed('>', behind, w.word('tolerance'))):
        w.count_up('late')
    with b.if_then(b.icmp_signed('>', b.mul(behind, I64(2)), period)):
        w.count_up('half_late')
    with b.if_then(b.icmp_signed('>', behind, I64(_BEHIND))):
        given_up = b.sdiv(behind, period)
        w.put('lost', b.add(w.word('lost'), given_up))
        w.put('deadline', b.add(w.word('deadline'), b.mul(given_up, period)))
    w.put('deadline', b.add(w.word('deadline'), period))


def _publish(w: Writer, _functions) -> None:
    """Publish the state, as `StatePublisher` does where sensors tell the truth."""
    b, none = w.b, I64(0)
    rint = b.module.declare_intrinsic('llvm.rint', [F64])
    steps = b.sitofp(w.word('total_steps'), F64)
    simulated = b.fptosi(b.call(rint, [b.fmul(b.fmul(F64(1e9), steps), w.number('step'))]), I64)
    stamp = b.select(b.icmp_signed('!=', w.word('simulated'), none), simulated,
                     w.nanoseconds(*w.clock(REALTIME)))
    state, row = w.word('state'), b.mul(w.word('joints'), I64(8))
    with w.each(w.word('published')) as k:
        offset = b.mul(k, I64(8))
        multiplier, constant, leads, column = (
            w.load(b.add(w.word(name), offset), kind=kind) for name, kind in (
                ('multiplier', F64), ('offset', F64), ('leads', F64), ('coordinate', I64)))
        there = b.mul(column, I64(8))
        q, qd, applied = (w.load(b.add(address, there), kind=F64) for address in (
            state, b.add(state, row), w.word('applied')))
        for name, value in (('position', b.fadd(b.fmul(multiplier, q), constant)),
                            ('velocity', b.fmul(multiplier, qd)),
                            ('effort', b.fmul(leads, applied))):
            w.store(value, b.add(w.word(name), offset))
    for name, message, wanted in (('clock', 'clock_message', 'told'),
                                  ('truth', 'state_message', 'listened'),
                                  ('states', 'state_message', 'states')):
        with b.if_then(b.icmp_signed('!=', w.word(wanted), none)):
            w.set_stamp(w.load(w.word(message), BUFFER), stamp)
            w.ask('publish', w.word(name), w.word(message), none)


def _turn(w: Writer, functions: Mapping) -> None:
    b, none = w.b, I64(0)
    with b.if_then(b.icmp_signed('!=', w.word('period'), none)):
        _wait(w)
    now = w.nanoseconds(*w.clock(MONOTONIC))
    strange = b.call(functions['listen'], [w.block])
    with b.if_then(b.icmp_signed('!=', strange, none)):
        b.ret(I64(STRANGE))
    step = w.number('step')
    with b.if_then(b.fcmp_ordered(
            '>=', b.fmul(b.sitofp(w.word('steps'), F64), step), w.number('until'))):
        b.ret(I64(EVENT))
    _silence(w, step)
    with b.if_else(b.icmp_signed('!=', w.word('brakes'), none)) as (held, free):
        with held:
            _stand(w)
        with free:
            _move(w)
    b.call(functions['begin'], [w.block, now])
    w.count_up('steps')
    w.count_up('total_steps')
    due = b.icmp_signed('==', b.srem(w.word('total_steps'), w.word('decimation')), none)
    with b.if_then(due):
        b.call(functions['send'], [w.block])
    b.ret(none)


def _wait(w: Writer) -> None:
    """Sleep until the deadline, or for a while; end the turn if it is not reached."""
    b = w.b
    now, deadline = w.nanoseconds(*w.clock(MONOTONIC)), w.word('deadline')
    soon = b.add(now, I64(_PART))
    far = b.icmp_signed('>', deadline, soon)
    until = b.select(far, soon, deadline)
    with b.if_then(b.icmp_signed('>', deadline, now)):
        w.put('seconds', b.sdiv(until, I64(SECOND)))
        w.put('nanoseconds', b.srem(until, I64(SECOND)))
        place = b.ptrtoint(w.word_at('seconds'), I64)
        w.call('clock_nanosleep', I32(MONOTONIC), I32(_ABSOLUTE), place, I64(0))
    early = b.icmp_signed('<', w.nanoseconds(*w.clock(MONOTONIC)), deadline)
    with b.if_then(b.or_(far, early)):  # a signal wakes, too
        b.ret(I64(0))


def _silence(w: Writer, step) -> None:
    """Let the brakes hold the arm after a long silence of the commander."""
    b, timeout = w.b, w.number('timeout')
    silent = b.fmul(b.sitofp(b.sub(w.word('total_steps'), w.word('commanded_step')), F64), step)
    over = b.and_(b.fcmp_ordered('>', timeout, F64(0.0)), b.fcmp_ordered('<', timeout, silent))
    with b.if_then(b.and_(over, b.icmp_signed('==', w.word('brakes'), I64(0)))):
        w.put('brakes', 1)
        w.put('silent', silent)
        w.count_up('silences')
        w.call('trigger', w.word('wake'))


def _stand(w: Writer) -> None:
    """Let the arm stand, as `Plant` does with its brakes on."""
    b = w.b
    state, n = w.word('state'), w.word('joints')
    with w.each(w.word('state_rest')) as k:
        w.store(F64(0.0), b.add(b.add(state, b.mul(n, I64(8))), b.mul(k, I64(8))))
    w.call('gravity', w.word('runtime'), state, w.word('applied'), result=ir.VoidType())


def _move(w: Writer) -> None:
    """Step the plant; end the loop where its state has no successor, which changes nothing."""
    b, state = w.b, w.word('state')
    w.call('plant_step', *map(w.word, ('runtime', 'state', 'torque', 'external', 'constants',
                                       'state')), result=ir.VoidType())
    good = b.add(state, b.mul(b.add(w.word('state_rest'), w.word('joints')), I64(8)))
    with b.if_then(w.is_(w.load(good, kind=F64), 0.0)):
        w.store(F64(1.0), good)
        b.ret(I64(DIVERGED))


def _loop(w: Writer, functions: Mapping) -> None:
    b = w.b

    def turn() -> None:
        reason = b.call(functions['turn'], [w.block])
        with b.if_then(b.icmp_signed('!=', reason, I64(0))):
            w.put('reason', reason)
            w.call('trigger', w.word('wake'))
            b.ret_void()

    w.put('reason', STOPPED)
    w.until_stopped(turn)


def compiled() -> machine.Code:
    """Return the machine code, from the cache or compiled."""
    return writer.compiled(loop_ir())
