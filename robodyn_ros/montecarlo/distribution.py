"""Distribution of runs among processes, or the workers of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
from typing import TypeVar

from robodyn_ros.exceptions import RobodynError

Job = TypeVar('Job')
Part = TypeVar('Part')
Result = TypeVar('Result')


def distributed(function: Callable[[Job, Part], Result], job: Job, parts: Sequence[Part],
                workers: int, scheduler: str | None) -> Iterator[Result]:
    """Yield the results of a function of a job for all of its parts, in order."""
    jobs = [job] * len(parts)
    if scheduler:
        with dask_client(scheduler) as client:
            for future in client.map(function, jobs, parts, pure=False):
                yield future.result()
    elif workers > 1:
        context = multiprocessing.get_context('spawn')
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            yield from pool.map(function, jobs, parts)
    else:
        yield from map(function, jobs, parts)


def dask_client(scheduler: str):
    """
    Return a client of the Dask scheduler at an address.

    Raises
    ------
    RobodynError
        Dask is not installed, or no scheduler answers.

    """
    try:
        from distributed import Client
    except ImportError as error:
        raise RobodynError('--scheduler needs Dask: pip install "dask[distributed]"') from error
    try:
        return Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise RobodynError(f'no Dask scheduler answers at {scheduler}: {error}') from error
