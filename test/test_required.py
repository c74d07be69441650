"""No skip is silent: each is in the summary with its reason, and fails where it is required."""

import ast
from pathlib import Path

import pytest

pytest_plugins = 'pytester'
TESTS = Path(__file__).parent
MODULES = {'pinocchio', 'mujoco'}  # required by `.ci/run`; what else is, is no module
PARTLY = """
    import pytest
    def test_runs(): pass
    def test_skips(): pytest.importorskip('no_such_oracle')
    @pytest.mark.skipif(True, reason='no_such_robot is not installed')
    def test_never(): pass
"""
WHOLE = """
    import pytest
    pytest.importorskip('no_such_library', reason='it needs no_such_library')
    def test_never(): pass
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    monkeypatch.delenv('ROBODYN_REQUIRE', raising=False)
    pytester.makeconftest(f'import sys; sys.path.insert(0, {str(TESTS)!r})\n'
                          'pytest_plugins = "required"')
    pytester.makeini('[pytest]\naddopts = -rs -p no:launch_testing -p no:launch_ros')
    pytester.makepyfile(test_partly=PARTLY, test_whole=WHOLE)
    return pytester


@pytest.mark.parametrize('processes', [0, 2])
def test_a_file_that_skips_itself_is_listed_with_its_reason(suite, processes):
    result = suite.runpytest(f'-n{processes}')
    result.stdout.fnmatch_lines(['SKIPPED*test_whole.py:*: it needs no_such_library'])
    result.assert_outcomes(passed=1, skipped=3)
    assert result.ret == 0


@pytest.mark.parametrize('name, outcomes', [
    ('no_such_library', {'passed': 1, 'skipped': 2, 'errors': 1}),
    ('no_such_oracle', {'passed': 1, 'skipped': 2, 'failed': 1}),
    ('no_such_robot', {'passed': 1, 'skipped': 2, 'errors': 1})])
def test_what_is_required_is_not_skipped(suite, monkeypatch, name, outcomes):
    monkeypatch.setenv('ROBODYN_REQUIRE', f'numpy,{name}')
    result = suite.runpytest('-n0', '--continue-on-collection-errors')
    result.assert_outcomes(**outcomes)
    result.stdout.fnmatch_lines([f'*ROBODYN_REQUIRE has {name}, but: *{name}*'])
    assert result.ret == 1


def reasons(path):
    """Yield (module, reason) of what a file skips for lack of a required module."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Call) and getattr(node.func, 'attr', '') == 'importorskip':
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            texts = [each.value for each in given if isinstance(each, ast.Constant)]
            if texts and texts[0] in MODULES:
                yield texts[0], texts[1] if texts[1:] else f'could not import {texts[0]!r}'


def test_reasons_name_what_is_missing():
    found = [each for path in TESTS.glob('*.py') for each in reasons(path)]
    assert {module for module, _ in found} == MODULES
    assert not [(module, reason) for module, reason in found if module not in reason]
