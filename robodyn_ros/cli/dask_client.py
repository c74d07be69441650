"""Client of a Dask scheduler, which is imported only where it is used."""

from __future__ import annotations

from robodyn_ros.exceptions import RobodynError


def dask_client(scheduler: str):
    """
    Return a client of the scheduler at an address.

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
