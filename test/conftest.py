"""Which tests may run side by side: those without nodes, whose timing nothing disturbs."""

from functools import lru_cache
from pathlib import Path

import pytest


@lru_cache(maxsize=None)
def starts_nodes(path):
    """Whether the tests of a file start nodes: they need ROS, and processors of their own."""
    return "importorskip('rclpy'" in Path(path).read_text(encoding='utf-8')


def pytest_collection_modifyitems(items):
    """Leave the tests with nodes to the end."""
    items.sort(key=lambda item: starts_nodes(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Return who deals out tests one by one, and those with nodes to one process."""
    from xdist.scheduler import LoadScopeScheduling

    class NodesTogether(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = config.rootpath / nodeid.partition('::')[0]
            return 'nodes' if starts_nodes(file) else nodeid

    return NodesTogether(config, log)
