"""
Check the style with ament_flake8, or where that is missing, flake8 and the same rules.

Docstrings are checked by test_pep257.py, with all rules of flake8-docstrings and more.
"""
import gc
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Named one by one, because `.` would also be build folders and virtual environments.
SOURCES = [name for name in ('setup.py', 'robodyn_ros', 'launch', 'benchmark', 'test', 'docs')
           if (ROOT / name).exists()]
PLUGINS = ('flake8_docstrings', 'flake8_import_order', 'flake8_quotes')


@pytest.fixture
def without_collection():
    """Leave out the garbage collection, which takes a sixth of the time."""
    gc.disable()
    yield
    gc.enable()


def test_flake8(monkeypatch, without_collection):
    monkeypatch.chdir(ROOT)
    try:
        from ament_flake8.main import main_with_errors
        import flake8_docstrings
    except ImportError:
        check_with_flake8()
    else:
        monkeypatch.setattr(flake8_docstrings.pep257Checker, 'run', lambda _: ())
        code, errors = main_with_errors(argv=['--config', 'setup.cfg', *SOURCES])
        assert code == 0, f'{len(errors)} problems:\n' + '\n'.join(errors)


def check_with_flake8():
    for module in ('flake8', *PLUGINS):
        pytest.importorskip(module, reason='neither ament_flake8 nor flake8 with its plugins')
    run = subprocess.run([sys.executable, '-m', 'flake8', *SOURCES],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
