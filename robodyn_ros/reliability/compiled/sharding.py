"""Runs shared among processes, or the workers of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robodyn_ros.model.robot import Robot
from robodyn_ros.reliability.compiled.results import Summary, summary
from robodyn_ros.reliability.compiled.runs import simulate
from robodyn_ros.reliability.compiled.study import GROUP, prepare
from robodyn_ros.simulation.distribution import distributed


def simulate_part(arm: tuple[Robot, bool], seeds: Sequence[int]) -> tuple[Summary, int]:
    """Return the summary of some seeds of a fault, and their number of steps, in any process."""
    found = simulate(prepare(*arm), seeds)
    return summary(found[0].case, found), sum(each.steps for each in found)


def parts_of(seeds: Sequence[int], count: int) -> list[list[int]]:
    """
    Return the seeds in parts of one fault and as many runs as are simulated together, by turns.

    count: number of faults that the seeds stand for.
    """
    by_fault = [list(seeds[k::count]) for k in range(count)]
    return [each[k:k + GROUP] for k in range(0, len(by_fault[0]), GROUP) for each in by_fault
            if each[k:]]


def results(robot: Robot, parts: Sequence[Sequence[int]], workers: int, scheduler: str | None,
            drawn: bool = False) -> Iterator[tuple[Summary, int]]:
    """Return summaries and numbers of steps of all parts, in order; drawn: as for `prepare`."""
    return distributed(simulate_part, (robot, drawn), parts, workers, scheduler)
