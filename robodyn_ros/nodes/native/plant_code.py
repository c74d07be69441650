"""
Machine code of the simulator's native loop, as LLVM IR.

An iteration waits for the deadline of a step, takes all waiting commands, steps the plant, and
publishes its state, with the same numbers as `SimulatorNode` in Python. Before a step that needs
Python the loop ends. Words of the block are named as in `WORDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llvmlite import ir

from robodyn_ros.dynamics.jit import machine
from robodyn_ros.nodes.native import writer
from robodyn_ros.nodes.native.block import places_of
from robodyn_ros.nodes.native.writer import (
    BUFFER, F64, I32, I64, LENGTH, MONOTONIC, REALTIME, SECOND, Writer)

FUNCTIONS = ('take', 'publish', 'trigger', 'forget_error', 'clock_gettime', 'clock_nanosleep',
             'plant_step', 'gravity')
INPUTS = ('arrays', 'named', 'wrenches')  # in the order in which they are read
INPUT = ('subscription', 'layouts', 'count')
WORDS = (
    # set by Python before the loop starts
    *FUNCTIONS, 'wake', 'message', 'depth',
    *(f'{each}_{word}' for each in INPUTS for word in INPUT),
    'states', 'truth', 'clock', 'state_message', 'clock_message', 'position', 'velocity', 'effort',
    'published', 'coordinate', 'multiplier', 'offset', 'independent',
    'runtime', 'state', 'torque', 'external', 'constants', 'joints', 'applied', 'state_rest',
    'period', 'tolerance', 'simulated', 'decimation', 'fault', '~step', '~timeout', '~until',
    # set by Python at any time
    'stop', 'truth_subscribed', 'clock_subscribed',
    # set by Python before the loop starts, then by machine code
    'deadline', 'late', 'half_late', 'lost', 'steps', 'total_steps', 'commanded_step', 'received',
    'brakes', 'released', 'silences', '~commanded', '~silence', 'errors',
    # set by machine code
    'reason', 'source', 'delays', 'delay_count',
    # scratch of the machine code
    'seconds', 'nanoseconds')
PLACES = places_of(WORDS)
DELAYS = 4096  # delays kept: of the last steps, in s

# reasons why a loop ended
STOPPED, UNKNOWN_MESSAGE, EVENT, DIVERGED = range(4)
_ABSOLUTE = 1             # TIMER_ABSTIME
_LONGEST_SLEEP = 5_000_000  # ns between two checks of the word `stop`
_BEHIND = 50_000_000      # ns, largest delay that is made up for, as in `pacing`


def loop_ir() -> str:
    """Return the module with `loop(block)` and `iterate(block)`, which returns 0 or a reason."""
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
    function(_receive, 'receive', I64)
    function(_begin, 'begin', arguments=(I64,))
    function(_publish, 'send')
    function(_iterate, 'iterate', I64)
    function(_loop, 'loop')
    return str(module)


def _read(w: Writer, _functions) -> None:
    """Read a command of a known layout with finite numbers; return whether it is one."""
    b, none = w.b, I64(0)
    layouts, data, length = w.arguments
    table, count = w.load(layouts), w.load(layouts, 8)
    with w.fitting(table, count, data, length) as x:
        numbers, not_finite = b.add(data, x['effort']), w.variable()
        with w.each(x['joints']) as k:
            value = w.load(b.add(numbers, b.mul(k, I64(8))), kind=F64)
            # x - x is NaN if x is not finite
            b.store(b.or_(b.load(not_finite), b.zext(
                b.fcmp_unordered('uno', b.fsub(value, value), F64(0.0)), I64)), not_finite)
        with b.if_then(b.icmp_signed('!=', b.load(not_finite), none)):
            b.ret(none)
        with w.each(x['joints']) as k:
            offset = b.mul(k, I64(8))
            joint = w.load(b.add(x['columns'], offset))
            w.store(w.load(b.add(numbers, offset), kind=F64),
                    b.add(w.word('torque'), b.mul(joint, I64(8))))
        b.ret(I64(1))
    b.ret(none)


def _receive(w: Writer, functions: Mapping) -> None:
    """Take all waiting messages; return whether one of them must be read by Python."""
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
            _count_command(w)
        b.branch(after)
        b.position_at_end(after)
    b.ret(none)


def _count_command(w: Writer) -> None:
    """Count a valid command; release the brakes, unless a fault holds them."""
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
    """Record the begin of a step, and set the next deadline, as `Pacer.begin`."""
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
    """Publish the state, as `StatePublisher` does with nominal sensors."""
    b, none = w.b, I64(0)
    rint = b.module.declare_intrinsic('llvm.rint', [F64])
    steps = b.sitofp(w.word('total_steps'), F64)
    simulated = b.fptosi(b.call(rint, [b.fmul(b.fmul(F64(1e9), steps), w.number('step'))]), I64)
    # steps that are made up for after a pause carry the time at which they were due
    behind = b.add(b.sub(w.nanoseconds(*w.clock(MONOTONIC)), w.word('deadline')),
                   w.word('period'))
    paced = b.and_(b.icmp_signed('!=', w.word('period'), none), b.icmp_signed('>', behind, none))
    due = b.sub(w.nanoseconds(*w.clock(REALTIME)), b.select(paced, behind, none))
    stamp = b.select(b.icmp_signed('!=', w.word('simulated'), none), simulated, due)
    state, row = w.word('state'), b.mul(w.word('joints'), I64(8))
    with w.each(w.word('published')) as k:
        offset = b.mul(k, I64(8))
        multiplier, constant, independent, column = (
            w.load(b.add(w.word(name), offset), kind=kind) for name, kind in (
                ('multiplier', F64), ('offset', F64), ('independent', F64), ('coordinate', I64)))
        there = b.mul(column, I64(8))
        q, qd, applied = (w.load(b.add(address, there), kind=F64) for address in (
            state, b.add(state, row), w.word('applied')))
        for name, value in (('position', b.fadd(b.fmul(multiplier, q), constant)),
                            ('velocity', b.fmul(multiplier, qd)),
                            ('effort', b.fmul(independent, applied))):
            w.store(value, b.add(w.word(name), offset))
    for name, message, condition in (('clock', 'clock_message', 'clock_subscribed'),
                                     ('truth', 'state_message', 'truth_subscribed'),
                                     ('states', 'state_message', 'states')):
        with b.if_then(b.icmp_signed('!=', w.word(condition), none)):
            w.set_stamp(w.load(w.word(message), BUFFER), stamp)
            w.call_rcl('publish', w.word(name), w.word(message), none)


def _iterate(w: Writer, functions: Mapping) -> None:
    b, none = w.b, I64(0)
    with b.if_then(b.icmp_signed('!=', w.word('period'), none)):
        _wait(w)
    now = w.nanoseconds(*w.clock(MONOTONIC))
    unknown = b.call(functions['receive'], [w.block])
    with b.if_then(b.icmp_signed('!=', unknown, none)):
        b.ret(I64(UNKNOWN_MESSAGE))
    step = w.number('step')
    with b.if_then(b.fcmp_ordered(
            '>=', b.fmul(b.sitofp(w.word('steps'), F64), step), w.number('until'))):
        b.ret(I64(EVENT))
    _check_silence(w, step)
    with b.if_else(b.icmp_signed('!=', w.word('brakes'), none)) as (held, free):
        with held:
            _hold(w)
        with free:
            _step(w)
    b.call(functions['begin'], [w.block, now])
    w.count_up('steps')
    w.count_up('total_steps')
    due = b.icmp_signed('==', b.srem(w.word('total_steps'), w.word('decimation')), none)
    with b.if_then(due):
        b.call(functions['send'], [w.block])
    b.ret(none)


def _wait(w: Writer) -> None:
    """Sleep until the deadline, for a limited time; end the iteration if it is not reached."""
    b = w.b
    now, deadline = w.nanoseconds(*w.clock(MONOTONIC)), w.word('deadline')
    soon = b.add(now, I64(_LONGEST_SLEEP))
    far = b.icmp_signed('>', deadline, soon)
    until = b.select(far, soon, deadline)
    with b.if_then(b.icmp_signed('>', deadline, now)):
        w.put('seconds', b.sdiv(until, I64(SECOND)))
        w.put('nanoseconds', b.srem(until, I64(SECOND)))
        place = b.ptrtoint(w.word_at('seconds'), I64)
        w.call('clock_nanosleep', I32(MONOTONIC), I32(_ABSOLUTE), place, I64(0))
    early = b.icmp_signed('<', w.nanoseconds(*w.clock(MONOTONIC)), deadline)
    with b.if_then(b.or_(far, early)):  # a signal may end the sleep early
        b.ret(I64(0))


def _check_silence(w: Writer, step) -> None:
    """Apply the brakes if there was no command for the timeout."""
    b, timeout = w.b, w.number('timeout')
    silence = b.fmul(b.sitofp(b.sub(w.word('total_steps'), w.word('commanded_step')), F64), step)
    over = b.and_(b.fcmp_ordered('>', timeout, F64(0.0)), b.fcmp_ordered('<', timeout, silence))
    with b.if_then(b.and_(over, b.icmp_signed('==', w.word('brakes'), I64(0)))):
        w.put('brakes', 1)
        w.put('silence', silence)
        w.count_up('silences')
        w.call('trigger', w.word('wake'))


def _hold(w: Writer) -> None:
    """Hold the arm at rest, as `Plant` does with its brakes on."""
    b = w.b
    state, n = w.word('state'), w.word('joints')
    with w.each(w.word('state_rest')) as k:
        w.store(F64(0.0), b.add(b.add(state, b.mul(n, I64(8))), b.mul(k, I64(8))))
    w.call('gravity', w.word('runtime'), state, w.word('applied'), result=ir.VoidType())


def _step(w: Writer) -> None:
    """Step the plant; end the loop if the state diverges, which leaves it unchanged."""
    b, state = w.b, w.word('state')
    w.call('plant_step', *map(w.word, ('runtime', 'state', 'torque', 'external', 'constants',
                                       'state')), result=ir.VoidType())
    good = b.add(state, b.mul(b.add(w.word('state_rest'), w.word('joints')), I64(8)))
    with b.if_then(w.is_(w.load(good, kind=F64), 0.0)):
        w.store(F64(1.0), good)
        b.ret(I64(DIVERGED))


def _loop(w: Writer, functions: Mapping) -> None:
    b = w.b

    def iterate() -> None:
        reason = b.call(functions['iterate'], [w.block])
        with b.if_then(b.icmp_signed('!=', reason, I64(0))):
            w.put('reason', reason)
            w.call('trigger', w.word('wake'))
            b.ret_void()

    w.put('reason', STOPPED)
    w.until_stopped(iterate)


def compiled() -> machine.Code:
    """Return the machine code, from the cache or compiled."""
    return writer.compiled(loop_ir())
