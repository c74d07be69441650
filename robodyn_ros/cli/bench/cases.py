"""Calls of several libraries for the same quantities, with a check that they agree."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

import numpy as np

from robodyn_ros.cli.bench.robot import BenchRobot
from robodyn_ros.cli.bench.timing import Call, OURS
from robodyn_ros.cli.bench.with_robodyn import BATCH, Robodyn
from robodyn_ros.exceptions import RobodynError

# class of another library: its module here, and the package that it needs
_PEERS = {'Pinocchio': ('with_pinocchio', 'pin'), 'Mujoco': ('with_mujoco', 'mujoco')}

Cases = dict[str, dict[str, Call]]


def importable() -> tuple[list[type], list[str]]:
    """Return the classes of installed libraries, and the packages of the others."""
    found, missing = [], []
    for name, (module, package) in _PEERS.items():
        try:
            found.append(getattr(import_module(f'robodyn_ros.cli.bench.{module}'), name))
        except ImportError:
            missing.append(package)
    return found, missing


def calls_of(robot: BenchRobot, peers: Collection[Any],
             wanted: Collection[str] | None = None) -> Cases:
    """Return the checked calls of each quantity by library, ours first."""
    own = Robodyn(robot)
    theirs = {peer.name: peer(robot, own.law_state()).calls() for peer in peers}
    return _checked(robot, own.calls(), theirs, wanted)


def batches_of(robot: BenchRobot, peers: Collection[Any],
               wanted: Collection[str] | None = None) -> Cases:
    """Return the checked calls for many states; other libraries are called in a loop."""
    own = Robodyn(robot)
    theirs = {peer.name: peer(robot, own.law_state()).batches(BATCH)
              for peer in peers if hasattr(peer, 'batches')}
    return _checked(robot, own.batches(), theirs, wanted)


def _checked(robot: BenchRobot, ours: dict[str, Call], theirs: Cases,
             wanted: Collection[str] | None) -> Cases:
    cases = {}
    for quantity, call in ours.items():
        if wanted is None or quantity in wanted:
            cases[quantity] = {OURS: call} | {
                name: calls[quantity] for name, calls in theirs.items() if quantity in calls}
            check(robot.name, quantity, cases[quantity])
    return cases


def check(robot: str, quantity: str, calls: dict[str, Call], relative: float = 1e-9,
          absolute: float = 0.0) -> None:
    """
    Check that the results of all calls agree.

    Raises
    ------
    RobodynError
        They do not agree.

    """
    (_, ours), *others = ((name, call.result()) for name, call in calls.items())
    for name, result in others:
        theirs = _parts(result)
        # ours returns several matrices as one array
        own_parts = list(ours) if len(theirs) > 1 else _parts(ours)
        for own, their in zip(own_parts, theirs, strict=True):
            if own.shape != their.shape:
                raise RobodynError(f'{robot}: {quantity} is {own.shape} here and {their.shape} in '
                                   f'{name}')
            error = np.abs(own - their).max()
            # also false for NaN
            if not error <= relative * np.abs(their).max() + absolute:
                raise RobodynError(f'{robot}: {name} disagrees on {quantity} by {error:.1e}')


def _parts(result: Any) -> list[np.ndarray]:
    """Return a result as a list of arrays."""
    several = isinstance(result, (tuple, list)) and isinstance(result[0], np.ndarray)
    return list(result) if several else [np.asarray(result)]
