"""What is compared: every call, on one state and on many, by every library that is installed."""
from importlib import import_module

from robots import chain, load
from timing import compare

from robodyn_ros.cli.bench.cases import batches_of, calls_of, importable

SCALED = ('inverse dynamics', 'mass matrix', 'forward dynamics')


def installed():
    """Return the libraries beside ours, and how to install the others."""
    found, missing = importable()
    try:
        found.append(import_module('with_drake').Drake)
    except ImportError:
        missing.append('drake')
    return found, missing


def measure_calls(names, peers, effort):
    """Return figures of single calls."""
    return [row for name in names for robot in [load(name)]
            for quantity, calls in calls_of(robot, peers).items()
            for row in compare('call', robot.name, robot.joints, quantity, calls, effort)]


def measure_batches(names, peers, effort):
    """Return figures of many states in one call; others are called in a loop."""
    return [row for name in names for robot in [load(name)]
            for quantity, calls in batches_of(robot, peers).items()
            for row in compare('batch', robot.name, robot.joints, quantity, calls, effort)]


def measure_scaling(sizes, peers, effort):
    """Return figures of chains of so many joints."""
    return [row for size in sizes for robot in [chain(size)]
            for quantity, calls in calls_of(robot, peers, SCALED).items()
            for row in compare('scaling', robot.name, size, quantity, calls, effort)]
