"""Writer of the functions of a native loop in LLVM IR: words, memory, clocks, messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
import ctypes

from llvmlite import ir

from robodyn_ros.dynamics.jit import machine
from robodyn_ros.nodes.cdr import LITTLE_ENDIAN
from robodyn_ros.nodes.native import rcl
from robodyn_ros.nodes.native.block import LAYOUT

I8, I32, I64, F64 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
MONOTONIC, REALTIME = 1, 0  # clocks of Linux
STAMP = len(LITTLE_ENDIAN)  # offset of the stamp in a JointState, a Header or a Clock
BUFFER, LENGTH = 0, 8       # offsets in a serialized message
MESSAGE = ctypes.sizeof(rcl.SerializedMessage)
SECOND = 1_000_000_000      # ns


class Writer:
    """
    Writes a function of the block.

    Parameters
    ----------
    module : Module
        Module of the function.
    name : str
        Name of the function.
    places : mapping of str to int
        Indices of the words of the block.
    result : Type
        Type of the result.
    arguments : sequence of Type
        Types of the arguments after the address of the block.

    """

    def __init__(self, module: ir.Module, name: str, places: Mapping[str, int],
                 result: ir.Type = ir.VoidType(), arguments: Sequence[ir.Type] = ()):
        function = ir.Function(module, ir.FunctionType(result, [I64, *arguments]), name)
        self.b = ir.IRBuilder(function.append_basic_block())
        self.block, *self.arguments = function.args
        self._places = places

    def at(self, address, offset: int = 0, kind: ir.Type = I64):
        """Return a pointer to an address."""
        moved = self.b.add(address, I64(offset)) if offset else address
        return self.b.inttoptr(moved, kind.as_pointer())

    def load(self, address, offset: int = 0, kind: ir.Type = I64):
        """Return the value at an address, which in messages need not be aligned."""
        return self.b.load(self.at(address, offset, kind), align=1)

    def store(self, value, address, offset: int = 0) -> None:
        """Store a value at an address."""
        self.b.store(value, self.at(address, offset, value.type), align=1)

    def word(self, name: str):
        """Return a word of the block that is an integer or an address."""
        return self.load(self.block, 8 * self._places[name])

    def number(self, name: str):
        """Return a word of the block that is a float64."""
        return self.load(self.block, 8 * self._places[name], F64)

    def put(self, name: str, value) -> None:
        """Set a word."""
        self.store(I64(value) if isinstance(value, int) else value, self.block,
                   8 * self._places[name])

    def word_at(self, name: str):
        """Return a pointer to a word, for atomic operations."""
        return self.at(self.block, 8 * self._places[name])

    def address(self, name: str):
        """Return the address of a word."""
        return self.b.add(self.block, I64(8 * self._places[name]))

    def row_of(self, name: str, index, size: int):
        """Return the address of row `index` of the table of words that begins with a word."""
        return self.b.add(self.address(name), self.b.mul(index, I64(8 * size)))

    def count_up(self, name: str) -> None:
        """Add one to a word."""
        self.put(name, self.b.add(self.word(name), I64(1)))

    def variable(self):
        """Return a pointer to a new integer variable with value 0."""
        with self.b.goto_entry_block():
            place = self.b.alloca(I64)
        self.b.store(I64(0), place)
        return place

    def call(self, name: str, *arguments, result: ir.Type = I32):
        """Call the function whose address is in a word."""
        kind = ir.FunctionType(result, [each.type for each in arguments])
        return self.b.call(self.b.inttoptr(self.word(name), kind.as_pointer()), arguments)

    def count_error(self) -> None:
        """Count and reset an error of rcl; rcl would print it when the next error is set."""
        self.count_up('errors')
        self.call('forget_error', result=ir.VoidType())

    def call_rcl(self, name: str, *arguments, other: int = rcl.OK):
        """Call a function of rcl; return whether it returned OK; count errors but `other`."""
        b, code = self.b, self.call(name, *arguments)
        success = b.icmp_signed('==', code, I32(rcl.OK))
        with b.if_then(b.not_(b.or_(success, b.icmp_signed('==', code, I32(other))))):
            self.count_error()
        return success

    def take(self, subscription, message, info=None):
        """
        Take a message of a subscription; return whether there was one.

        info: address of its `rmw_message_info_t`, if the publisher is of interest.
        """
        none = I64(0)
        return self.call_rcl('take', subscription, message, none if info is None else info, none,
                             other=rcl.NOTHING_TO_TAKE)

    def copy(self, target, source, size) -> None:
        """Copy bytes."""
        move = self.b.module.declare_intrinsic('llvm.memcpy', [
            I8.as_pointer(), I8.as_pointer(), I64])
        self.b.call(move, [self.at(target, kind=I8), self.at(source, kind=I8), size,
                           ir.IntType(1)(0)])

    @contextmanager
    def each(self, count) -> Iterator:
        """Write a loop over 0 .. count - 1."""
        b = self.b
        head, body, end = (b.append_basic_block() for _ in range(3))
        before = b.block
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(I64)
        index.add_incoming(I64(0), before)
        b.cbranch(b.icmp_signed('<', index, count), body, end)
        b.position_at_end(body)
        yield index
        index.add_incoming(b.add(index, I64(1)), b.block)
        b.branch(head)
        b.position_at_end(end)

    def compare(self, one, other, size, differs) -> None:
        """Set a variable to a nonzero value if the bytes at two addresses differ."""
        b = self.b
        with self.each(size) as i:
            ours, theirs = (self.load(b.add(each, i), kind=I8) for each in (one, other))
            b.store(b.or_(b.load(differs), b.zext(b.xor(ours, theirs), I64)), differs)

    @contextmanager
    def fitting(self, layouts, count, data, length) -> Iterator[dict]:
        """Write a block that runs if a message has a registered layout; yield its words."""
        b = self.b
        with self.each(count) as index:
            layout = b.add(layouts, b.mul(index, I64(8 * len(LAYOUT))))
            x = {name: self.load(layout, 8 * place) for place, name in enumerate(LAYOUT)}
            with b.if_then(b.icmp_signed('==', x['size'], length)):
                differs = self.variable()
                with self.each(x['range_count']) as k:
                    span = b.add(x['ranges'], b.mul(k, I64(16)))
                    begin = self.load(span)
                    self.compare(b.add(x['template'], begin), b.add(data, begin),
                                 self.load(span, 8), differs)
                with b.if_then(b.icmp_signed('==', b.load(differs), I64(0))):
                    yield x

    def clock(self, clock: int):
        """Return seconds and nanoseconds of a clock."""
        self.call('clock_gettime', I32(clock), self.address('seconds'))
        return self.word('seconds'), self.word('nanoseconds')

    def set_stamp(self, data, stamp) -> None:
        """Write a time in ns, not below 0, into a message whose first field is a stamp."""
        b = self.b
        self.store(b.trunc(b.sdiv(stamp, I64(SECOND)), I32), data, STAMP)
        self.store(b.trunc(b.srem(stamp, I64(SECOND)), I32), data, STAMP + 4)

    def seconds(self, whole, rest):
        """Return a time as a number of seconds, rounded as `conversions.in_seconds`."""
        b = self.b
        return b.fadd(b.sitofp(whole, F64), b.fmul(F64(1e-9), b.sitofp(rest, F64)))

    def now(self):
        """Return the time of the steady clock in s."""
        return self.seconds(*self.clock(MONOTONIC))

    def stamp(self, data, offset: int):
        """Return seconds and nanoseconds of a stamp in a message."""
        return (self.b.sext(self.load(data, offset, I32), I64),
                self.b.zext(self.load(data, offset + 4, I32), I64))

    def nanoseconds(self, whole, rest):
        """Return a time in ns."""
        return self.b.add(self.b.mul(whole, I64(SECOND)), rest)

    def swap(self) -> None:
        """Write that the program `chosen` becomes the newest one, `current`."""
        self.b.store_atomic(self.word('chosen'), self.word_at('current'), 'seq_cst', 8)

    def is_(self, value, number: float):
        """Return whether a number is equal to a constant."""
        return self.b.fcmp_ordered('==', value, F64(number))

    def until_stopped(self, write_body: Callable[[], None]) -> None:
        """Write a loop that ends when Python has set the word `stop`."""
        b = self.b
        head, body, end = (b.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        stop = b.load_atomic(self.word_at('stop'), 'acquire', 8)
        b.cbranch(b.icmp_signed('==', stop, I64(0)), body, end)
        b.position_at_end(body)
        write_body()
        b.branch(head)
        b.position_at_end(end)


def compiled(text: str) -> machine.Code:
    """Return the machine code of a module of IR, from the cache or compiled."""
    return machine.load_kind('native loop', None, lambda: machine.Ir(text),
                             machine.default_cache())
