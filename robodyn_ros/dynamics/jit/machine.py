"""
Compilation of LLVM IR to machine code in this process, with a cache on disk.

A cache entry is one object file under a name that hashes everything it depends on: the robot,
the kernel's source, this package's code generator, LLVM, and the processor. A damaged entry, or
one of another user, is compiled again, see `object_cache`. Entries are written to a temporary file
and renamed, so that processes can start at the same time. If the cache folder cannot be used, code
is compiled in memory.
"""

from __future__ import annotations

from functools import lru_cache
import gc
import hashlib
import inspect
import logging
import os
from pathlib import Path
import sys
from threading import Lock
from typing import Callable, NamedTuple, Sequence
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm

from robodyn_ros.dynamics.jit.object_cache import ObjectCache
from robodyn_ros.exceptions import KernelError

LOGGER = logging.getLogger(__name__)  # logs each compilation at INFO


class Ir(NamedTuple):
    """
    LLVM IR of a module.

    Attributes
    ----------
    text : str
        Text of the module.
    compile_fast : bool
        Whether it is compiled with little optimisation.

    """

    text: str
    compile_fast: bool = False


class Code:
    """
    Machine code of one module, which stays loaded during the life of this object.

    Attributes
    ----------
    from_cache : bool
        Whether it was loaded from the cache.

    """

    def __init__(self, object_code: bytes, from_cache: bool):
        self.from_cache = from_cache
        self._linked = _linked(object_code)

    def address(self, name: str) -> int:
        """Return the address of a function."""
        address = self._linked.engine.get_function_address(name)
        if not address:
            raise KernelError(f'compiled code has no function {name!r}', function=name)
        return address


class _Linked:
    """
    Engine with an object file.

    Weak references to the engine itself are alive in its finalizer, which unloads the code.
    """

    def __init__(self, object_code: bytes):
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(''), _target_machine())
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
        self.engine.finalize_object()


# by the digest of the object file: code has no state, and linking takes milliseconds
_all_linked: WeakValueDictionary[bytes, _Linked] = WeakValueDictionary()
_link_lock = Lock()


def _linked(object_code: bytes) -> _Linked:
    """Return the engine with an object file; all that have the same file share it."""
    digest = hashlib.sha256(object_code).digest()
    with _link_lock:
        linked = _all_linked.get(digest)
        if linked is None:
            linked = _all_linked[digest] = _Linked(object_code)
    return linked


def load(key: str, make_ir: Callable[[], Ir], cache: Path | None) -> Code:
    """
    Return machine code for a key, from the cache or from its IR.

    Parameters
    ----------
    key : str
        Identifier of everything that the IR depends on.
    make_ir : callable
        Returns the IR; called only if the cache has no valid entry.
    cache : Path or None
        Folder of the cache; None compiles in memory.

    """
    with ObjectCache(cache) as entries:
        found = _found(entries, _name(key))
        if found is not None:
            return found
        LOGGER.info('compiling %s', key)
        object_code = compile_ir(_made(make_ir))
        entries.write(_name(key), object_code)
    return Code(object_code, False)


def _made(make_ir: Callable[[], Ir]) -> Ir:
    """Return IR, made without garbage collection, because all nodes of its program are in use."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return make_ir()
    finally:
        if collects:
            gc.enable()


def find(key: str, cache: Path | None) -> Code | None:
    """Return machine code for a key from the cache; None if it has no valid entry."""
    with ObjectCache(cache) as entries:
        return _found(entries, _name(key))


def _name(key: str) -> str:
    return hashlib.sha256(f'{key}|{_environment()}'.encode()).hexdigest()


def _found(entries: ObjectCache, name: str) -> Code | None:
    object_code = entries.read(name)
    if object_code is not None:
        try:
            return Code(object_code, True)
        except (RuntimeError, KernelError):
            pass  # the digest is correct, but the code cannot be loaded: compile it again
    return None


def load_kind(kind: str, key: str | None, make_ir: Callable[[], Ir],
              cache: Path | None) -> Code:
    """Return machine code of one kind for a key, as `load`; without a key, the IR is the key."""
    if key is None:
        made = make_ir()
        make_ir, key = lambda: made, hashlib.sha256(made.text.encode()).hexdigest()
    return load(f'{kind}|{key}', make_ir, cache)


class Codes:
    """
    Machine code of several kinds for one key, each compiled once, at its first use.

    Parameters
    ----------
    key : str or None
        Identifier of everything that the code depends on; None: its IR is the key.
    cache : Path or None
        Folder of the cache.

    """

    def __init__(self, key: str | None, cache: Path | None):
        self.key, self.cache = key, cache
        self._codes: dict[str, Code] = {}
        self._lock = Lock()

    def of(self, kind: str, make_ir: Callable[[], Ir]) -> Code:
        """Return the code of a kind, from the cache or from its IR."""
        if kind not in self._codes:
            with self._lock:  # another thread may compile it
                if kind not in self._codes:
                    self._codes[kind] = load_kind(kind, self.key, make_ir, self.cache)
        return self._codes[kind]

    def load(self, kind: str) -> bool:
        """Load from the cache, unless another thread compiles; return whether it is loaded."""
        if self.key is not None and self._lock.acquire(blocking=False):
            try:
                found = None if kind in self._codes else find(f'{kind}|{self.key}', self.cache)
                self._codes.update({} if found is None else {kind: found})
            finally:
                self._lock.release()
        return kind in self._codes


def compile_ir(ir: Ir) -> bytes:
    """
    Return the object file of a module.

    A long one is compiled without optimisation: in a thirtieth of the time, to code that is about
    one and a half times slower.
    """
    try:
        module = llvm.parse_assembly(ir.text)
        module.verify()
    except RuntimeError as error:
        raise KernelError(f'LLVM refused a generated kernel: {error}') from error
    return _target_machine(0 if ir.compile_fast else 1).emit_object(module)


def source_digest(function: Callable | None = None, others: Sequence[str] = ()) -> str:
    """
    Return a digest of the source of `dynamics`, and of other packages that code depends on.

    Parameters
    ----------
    function : callable, optional
        Function whose package is included.
    others : sequence of str
        Other packages of robodyn_ros that are included.

    """
    file = None if function is None else inspect.getfile(function)
    return _folders_digest(_folders(file, tuple(others)))


@lru_cache(maxsize=None)
def _folders(file: str | None, others: tuple[str, ...]) -> tuple[Path, ...]:
    here = Path(__file__).parents[1]
    folders = [here, *(here.parent / each for each in others)]
    return (*folders, *([] if file is None else [_part(Path(file))]))


def _part(file: Path) -> Path:
    """Return the folder directly below the top-level package that a file belongs to."""
    folder = file.parent
    while len(folder.parents) > 1 and (folder.parents[1] / '__init__.py').is_file():
        folder = folder.parent
    return folder


@lru_cache(maxsize=None)
def _folders_digest(folders: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        packaged = (folder.parent / '__init__.py').is_file()
        for path in sorted(folder.rglob('*.py') if packaged else folder.glob('*.py')):
            digest.update(path.name.encode() + b'\0' + path.read_bytes() + b'\0')
    return digest.hexdigest()


def default_cache() -> Path | None:
    """Return `$ROBODYN_CACHE_DIR`, or `robodyn_ros` in the user's cache folder, if any."""
    chosen = os.environ.get('ROBODYN_CACHE_DIR')
    if chosen:
        return Path(chosen)
    base = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    # without a home folder there is no safe place
    return Path(base) / 'robodyn_ros' if os.path.isabs(base) else None


def _target_machine(effort: int = 1):
    # a new one each time, because an execution engine takes ownership of it
    return _target().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_features(), opt=effort, reloc='default',
        codemodel='jitdefault', jit=True)


@lru_cache(maxsize=1)
def _target():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


@lru_cache(maxsize=1)
def _features() -> str:
    try:
        return llvm.get_host_cpu_features().flatten()
    except RuntimeError:
        return ''  # not known for this processor: the baseline is safe


@lru_cache(maxsize=1)
def _environment() -> str:
    return '|'.join((llvmlite.__version__, str(llvm.llvm_version_info),
                     str(sys.implementation.cache_tag),
                     llvm.get_process_triple(), llvm.get_host_cpu_name(), _features()))
