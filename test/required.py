"""
What must not be skipped: a plugin of pytest.

The environment variable ROBODYN_REQUIRE names, separated by commas, what has to be installed. A
test or a file that is skipped for a reason that contains such a name fails. `.ci/run` sets it.
"""

import os

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """Refuse the skip of a file."""
    return refused((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Refuse the skip of a test."""
    return refused((yield))


def refused(report):
    """Return a report, as a failure if it is the skip of something required."""
    if report.skipped and not hasattr(report, 'wasxfail'):
        reason = report.longrepr[-1]
        for name in filter(None, os.environ.get('ROBODYN_REQUIRE', '').split(',')):
            if name in reason:
                report.outcome = 'failed'
                report.longrepr = f'ROBODYN_REQUIRE has {name}, but: {reason}'
    return report
