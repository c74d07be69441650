"""Measurements of all calls, for one state and for many, of all installed libraries."""
from importlib import import_module

from calls import batches_of, calls_of, importable
from robots import chain, load
from timing import compare

SCALED = ('inverse dynamics', 'mass matrix', 'forward dynamics')


def installed():
    """Return the classes of installed libraries, and the packages of the others."""
    found, missing = importable()
    try:
        found.append(import_module('with_drake').Drake)
    except ImportError:
        missing.append('drake')
    return found, missing


def measure_calls(names, peers, budget):
    """Return figures of single calls."""
    return [row for name in names for robot in [load(name)]
            for quantity, calls in calls_of(robot, peers).items()
            for row in compare('call', robot.name, robot.joints, quantity, calls, budget)]


def measure_batches(names, peers, budget):
    """Return figures for many states; other libraries are called in a loop."""
    return [row for name in names for robot in [load(name)]
            for quantity, calls in batches_of(robot, peers).items()
            for row in compare('batch', robot.name, robot.joints, quantity, calls, budget)]


def measure_scaling(sizes, peers, budget):
    """Return figures of chains with the given numbers of joints."""
    return [row for size in sizes for robot in [chain(size)]
            for quantity, calls in calls_of(robot, peers, SCALED).items()
            for row in compare('scaling', robot.name, size, quantity, calls, budget)]
