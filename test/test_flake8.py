"""
Check the style with ament_flake8, or where that is missing, flake8 and the same rules.

Docstrings are checked by test_pep257.py, with all rules of flake8-docstrings and more.
"""
import gc
import subprocess
import sys

from clean_files import Files, ROOT
import pytest

PLUGINS = ('flake8_docstrings', 'flake8_import_order', 'flake8_quotes')


@pytest.fixture
def without_collection():
    """Leave out the garbage collection, which takes a sixth of the time."""
    gc.disable()
    yield
    gc.enable()


def test_flake8(monkeypatch, pytestconfig, without_collection):
    monkeypatch.chdir(ROOT)
    files = Files(pytestconfig, 'flake8')
    if not files.unknown:
        return
    try:
        from ament_flake8.main import main_with_errors
        import flake8_docstrings
    except ImportError:
        check_with_flake8(files.unknown)
    else:
        monkeypatch.setattr(flake8_docstrings.pep257Checker, 'run', lambda _: ())
        code, errors = main_with_errors(argv=['--config', 'setup.cfg', *files.unknown])
        assert code == 0, f'{len(errors)} problems:\n' + '\n'.join(errors)
    files.keep()


def check_with_flake8(files):
    for module in ('flake8', *PLUGINS):
        pytest.importorskip(module, reason='neither ament_flake8 nor flake8 with its plugins')
    run = subprocess.run([sys.executable, '-m', 'flake8', *files],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
