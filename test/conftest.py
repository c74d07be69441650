"""
How tests are spread over processes.

Those that start nodes share the nodes of their file, so a file stays together. Half of the
processes take these files. The other half has a low priority and takes the rest, test by test, so
that what computes fills the time in which nodes are waited for, and delays none of them.
"""

from functools import lru_cache
import os
from pathlib import Path

import pytest

LOW_PRIORITY = 10


@lru_cache(maxsize=None)
def starts_nodes(path):
    """Whether the tests of a file start nodes: they need ROS, and processors at once."""
    return "importorskip('rclpy'" in Path(path).read_text(encoding='utf-8')


def takes_nodes(worker):
    """Whether a process, gw0 or gw1 and so on, takes the files with nodes."""
    return int(worker.removeprefix('gw')) % 2 == 0


def pytest_configure(config):
    """Give each process a ROS domain of its own, the first the one that is given, and its priority."""
    worker = getattr(config, 'workerinput', {}).get('workerid', 'gw0')
    if worker != 'gw0':
        os.environ.pop('ROS_DOMAIN_ID', None)
    if not takes_nodes(worker):
        os.nice(LOW_PRIORITY)


def pytest_collection_modifyitems(items):
    """Leave the tests with nodes to the end."""
    items.sort(key=lambda item: starts_nodes(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Return how many processes `-n auto` stands for: two for each processor."""
    return 2 * len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Return who deals out files with nodes, the largest first, and the other tests."""
    from xdist.scheduler import LoadScopeScheduling

    class FilesWithNodes(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition('::')[0]
            return file if starts_nodes(config.rootpath / file) else nodeid

        def _unit_for(self, node):
            with_nodes = [scope for scope in self.workqueue if '::' not in scope]
            if takes_nodes(node.gateway.id) and with_nodes:
                return max(with_nodes, key=lambda scope: len(self.workqueue[scope]))
            return next((scope for scope in self.workqueue if '::' in scope), None)

        def _assign_work_unit(self, node):
            unit = self._unit_for(node)
            if unit is None:
                node.shutdown()
                return
            self.workqueue.move_to_end(unit, last=False)
            super()._assign_work_unit(node)

    return FilesWithNodes(config, log)
