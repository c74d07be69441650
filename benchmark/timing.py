"""Timing of calls in turns, with a display of the progress."""
import sys

import checkout  # noqa: F401  (first: it adds the package to sys.path)

from robodyn_ros.inspection import timing
from robodyn_ros.inspection.timing import Budget, Call, OURS, quartiles

__all__ = ['Call', 'Budget', 'OURS', 'compare', 'progress', 'quartiles']


def compare(group, robot, joints, quantity, calls, budget=Budget()):
    """Time the calls of all libraries in turns; return a row for each."""
    progress(f'{robot}: {quantity}')
    return timing.compare(group, robot, joints, quantity, calls, budget)


def progress(text=''):
    """Show the progress on a terminal; an empty text erases it."""
    if sys.stderr.isatty():
        print(f'\r{text:70}' + ('' if text else '\r'), end='', file=sys.stderr, flush=True)
