"""
How tests are spread over processes.

A file stays together: its tests share nodes and models. Half of the processes take the files that
start nodes. The other half has a low priority and takes the rest, so that what computes fills the
time in which nodes are waited for, and delays none of them.
"""

from functools import lru_cache
import os
from pathlib import Path

import pytest

LOW_PRIORITY = 5
# files of few tests that take long
LONG = ('test_flake8.py', 'test_pep257.py', 'test_hostile_urdf.py', 'test_identification.py')


@lru_cache(maxsize=None)
def starts_nodes(path):
    """Whether the tests of a file start nodes: they need ROS, and processors at once."""
    return "importorskip('rclpy'" in Path(path).read_text(encoding='utf-8')


def takes_nodes(worker):
    """Whether a process, gw0 or gw1 and so on, takes the files with nodes."""
    return int(worker.removeprefix('gw')) % 2 == 0


def pytest_configure(config):
    """Give each process its priority, and a ROS domain: a given one to the first alone."""
    worker = getattr(config, 'workerinput', {}).get('workerid', 'gw0')
    if worker != 'gw0':
        os.environ.pop('ROS_DOMAIN_ID', None)
    if not takes_nodes(worker):
        os.nice(LOW_PRIORITY)


def pytest_ignore_collect(collection_path, config):
    """Leave files unread that have no test marked `realtime`, where only those are to run."""
    if collection_path.suffix == '.py' and config.option.markexpr.endswith(' and realtime'):
        return 'mark.realtime' not in collection_path.read_text(encoding='utf-8') or None
    return None


def pytest_collection_modifyitems(items):
    """Leave the tests with nodes to the end."""
    items.sort(key=lambda item: starts_nodes(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Return how many processes `-n auto` stands for: two for each processor."""
    return 2 * len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Return who deals out files, those with nodes and the largest first."""
    from xdist.scheduler import LoadScopeScheduling

    class LargestFirst(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return nodeid.partition('::')[0]

        def _unit_for(self, node):
            def order(file):
                with_nodes = starts_nodes(config.rootpath / file)
                return with_nodes, Path(file).name in LONG, len(self.workqueue[file])

            files = sorted(self.workqueue, key=order)
            if not takes_nodes(node.gateway.id):
                files = [file for file in files if not starts_nodes(config.rootpath / file)]
            return files[-1] if files else None

        def _assign_work_unit(self, node):
            unit = self._unit_for(node)
            if unit is None:
                node.shutdown()
                return
            self.workqueue.move_to_end(unit, last=False)
            super()._assign_work_unit(node)

    return LargestFirst(config, log)
