"""What is compared: every call, on one state and on many, by every library that is installed."""
import importlib
import sys

import numpy as np
from own import BATCH, Own
from robots import chain, load
from timing import compare, OURS

PEERS = {'with_pinocchio': 'Pinocchio', 'with_mujoco': 'Mujoco', 'with_drake': 'Drake'}
NEEDED_BY = {'with_pinocchio': 'pin', 'with_mujoco': 'mujoco', 'with_drake': 'drake'}
SCALED = ('inverse dynamics', 'mass matrix', 'forward dynamics')


def installed():
    """Return the libraries beside ours, and how to install the others."""
    found, missing = [], []
    for module, name in PEERS.items():
        try:
            found.append(getattr(importlib.import_module(module), name))
        except ImportError:
            missing.append(NEEDED_BY[module])
    return found, missing


def calls_of(robot, peers, wanted=None):
    """Return for each quantity a call by library, ours first; all are known to agree."""
    own = Own(robot)
    theirs = {peer.name: peer(robot, own.law_state()).calls() for peer in peers}
    cases = {}
    for quantity, call in own.calls().items():
        if wanted is None or quantity in wanted:
            cases[quantity] = {OURS: call} | {
                name: calls[quantity] for name, calls in theirs.items() if quantity in calls}
            check(robot.name, quantity, cases[quantity])
    return cases


def check(robot, quantity, calls, relative=1e-9, absolute=0.0):
    """Stop unless all calls compute the same."""
    (_, ours), *others = ((name, call.result()) for name, call in calls.items())
    for name, result in others:
        theirs = parts(result)
        # several matrices are one array here
        own_parts = list(ours) if len(theirs) > 1 else parts(ours)
        for own, their in zip(own_parts, theirs, strict=True):
            if own.shape != their.shape:
                sys.exit(f'{robot}: {quantity} is {own.shape} here and {their.shape} in {name}')
            error = np.abs(own - their).max()
            # also refuses what is not a number
            if not error <= relative * np.abs(their).max() + absolute:
                sys.exit(f'{robot}: {name} disagrees on {quantity} by {error:.1e}')


def parts(result):
    """Return a result as a list of arrays."""
    several = isinstance(result, (tuple, list)) and isinstance(result[0], np.ndarray)
    return list(result) if several else [np.asarray(result)]


def measure_calls(names, peers, effort):
    """Return figures of single calls."""
    return [row for name in names for robot in [load(name)]
            for quantity, calls in calls_of(robot, peers).items()
            for row in compare('call', robot.name, robot.joints, quantity, calls, effort)]


def measure_batches(names, peers, effort):
    """Return figures of many states in one call; others are called in a loop."""
    rows = []
    for name in names:
        robot = load(name)
        own = Own(robot)
        theirs = {peer.name: peer(robot, own.law_state()).batches(BATCH)
                  for peer in peers if hasattr(peer, 'batches')}
        for quantity, call in own.batches().items():
            calls = {OURS: call} | {each: batch[quantity] for each, batch in theirs.items()}
            check(robot.name, quantity, calls)
            rows += compare('batch', robot.name, robot.joints, quantity, calls, effort)
    return rows


def measure_scaling(sizes, peers, effort):
    """Return figures of chains of so many joints."""
    return [row for size in sizes for robot in [chain(size)]
            for quantity, calls in calls_of(robot, peers, SCALED).items()
            for row in compare('scaling', robot.name, size, quantity, calls, effort)]
