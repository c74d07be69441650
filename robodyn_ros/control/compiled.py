"""Compiled cycle of one robot: its functions, compiled at once or in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import hashlib
import sys
from threading import Event, Lock, Thread
from types import SimpleNamespace
import weakref

import numpy as np

from robodyn_ros.control.blocks import Memory, Program
from robodyn_ros.control.compilation import Compilation
from robodyn_ros.control.cycle import cycle
from robodyn_ros.control.steps import laws, learning, loop_probe, path
from robodyn_ros.control.steps.body import PARTS
from robodyn_ros.control.steps.learning import PARAMETERS
from robodyn_ros.control.terms import SUMMANDS, Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.flow import FunctionTable, Table
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.lists import ListLayout
from robodyn_ros.dynamics.jit.machine import LOGGER
from robodyn_ros.exceptions import KernelError
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.safety import acceptance
from robodyn_ros.safety.acceptance import State

BLOCKS = {'state': State, 'memory': Memory, 'program': Program}
# laws that every cycle requires: of gravity compensation, and of silence
REQUIRED = (laws.NAMES[0], 'computed_torque')
_MARGIN = 2e-3   # rad or m, distance of the reference of a pose motion from position limits
_NO_LIMIT = 1e9  # rad or m
_SWITCH_INTERVAL, _DEFAULT_INTERVAL = 2e-4, sys.getswitchinterval()  # s
# parts of this package, besides control and dynamics, that the steps use
_BUILDS_ON = ('safety', 'trajectory')


class CompiledCycle:
    """
    The cycle of one robot.

    Functions are compiled at their first use, or by `prepare`, and stored in the cache of the
    dynamics.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    link : str
        Link that the Cartesian laws control, and whose payload the adaptive law estimates.
    slot : int or None
        Index of the ten parameters of its payload in the runtime of the dynamics; None: no slot.
    longest_pause : float
        Longest time in s between two cycles over which the reference is advanced.

    Attributes
    ----------
    dimensions : dict of str to int
        Dimensions of the blocks, see `blocks`.
    function : Function
        The cycle.
    functions : dict of str to list of Function
        Functions called by the cycle, by table: 'laws' in the order of `laws.NAMES`, and a table
        for each part.
    rows : (laws + 1,) array of int64
        Addresses of the laws, 0 where a law is not compiled yet and must not be selected. The last
        row is that of an own law.

    """

    def __init__(self, dynamics: Dynamics, link: str, slot: int | None, longest_pause: float):
        model, tree = dynamics.model, dynamics.tree
        n = model.nv
        self.name = model.name
        self._dynamics = dynamics
        self._arguments = dynamics, link, slot, longest_pause
        terms = ListLayout([n] * len(Term))
        self.dimensions = d = {
            'joints': n, 'triangle': n * (n + 1) // 2,
            'bodies': ListLayout([1] * model.nb), 'wrenches': ListLayout([6] * model.nb),
            'runtime': dynamics.runtime.size, 'motion': ListLayout([n] * len(laws.MOTION)),
            'terms': terms, 'task': 6,
            'pose': 12, 'feedback': ListLayout([n] * 2 * n), 'pseudo_inertia': 16,
            'report': laws.REPORT, 'samples': loop_probe.SAMPLES, 'edges': loop_probe.EDGES}
        lower, upper, speeds = _joint_bounds(model)
        frame = dynamics.frame(link)
        self.robot = SimpleNamespace(
            tree=tree, lower=list(map(float, model.lower)), upper=list(map(float, model.upper)),
            longest_pause=longest_pause, frame=frame, slot=slot,
            reach_lower=list(map(float, lower)), reach_upper=list(map(float, upper)),
            speeds=list(map(float, speeds)), dimensions=d)
        self.sizes = {name: blocks.size(cls, d) for name, cls in BLOCKS.items()}
        runtime, arrays, gains, task, share, limit = laws.sizes(d)
        inputs = (ListLayout([runtime]), _rows(arrays, n), gains, task, share, ListLayout([limit]))
        outputs = ListLayout([*[n] * len(SUMMANDS), laws.REPORT])
        self.tables: dict[str, FunctionTable] = {'laws': FunctionTable(inputs, outputs)}
        self.functions: dict[str, list[Function]] = {'laws': [
            self._function(f'law {name}', laws.body_of(name, tree, frame, d),
                           dict(zip(laws.INPUTS, inputs)), {'terms': outputs}, frame)
            for name in laws.NAMES]}
        self.laws = self.functions['laws']
        # the constants of their code, and nothing else
        structure = SimpleNamespace(tree=tree, frame=frame)
        for name, part in PARTS.items():
            self._add_table(name, _of_part(part.function, structure),
                            (inputs[0], *(_length(each, d) for each in part.inputs)),
                            _length(part.outputs, d), frame)
        rows, *rest = learning.sizes(d)
        self._add_table('learning', learning.body_of(tree, frame, n),
                        (inputs[0], _rows(rows, n), *rest), PARAMETERS.stop, frame)
        accepts = [blocks.size(cls, d) for cls in (
            acceptance.State, acceptance.Memory, acceptance.Program)]
        self._add_table('accept', acceptance.body_of(d), (*accepts, 1 + n), accepts[1])
        segment = ListLayout([1, *_rows(path.columns(n) - 1, n).sizes])
        self.function = self._function(
            'cycle', self._body, {**self.tables, 'path': Table(segment), **self.sizes},
            {'torque': ListLayout([n]), 'next': self.sizes['memory']},
            {key: value for key, value in vars(self.robot).items() if key != 'tree'})
        self.rows = np.zeros(len(laws.NAMES) + 1, dtype=np.int64)
        self._copies: list[weakref.ref] = []
        self._lock, self._stopped = Lock(), Event()
        self._thread: Thread | None = None
        self._compilation: Compilation | None = None
        self._length_reported = False
        self._callbacks: list[Callable[[], object]] = []

    def _function(self, name: str, body: Callable, arguments: Mapping, outputs: Mapping[str, int],
                  *constants) -> Function:
        """Return a function of these steps; constants: all values that its body closes over."""
        digest = hashlib.sha256(repr((self.dimensions, *constants)).encode()).hexdigest()
        return self._dynamics.function(lambda tree, *values: body(*values), arguments, outputs,
                                       f'{name} {digest}', _BUILDS_ON)

    def _add_table(self, name: str, body: Callable, inputs, outputs: int, *constants) -> None:
        """Add a table with one function."""
        self.tables[name] = FunctionTable(tuple(inputs), outputs)
        self.functions[name] = [self._function(
            name, body, {f'x{k}': each for k, each in enumerate(inputs)}, {'result': outputs},
            *constants)]

    def _body(self, *values):
        functions = SimpleNamespace(**dict(zip(self.tables, values)))
        table, *arrays = values[len(self.tables):]
        state, m, p = (blocks.unpack(cls, values, self.dimensions)
                       for cls, values in zip(BLOCKS.values(), arrays))
        return cycle(self.robot, functions, table, state, m, p)

    # --- compilation ------------------------------------------------------------------------

    def ready(self, name: str) -> bool:
        """Return whether a law is compiled, so that it may be selected."""
        return bool(self.rows[laws.NAMES.index(name)])

    def prepare(self, *names: str) -> None:
        """Compile the cycle with these laws, or load it from the cache, at once."""
        for function in self._parts():
            function.prepare()
        for name in dict.fromkeys((*REQUIRED, *names)):
            self._prepare(name)
        self._report_length()

    def fill_cache(self, name: str) -> None:
        """Compile a law into the cache."""
        self.laws[laws.NAMES.index(name)].prepare()

    def prepare_others(self, done: Callable[[], object] | None = None) -> list[str]:
        """
        Load the laws that are in the cache, and compile all others in the background.

        They are compiled by a separate process that fills the cache, or by a thread if there is
        no cache on disk.

        Parameters
        ----------
        done : callable, optional
            Called without arguments when all laws are ready, possibly from a thread.

        Returns
        -------
        missing : list of str
            Laws that are still being compiled.

        """
        missing = [name for name in laws.NAMES if not self.ready(name) and not self._load(name)]
        with self._lock:
            if missing or self._thread is not None:
                self._callbacks += [] if done is None else [done]
                if self._thread is None:
                    self._start_thread(missing)
                return missing
        if done is not None:
            done()
        return []

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the thread of `prepare_others`; return whether it has ended."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    @property
    def compiling(self) -> bool:
        """Whether that thread is running."""
        return self._thread is not None

    def stop(self) -> None:
        """Stop the background compilation: at once, or after the present law of a thread."""
        self._stopped.set()
        with self._lock:
            if self._compilation is not None:
                self._compilation.stop()
        self.wait()

    def copy_of_rows(self) -> np.ndarray:
        """Return a copy of `rows` that is updated with it."""
        with self._lock:
            copy = self.rows.copy()
            self._copies.append(weakref.ref(copy))
        return copy

    def _parts(self) -> list[Function]:
        return [self.function, *(each for name, several in self.functions.items()
                                 if name != 'laws' for each in several)]

    def _load(self, name: str) -> bool:
        found = self.laws[laws.NAMES.index(name)].load()
        if found:
            self._prepare(name)
        return found

    def _prepare(self, name: str) -> None:
        row = laws.NAMES.index(name)
        address = self.laws[row].address
        with self._lock:
            self._copies = [each for each in self._copies if each() is not None]
            # `ready` reads `rows`, which is updated last
            for rows in (*(each() for each in self._copies), self.rows):
                if rows is not None:
                    rows[row] = address

    def _report_length(self) -> None:
        """Log once per robot that functions were compiled with less optimisation."""
        if self._length_reported or not any(
                each.compile_fast for each in (*self._parts(), *self.laws)):
            return
        self._length_reported = True
        LOGGER.warning(
            'robot %s has %d joints: functions of its cycle that are too long to be compiled well '
            'in a reasonable time take about twice as long as they could', self.name,
            self.dimensions['joints'])

    def _start_thread(self, missing: list[str]) -> None:
        LOGGER.info('still compiling laws of %s: %s', self.name, ', '.join(missing))
        self._stopped.clear()
        self._thread = Thread(target=self._prepare_all, args=(missing,), daemon=True,
                              name=f'compilation of {self.name}')
        self._thread.start()

    def _prepare_all(self, names: list[str]) -> None:
        # bounds the delay of a control thread by the interpreter lock
        sys.setswitchinterval(min(_DEFAULT_INTERVAL, _SWITCH_INTERVAL))
        try:
            self._compile_in_process(names)
            for name in names:
                if self._stopped.is_set():
                    return
                try:
                    self._prepare(name)
                except (KernelError, OSError, RuntimeError) as error:
                    LOGGER.error('law %s: %s', name, error)
            self._report_length()
            if all(map(self.ready, laws.NAMES)):
                LOGGER.info('compiled all laws of %s', self.name)
        finally:
            sys.setswitchinterval(_DEFAULT_INTERVAL)
            self._finish()

    def _compile_in_process(self, names: list[str]) -> None:
        """Load laws that a separate process compiles, as far as it succeeds."""
        if self.function.cache is None:
            return
        with self._lock:
            if self._stopped.is_set():
                return
            try:
                self._compilation = Compilation(self._arguments, names)
            except OSError:  # for example, no memory for a process
                return
        for name in self._compilation:
            self._load(name)
        with self._lock:
            self._compilation = None

    def _finish(self) -> None:
        while True:
            with self._lock:
                if not self._callbacks:
                    self._thread = None
                    return
                done = self._callbacks.pop(0)
            if all(map(self.ready, laws.NAMES)):
                done()


def _of_part(function: Callable, structure) -> Callable:
    return lambda *values: function(structure, *values)


def _rows(size: int, row: int) -> ListLayout:
    """Return the lengths of lists with `row` numbers each."""
    return ListLayout([row] * (size // row))


def _length(size, dimensions: Mapping[str, int]) -> ListLayout:
    """Return a length of `body.length` as lists."""
    factor, name, *more = size if isinstance(size, tuple) else (1, size)
    length = dimensions.get(name, name)
    return ListLayout([*[*getattr(length, 'sizes', [length])] * factor, *more])


def _joint_bounds(model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lower and upper position limits and velocity limits of the reference, (nv,) each."""
    return (np.maximum(model.lower + _MARGIN, -_NO_LIMIT),
            np.minimum(model.upper - _MARGIN, _NO_LIMIT), speeds(model))
