"""Times of libraries in turns, as ratios to ours, with a display of the progress."""
import sys
from typing import NamedTuple

import checkout  # noqa: F401  (first: it adds the package to sys.path)

from robodyn_ros.inspection.timing import Budget, Call, interleaved_times, quartiles

__all__ = ['Call', 'Budget', 'OURS', 'Row', 'compare', 'progress', 'quartiles']
OURS = 'robodyn'


class Row(NamedTuple):
    """
    Time of one quantity of a robot by one library.

    Attributes
    ----------
    time, ratio : (float, float, float)
        Lower quartile, median and upper quartile of the time in us, and of its ratio to ours.

    """

    group: str
    robot: str
    joints: int
    quantity: str
    library: str
    time: tuple
    ratio: tuple
    rounds: int


def compare(group, robot, joints, quantity, calls, budget=Budget()):
    """Time the calls of all libraries in turns, the first one ours; return a row for each."""
    progress(f'{robot}: {quantity}')
    seconds = interleaved_times([call.timer() for call in calls.values()], budget)
    seconds /= [call.size for call in calls.values()]
    return [Row(group, robot, joints, quantity, library, quartiles(1e6 * own),
                quartiles(own / seconds[:, 0]), len(seconds))
            for library, own in zip(calls, seconds.T)]


def progress(text=''):
    """Show the progress on a terminal; an empty text erases it."""
    if sys.stderr.isatty():
        print(f'\r{text:70}' + ('' if text else '\r'), end='', file=sys.stderr, flush=True)
