"""
How tests are spread over processes.

A file stays together: its tests share nodes and models. `.ci/tests` runs the files that start
nodes beside all others, which have a low priority (`--nodes`): what computes fills the time in
which nodes are waited for, and delays none of them.
"""

from functools import lru_cache
import gc
import os
from pathlib import Path

from kept_code import keep_code
import pytest

try:
    from hypothesis import HealthCheck, settings
except ImportError:
    pass  # the tests that need it are skipped
else:
    # how long an example takes depends on what else the machine does
    settings.register_profile('robodyn_ros', deadline=None,
                              suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile('robodyn_ros')

pytest_plugins = 'required', 'ros_install'
# Before NumPy is loaded: beside other processes, threads of BLAS wait for each other, busily.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
LOW_PRIORITY = 5
SCHEDULING = os.sched_getscheduler(0) if hasattr(os, 'sched_getscheduler') else None
# files of few tests that take long
LONG = ('test_flake8.py', 'test_pep257.py', 'test_hostile_urdf.py', 'test_identification.py',
        'test_export.py', 'test_control_cycle.py', 'test_montecarlo_faults.py',
        'test_commission.py', 'test_campaign_nodes.py', 'test_nodes_guard.py',
        'test_nodes_guard_configuration.py', 'test_view_nodes.py', 'test_cli_demo_run.py',
        'test_nodes_external_laws.py', 'test_cli_excite_send.py', 'test_security.py')


def pytest_addoption(parser):
    """Let a run be restricted to the files that start nodes, or to the others."""
    parser.addoption('--nodes', choices=('only', 'without'), help='files that start nodes: run '
                     'them alone, or leave them out and run with a low priority')


@lru_cache(maxsize=None)
def starts_nodes(path):
    """Whether the tests of a file start nodes: all of them need ROS, and processors at once."""
    return "\npytest.importorskip('rclpy'" in Path(path).read_text(encoding='utf-8')


def pytest_configure(config):
    """Give each process its priority, and a ROS domain: a given one to the first with nodes."""
    first = getattr(config, 'workerinput', {}).get('workerid', 'gw0') == 'gw0'
    if not first or config.option.nodes == 'without':
        os.environ.pop('ROS_DOMAIN_ID', None)
    if config.option.nodes == 'without' and hasattr(config, 'workerinput'):
        os.nice(LOW_PRIORITY)


def pytest_ignore_collect(collection_path, config):
    """Leave files unread that this run takes no test of: reading takes longer than most tests."""
    if not collection_path.name.startswith('test_'):
        return None
    if config.option.nodes and starts_nodes(collection_path) != (config.option.nodes == 'only'):
        return True
    if config.option.markexpr.endswith(' and realtime'):
        return 'mark.realtime' not in collection_path.read_text(encoding='utf-8') or None
    return None


def pytest_collection_modifyitems(config, items):
    """Leave the tests with nodes to the end, or out: files that are named are always read."""
    items.sort(key=lambda item: starts_nodes(item.path))
    if config.option.nodes:
        items[:] = [item for item in items
                    if starts_nodes(item.path) == (config.option.nodes == 'only')]


def pytest_runtest_teardown(item):
    """Fail a test after which all others, and the nodes they start, had another priority."""
    if SCHEDULING is not None and os.sched_getscheduler(0) != SCHEDULING:
        os.sched_setscheduler(0, SCHEDULING, os.sched_param(0))
        pytest.fail('it has changed the priority of the process')


def pytest_collection_finish():
    """Spare garbage collections what stays anyway: the tests, and all modules they import."""
    keep_code()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Return who deals out files, the largest first."""
    from xdist.scheduler import LoadScopeScheduling

    class LargestFirst(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return nodeid.partition('::')[0]

        def _assign_work_unit(self, node):
            def order(file):
                return Path(file).name in LONG, len(self.workqueue[file])

            self.workqueue.move_to_end(max(self.workqueue, key=order), last=False)
            super()._assign_work_unit(node)

    return LargestFirst(config, log)


@pytest.fixture(scope='module')
def probe(request):
    """Return a node for messages to and from the nodes under test, one for all tests of a file."""
    from ros_process import Probe  # needs ROS
    with Probe(f'{request.module.__name__}_probe') as made:
        yield made


@pytest.fixture
def answers(monkeypatch):
    """Return a function that sets the answers to questions, and the list of those asked."""
    asked = []

    def give(*texts):
        left = iter(texts)

        def answer(question):
            asked.append(question)
            for each in left:
                return each
            raise EOFError

        monkeypatch.setattr('builtins.input', answer)
        return asked
    return give
