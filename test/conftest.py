"""Which tests may run side by side: those without nodes, whose timing nothing disturbs."""

from functools import lru_cache
from pathlib import Path

import pytest


@lru_cache(maxsize=None)
def starts_nodes(path):
    """Whether the tests of a file start nodes: they need ROS, and processors of their own."""
    return "importorskip('rclpy'" in Path(path).read_text(encoding='utf-8')


def pytest_configure(config):
    config.addinivalue_line('markers', 'xdist_group: tests of one group run in one process')


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave the tests with nodes to the end, and, with `make test`, to one process."""
    items.sort(key=lambda item: starts_nodes(item.path))
    for item in items:
        if starts_nodes(item.path):
            item.add_marker(pytest.mark.xdist_group('nodes'))
