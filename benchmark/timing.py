"""How `robodyn bench` measures, with a word about what is being measured."""
import sys

import checkout  # noqa: F401  (before the package, which it makes known)

from robodyn_ros.cli.bench import timing
from robodyn_ros.cli.bench.timing import Budget, Call, OURS, quartiles

__all__ = ['Call', 'Budget', 'OURS', 'compare', 'progress', 'quartiles']


def compare(group, robot, joints, quantity, calls, budget=Budget()):
    """Let calls take turns, by library; return a row of figures for each."""
    progress(f'{robot}: {quantity}')
    return timing.compare(group, robot, joints, quantity, calls, budget)


def progress(text=''):
    """Say what is being done; nothing erases it."""
    if sys.stderr.isatty():
        print(f'\r{text:70}' + ('' if text else '\r'), end='', file=sys.stderr, flush=True)
