"""Size and speed of exported C, as the system's compiler makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import os
from pathlib import Path
import re
import shutil
import subprocess
import tempfile

from robodyn_ros.exceptions import KernelError

# results do not depend on errno and traps: without them choices need no branches
FLAGS = ('-std=c99', '-O3', '-fno-math-errno', '-fno-trapping-math')
_LINE = re.compile(r'(\w+): ([0-9.]+) us')
_STACK = re.compile(r'\S+:(\w+)\t(\d+)\t\w+')


@dataclass(frozen=True)
class Measurement:
    """
    What exported C comes to on this machine.

    Attributes
    ----------
    code : dict of str to int
        Bytes of machine code and constants of each source file; empty without `size`.
    stack : dict of str to int
        Bytes on the stack of each function, without those that it calls; empty if the compiler
        does not report it.
    times : dict of str to float
        Microseconds per call of the functions of the header.

    """

    code: dict[str, int]
    stack: dict[str, int]
    times: dict[str, float]


def compiler() -> str | None:
    """Return the C compiler of this system, `$CC` or `cc`; None if there is none."""
    return shutil.which(os.environ.get('CC') or 'cc')


def measure(files: Mapping[str, str], cc: str, flags: Sequence[str] = FLAGS) -> Measurement:
    """
    Compile a project in C, and run its example.

    Parameters
    ----------
    files : mapping of str to str
        Texts by name, as of `Export.c_files`.
    cc : str
        The compiler.
    flags : sequence of str
        Its options.

    Raises
    ------
    KernelError
        It does not compile, or the example fails; the message has what the compiler wrote.

    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, text in files.items():
            (place / name).write_text(text)
        sources = sorted(name for name in files if name.endswith('.c'))
        reports = ['-fstack-usage'] if '-fstack-usage' in _output(
            [cc, '--help=common'], place) else []
        for name in sources:
            _run([cc, *flags, *reports, '-c', name], place)
        objects = [f'{name[:-2]}.o' for name in sources]
        _run([cc, *objects, '-lm', '-o', 'example'], place)
        output = _run([str(place / 'example')], place)
        stack = {found[1]: int(found[2]) for path in sorted(place.glob('*.su'))
                 for found in map(_STACK.match, path.read_text().splitlines()) if found}
        return Measurement(_sizes(objects, place), stack,
                           {name: float(time) for name, time in _LINE.findall(output)})


def _sizes(objects: Sequence[str], place: Path) -> dict[str, int]:
    if shutil.which('size') is None:
        return {}
    lines = _output(['size', *objects], place).splitlines()[1:]
    # text with constants, then data
    return {line.split()[-1][:-2]: int(line.split()[0]) + int(line.split()[1]) for line in lines
            if line.split()[0].isdigit()}


def _output(command: Sequence[str], place: Path) -> str:
    return subprocess.run(command, cwd=place, capture_output=True, text=True).stdout


def _run(command: Sequence[str], place: Path) -> str:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    if done.returncode:
        raise KernelError(f'{" ".join(command)} failed: {done.stderr.strip()[:2000]}')
    return done.stdout
