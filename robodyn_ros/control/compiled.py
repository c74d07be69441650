"""The cycle of one robot, compiled: its functions, now or meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import hashlib
import sys
from threading import Event, Lock, Thread
from types import SimpleNamespace
import weakref

import numpy as np

from robodyn_ros.control import blocks
from robodyn_ros.control.adaptive.adaptation_step import PARAMETERS
from robodyn_ros.control.bound import BoundCycle
from robodyn_ros.control.compilation import Compilation
from robodyn_ros.control.cycle import cycle
from robodyn_ros.control.memory import Memory
from robodyn_ros.control.pose.pose_motion import joint_bounds
from robodyn_ros.control.program import Program
from robodyn_ros.control.state import State
from robodyn_ros.control.steps import acceptance, laws, learning, path, reception
from robodyn_ros.control.steps.body import PARTS
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit.flow import FunctionTable, Table
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.lists import Lists
from robodyn_ros.dynamics.jit.machine import LOGGER
from robodyn_ros.exceptions import KernelError

BLOCKS = {'state': State, 'memory': Memory, 'program': Program}
# laws without which there is no cycle: of a floating arm, and of silence
NEEDED = (laws.NAMES[0], 'computed_torque')
_TURN, _INTERVAL = 2e-4, sys.getswitchinterval()  # s
# parts of this package, besides control and dynamics, that the steps are made of
_BUILDS_ON = ('safety', 'trajectory')


class CompiledCycle:
    """
    The cycle of one robot.

    Functions are compiled at their first use, or by `prepare`, and kept in the cache of the
    dynamics.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    link : str
        Link that the Cartesian laws hold.
    learning_link : str
        Link whose payload the adaptive law learns.
    slot : int or None
        Place of its ten parameters in the runtime of the dynamics; None: it has none.
    longest_pause : float
        Seconds between two cycles that the reference makes up for.
    schedule : GainSchedule
        Of the gains.

    Attributes
    ----------
    dimensions : dict of str to int
        Lengths that the blocks name, see `blocks`.
    function : Function
        The cycle.
    functions : dict of str to list of Function
        The functions that it calls, by table: 'laws' in the order of `laws.NAMES`, and a table
        for each part.
    rows : (laws + 1,) array of int64
        Addresses of the laws, 0 where a law is not compiled yet; a program may name it only
        then. The last row is that of a law of the user.

    """

    def __init__(self, dynamics: Dynamics, link: str, learning_link: str, slot: int | None,
                 longest_pause: float, schedule):
        model, tree = dynamics.model, dynamics.tree
        n = model.nv
        self.name = model.name
        self._dynamics = dynamics
        self._arguments = dynamics, link, learning_link, slot, longest_pause, schedule
        self.dimensions = d = {
            'joints': n, 'bodies': Lists([1] * model.nb), 'wrenches': Lists([6] * model.nb),
            'runtime': dynamics.runtime.size, 'motion': Lists([n] * len(laws.MOTION)),
            'terms': Lists([n] * len(Term)), 'task': 6,
            'pose': 12, 'feedback': Lists([n] * 2 * n), 'pseudo_inertia': 16,
            'report': laws.REPORT}
        lower, upper, speeds = joint_bounds(model)
        frame, learning_frame = dynamics.frame(link), dynamics.frame(learning_link)
        self.robot = SimpleNamespace(
            tree=tree, lower=list(map(float, model.lower)), upper=list(map(float, model.upper)),
            longest_pause=longest_pause, frame=frame, slot=slot,
            reach_lower=list(map(float, lower)), reach_upper=list(map(float, upper)),
            speeds=list(map(float, speeds)), schedule=schedule, dimensions=d)
        self.sizes = {name: blocks.size(cls, d) for name, cls in BLOCKS.items()}
        runtime, arrays, gains, task, share, limit = laws.sizes(d)
        inputs = (Lists([runtime]), _rows(arrays, n), gains, task, share, Lists([limit]))
        outputs = Lists([*d['terms'].sizes, laws.REPORT])
        self.tables: dict[str, FunctionTable] = {'laws': FunctionTable(inputs, outputs)}
        self.functions: dict[str, list[Function]] = {'laws': [
            self._made(f'law {name}', laws.body_of(name, tree, frame, d),
                       dict(zip(laws.INPUTS, inputs)), {'terms': outputs}, frame)
            for name in laws.NAMES]}
        self.laws = self.functions['laws']
        # what their code is made of, and nothing else
        structure = SimpleNamespace(tree=tree, frame=frame)
        for name, part in PARTS.items():
            self._add(name, _of_part(part.function, structure),
                      (inputs[0], *(_length(each, d) for each in part.inputs)),
                      _length(part.outputs, d), frame)
        rows, *rest = learning.sizes(d)
        self._add('learning', learning.body_of(tree, learning_frame, n),
                  (inputs[0], _rows(rows, n), *rest), PARAMETERS.stop, learning_frame)
        accepts = [blocks.size(cls, d) for cls in (State, acceptance.Memory, acceptance.Program)]
        self._add('accept', reception.body_of(d), (*accepts, 1 + n), accepts[1])
        segment = Lists([1, *_rows(path.columns(n) - 1, n).sizes])
        self.function = self._made(
            'cycle', self._body, {**self.tables, 'path': Table(segment), **self.sizes},
            {'torque': Lists([n]), 'next': self.sizes['memory']},
            {key: value for key, value in vars(self.robot).items() if key != 'tree'})
        self.rows = np.zeros(len(laws.NAMES) + 1, dtype=np.int64)
        self._copies: list[weakref.ref] = []
        self._lock, self._stopped = Lock(), Event()
        self._thread: Thread | None = None
        self._elsewhere: Compilation | None = None
        self._long = False
        self._waiting: list[Callable[[], None]] = []

    def _made(self, name: str, body: Callable, arguments: Mapping, outputs: Mapping[str, int],
              *constants) -> Function:
        """Return a function of these steps; constants: all that its body closes over."""
        digest = hashlib.sha256(repr((self.dimensions, *constants)).encode()).hexdigest()
        return self._dynamics.function(lambda tree, *given: body(*given), arguments, outputs,
                                       f'{name} {digest}', _BUILDS_ON)

    def _add(self, name: str, body: Callable, inputs, outputs: int, *constants) -> None:
        """Add a table with one function."""
        self.tables[name] = FunctionTable(tuple(inputs), outputs)
        self.functions[name] = [self._made(
            name, body, {f'x{k}': each for k, each in enumerate(inputs)}, {'result': outputs},
            *constants)]

    def _body(self, *given):
        functions = SimpleNamespace(**dict(zip(self.tables, given)))
        table, *arrays = given[len(self.tables):]
        state, m, p = (blocks.unpack(cls, values, self.dimensions)
                       for cls, values in zip(BLOCKS.values(), arrays))
        return cycle(self.robot, functions, table, state, m, p)

    def zeros(self, name: str) -> np.ndarray:
        """Return an array for the block of a name: 'state', 'memory', 'program'."""
        return np.zeros(self.sizes[name])

    def bound(self, own=None) -> BoundCycle:
        """Return the cycle with arrays of an arm, and maybe a law of the user, see there."""
        return BoundCycle(self, own)

    # --- compilation ------------------------------------------------------------------------

    def ready(self, name: str) -> bool:
        """Return whether a law is compiled, so that a program may name it."""
        return bool(self.rows[laws.NAMES.index(name)])

    def prepare(self, *names: str) -> None:
        """Compile the cycle with these laws, or load it from the cache, now."""
        for function in self._parts():
            function.warm()
        for name in dict.fromkeys((*NEEDED, *names)):
            self._prepare(name)
        self._report_length()

    def fill_cache(self, name: str) -> None:
        """Put a law into the cache."""
        self.laws[laws.NAMES.index(name)].warm()

    def prepare_others(self, done: Callable[[], None] | None = None) -> list[str]:
        """
        Load the laws that are in the cache now, and compile all others meanwhile.

        They are compiled by another process, which fills the cache, or by a thread of this one
        where there is no cache on disk.

        Parameters
        ----------
        done : callable, optional
            Called without arguments when all laws are ready, maybe by a thread.

        Returns
        -------
        missing : list of str
            Laws that are still being compiled.

        """
        missing = [name for name in laws.NAMES if not self.ready(name) and not self._load(name)]
        with self._lock:
            if missing or self._thread is not None:
                self._waiting += [] if done is None else [done]
                if self._thread is None:
                    self._begin(missing)
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
        """Whether that thread is at work."""
        return self._thread is not None

    def stop(self) -> None:
        """End that: at once, or after the law that a thread is at; the others are not compiled."""
        self._stopped.set()
        with self._lock:
            if self._elsewhere is not None:
                self._elsewhere.stop()
        self.wait()

    def copy_of_rows(self) -> np.ndarray:
        """Return a table of laws of its own, which is filled as `rows` is."""
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
            # `ready` looks at `rows`, which comes last
            for rows in (*(each() for each in self._copies), self.rows):
                if rows is not None:
                    rows[row] = address

    def _report_length(self) -> None:
        """Log once for a robot that functions were compiled quickly instead of well."""
        if self._long or not any(each.long for each in (*self._parts(), *self.laws)):
            return
        self._long = True
        LOGGER.warning(
            'robot %s has %d joints: functions of its cycle that are too long to be compiled well '
            'in a reasonable time take about twice as long as they could', self.name,
            self.dimensions['joints'])

    def _begin(self, missing: list[str]) -> None:
        LOGGER.info('still compiling laws of %s: %s', self.name, ', '.join(missing))
        self._stopped.clear()
        self._thread = Thread(target=self._prepare_all, args=(missing,), daemon=True,
                              name=f'compilation of {self.name}')
        self._thread.start()

    def _prepare_all(self, names: list[str]) -> None:
        # who controls an arm beside this waits no longer than that for the interpreter
        sys.setswitchinterval(min(_INTERVAL, _TURN))
        try:
            self._compile_elsewhere(names)
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
            sys.setswitchinterval(_INTERVAL)
            self._end()

    def _compile_elsewhere(self, names: list[str]) -> None:
        """Load laws that another process compiles; what it does not compile is left out."""
        if self.function.cache is None:
            return
        with self._lock:
            if self._stopped.is_set():
                return
            try:
                self._elsewhere = Compilation(self._arguments, names)
            except OSError:  # no memory for a process, say
                return
        for name in self._elsewhere:
            self._load(name)
        with self._lock:
            self._elsewhere = None

    def _end(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                done = self._waiting.pop(0)
            if all(map(self.ready, laws.NAMES)):
                done()


def _of_part(function: Callable, structure) -> Callable:
    return lambda *given: function(structure, *given)


def _rows(size: int, row: int) -> Lists:
    """Return the length of lists with so many numbers each."""
    return Lists([row] * (size // row))


def _length(size, dimensions: Mapping[str, int]) -> Lists:
    """Return a length as `body.length` has it."""
    factor, name, *more = size if isinstance(size, tuple) else (1, size)
    length = dimensions.get(name, name)
    return Lists([*[*getattr(length, 'sizes', [length])] * factor, *more])
