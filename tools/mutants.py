"""
Mutation run: errors drawn from a seed, put into a copy of the package one at a time.

Each is run against the tests that matter for its folder, until one fails. An error that no test
notices is a hole in the tests, or makes no difference. The list of those that were noticed is what
the tests must go on noticing, however they are rewritten.

    python -m tools.mutants --seed 1 --count 300 --output mutants.csv
    python -m tools.mutants --again tools/mutants.csv   those that were noticed: all must be again

A mutant is named by file, function, number of the place within the function, and kind, so that it
is found again after lines have moved.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Sequence
import csv
from dataclasses import astuple, dataclass
import os
from pathlib import Path
import platform
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

PACKAGE = Path(__file__).resolve().parents[1] / 'robodyn_ros'
TESTS = PACKAGE.parent / 'test'
# folder, and its tests: those that fail for most errors, and soon, are the first
MATTER = {
    'dynamics/algorithms': ('reference', 'properties', 'identities', 'analysis', 'singular',
                            'parts'),
    'dynamics': ('programs', 'flow', 'backends', 'calls', 'memory', 'properties', 'parts',
                 'singular'),
    'control/laws': ('golden_logs', 'control_'),
    'control/steps': ('golden_logs', 'nodes_golden_logs', 'control_'),
    'control': ('control_', 'golden_logs', 'nodes_golden_logs'),
    'safety': ('safety_', 'nodes_golden_logs', 'control_acceptance', 'control_plausibility',
               'control_cadence', 'control_braking', 'control_recovery', 'guard_torque',
               'nodes_command_message', 'control_delay', 'control_faults',
               'control_loop_measurement', 'golden_logs'),
}
_DYNAMICS = 'test_dynamics_'
_LONGEST = 600  # s of processor time per run of tests; what is as slow as that is noticed
_FIRST = 2  # files of tests that are run alone
# in the copy no machine code is made again for an error in what only calls it
_DIGEST = ("        for path in sorted(folder.rglob('*.py') if packaged else "
           "folder.glob('*.py')):\n")
_NO_MACHINE_CODE = "path.parent.name == 'arm' and path.name != 'contact.py'"
_NO_CODE = 'annotation', 'returns', 'decorator_list'  # fields of the syntax tree
_NOTICED, _SURVIVED = 'noticed', 'SURVIVED'
_COMPARE = {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE,
            ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
            ast.Is: ast.IsNot, ast.IsNot: ast.Is}
_BINARY = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
           ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
_CALLS = {'minimum': 'maximum', 'maximum': 'minimum', 'min': 'max', 'max': 'min',
          'all_of': 'any_of', 'any_of': 'all_of'}


@dataclass(frozen=True)
class Mutant:
    """An error: the `place`-th place of its kind in a function of a file."""

    file: str
    function: str
    place: int
    kind: str


def places(tree: ast.Module) -> Iterator[tuple[str, str, ast.AST, ast.AST]]:
    """Yield function, kind, node, and the node with an error, for all places of a module."""
    def walk(node: ast.AST, name: str) -> Iterator:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            name = f'{name}.{node.name}'.lstrip('.')
        for kind, other in _errors(node):
            yield name, kind, node, other
        for field, value in ast.iter_fields(node):
            if field not in _NO_CODE:
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from walk(child, name)

    yield from walk(tree, '')


def _errors(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the errors of a node: kind, and what stands in its place."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARE:
            yield 'compare', ast.Compare(left, [_COMPARE[type(operator)]()], [right])
        case ast.BinOp(left, operator, right) if type(operator) in _BINARY:
            yield 'operator', ast.BinOp(left, _BINARY[type(operator)](), right)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            yield 'sign', operand
        case ast.BoolOp(operator, values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield 'operator', ast.BoolOp(other, values)
        case ast.Call(ast.Name(name), arguments, keywords) if name in _CALLS:
            yield 'call', ast.Call(ast.Name(_CALLS[name], ast.Load()), arguments, keywords)
        case ast.Call(ast.Name('no'), [argument], []):
            yield 'sign', argument
        case ast.Call(ast.Name('when') as name, [condition, one, two], []):
            yield 'branch', ast.Call(name, [condition, two, one], [])
        case ast.IfExp(condition, one, two):
            yield 'branch', ast.IfExp(condition, two, one)
        case ast.Constant(float(value)) if value:
            yield 'number', ast.Constant(2.0 * value)


class _Replace(ast.NodeTransformer):
    """Puts a node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST):
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return all errors of a file of the package."""
    count: dict[tuple[str, str], int] = {}
    found = []
    for function, kind, _, _ in places(ast.parse(source)):
        number = count[function, kind] = count.get((function, kind), -1) + 1
        found.append(Mutant(file, function, number, kind))
    return found


def mutated(mutant: Mutant, source: str) -> tuple[str, str]:
    """Return the source with the error, and the lines of it as text; raises LookupError."""
    tree = ast.parse(source)
    matching = [(node, other) for function, kind, node, other in places(tree)
                if (function, kind) == (mutant.function, mutant.kind)]
    node, other = matching[mutant.place]
    text = f'{ast.unparse(node)}  ->  {ast.unparse(other)}'
    changed = ast.fix_missing_locations(_Replace(node, other).visit(tree))
    return ast.unparse(changed), text


def relevant_tests(file: str) -> list[str]:
    """Return the files of tests for a file of the package, in their order."""
    folder = next((each for each in MATTER if file.startswith(f'{each}/')), None)
    if folder is None:
        raise SystemExit(f'no tests are known for {file}: there are those of {", ".join(MATTER)}')
    prefix = _DYNAMICS if folder.startswith('dynamics') else 'test_'
    names = sorted(each.name for each in TESTS.glob('test_*.py'))
    chosen = dict.fromkeys(name for part in MATTER[folder] for name in names
                           if name.startswith(f'{prefix}{part}'))
    words = {'golden', *Path(file).stem.split('_')}
    # those of all logs, and those named after the file, are the first
    return sorted(chosen, key=lambda name: -sum(word in name for word in words))


def drawn(seed: int, count: int, only: str) -> list[Mutant]:
    """Return mutants drawn from a seed, from the folders that have tests."""
    files = sorted(path for folder in MATTER for path in (PACKAGE / folder).rglob('*.py'))
    everything = [mutant for path in dict.fromkeys(files)
                  if (name := str(path.relative_to(PACKAGE))).startswith(only)
                  for mutant in mutants_of(name, path.read_text(encoding='utf-8'))]
    return random.Random(seed).sample(everything, min(count, len(everything)))


class Laboratory:
    """A copy of the package and a cache of its own, in which mutants are tried."""

    def __init__(self, folder: Path):
        self.package = folder / PACKAGE.name
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns('__pycache__'))
        for each in TESTS.parent.iterdir():  # files that the package has beside it
            if each != PACKAGE and not each.name.startswith('.'):
                (folder / each.name).symlink_to(each)
        machine = self.package / 'dynamics' / 'jit' / 'machine.py'
        text = machine.read_text(encoding='utf-8')
        assert _DIGEST in text
        machine.write_text(text.replace(_DIGEST, f'{_DIGEST}            if {_NO_MACHINE_CODE}:\n'
                                        '                continue\n'), encoding='utf-8')
        self._environment = {**os.environ, 'PYTHONPATH': f'{folder}{os.pathsep}{TESTS.parent}',
                             'ROBODYN_CACHE_DIR': str(folder / 'cache'),
                             'PYTHONDONTWRITEBYTECODE': '1'}
        self._folder = folder

    def run(self, tests: Sequence[str]) -> str:
        """Run files of tests until one fails; return the first test that does, or ''."""
        # most errors are noticed by the first ones; the others share a process
        for names in filter(None, (tests[:_FIRST], tests[_FIRST:])):
            command = [sys.executable, '-m', 'pytest', '-x', '-q', '-p', 'no:cacheprovider',
                       '-p', 'no:xdist', '-o', 'pythonpath=',  # else the package is not the copy
                       '-m', 'not slow and not realtime',
                       *(str(TESTS / name) for name in names)]
            done = subprocess.run(command, cwd=self._folder, env=self._environment, text=True,
                                  capture_output=True, preexec_fn=_limit)
            if done.returncode not in (0, 5):
                failed = re.search(r'^(?:FAILED|ERROR) (?:.*/)?(\S+)', done.stdout, re.MULTILINE)
                return failed[1] if failed else f'return code {done.returncode}'
        return ''

    def check(self, tests: Sequence[str]) -> None:
        """Raise SystemExit unless tests pass with the copy as it is, and fail if it is broken."""
        used = self.run_with('__init__.py', 'raise RuntimeError', tests[:1])
        failed = self.run(tests)
        if failed or not used:
            raise SystemExit(f'{failed} fails without an error' if failed else
                             f'{tests[0]} does not use the copy of the package')

    def attempt(self, mutant: Mutant) -> tuple[str, str]:
        """Return the error as text, and the test that noticed it, or ''."""
        changed, text = mutated(mutant, (self.package / mutant.file).read_text(encoding='utf-8'))
        return text, self.run_with(mutant.file, changed, relevant_tests(mutant.file))

    def run_with(self, file: str, changed: str, tests: Sequence[str]) -> str:
        """Run files of tests with another text in a file of the package; see `run`."""
        path = self.package / file
        sound = path.read_text(encoding='utf-8')
        path.write_text(changed, encoding='utf-8')
        try:
            return self.run(tests)
        finally:
            path.write_text(sound, encoding='utf-8')


def read(path: Path) -> list[list[str]]:
    """Return the rows of a file of results."""
    with path.open(newline='', encoding='utf-8') as file:
        return list(csv.reader(line for line in file if not line.startswith('#')))


def write(path: Path, rows: Sequence[Sequence], command: str) -> None:
    """Write rows of file, function, place, kind, verdict, test and text, with their origin."""
    with path.open('w', newline='', encoding='utf-8') as file:
        file.write(f'# date: {time.strftime("%Y-%m-%d")}\n# machine: {platform.machine()}, '
                   f'{os.cpu_count()} processors, Python {platform.python_version()}\n'
                   f'# command: {command}\n')
        csv.writer(file, lineterminator='\n').writerows(rows)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_LONGEST, _LONGEST))


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants; return 1 if one survives that was noticed before."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').strip().split('\n\n')[0])
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=300, help='number of mutants (default 300)')
    parser.add_argument('--only', default='', metavar='FOLDER', help='such as control/steps')
    parser.add_argument('--output', type=Path, metavar='FILE', help='CSV of the results')
    parser.add_argument('--again', type=Path, metavar='FILE', help='try those noticed in a CSV')
    given = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(given)
    if options.again:
        chosen = [Mutant(row[0], row[1], int(row[2]), row[3]) for row in read(options.again)
                  if row[4] == _NOTICED]
    else:
        chosen = drawn(options.seed, options.count, options.only)
    rows, lost = [], 0
    with tempfile.TemporaryDirectory(prefix='mutants_') as folder:
        laboratory = Laboratory(Path(folder))
        tests = sorted({name for each in chosen for name in relevant_tests(each.file)})
        laboratory.check(tests)
        for mutant in chosen:
            try:
                text, test = laboratory.attempt(mutant)
            except (LookupError, OSError):
                lost += 1
                print(f'gone      {mutant.file}  {mutant.function}  {mutant.kind}', flush=True)
                continue
            rows.append((*astuple(mutant), _NOTICED if test else _SURVIVED, test, text))
            print(f'{rows[-1][4]:8}  {mutant.file}  {mutant.function}: {text}  {test}', flush=True)
            if options.output:
                write(options.output, rows, ' '.join(['python -m tools.mutants', *given]))
    survived = sum(row[4] == _SURVIVED for row in rows)
    print(f'{len(rows)} mutants, {len(rows) - survived} noticed, {survived} survived'
          + (f', {lost} are gone' if lost else ''))
    return int(bool(options.again and survived))


if __name__ == '__main__':
    sys.exit(main())
