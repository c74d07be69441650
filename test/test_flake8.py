"""Check the style with ament_flake8, or where that is missing, flake8 and the same rules."""
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Named one by one, because `.` would also be build folders and virtual environments.
SOURCES = [name for name in ('setup.py', 'robodyn_ros', 'launch', 'benchmark', 'test', 'docs')
           if (ROOT / name).exists()]
PLUGINS = ('flake8_docstrings', 'flake8_import_order', 'flake8_quotes')


def test_flake8(monkeypatch):
    monkeypatch.chdir(ROOT)
    try:
        from ament_flake8.main import main_with_errors
    except ImportError:
        check_with_flake8()
    else:
        code, errors = main_with_errors(argv=['--config', 'setup.cfg', *SOURCES])
        assert code == 0, f'{len(errors)} problems:\n' + '\n'.join(errors)


def check_with_flake8():
    for module in ('flake8', *PLUGINS):
        pytest.importorskip(module, reason='neither ament_flake8 nor flake8 with its plugins')
    run = subprocess.run([sys.executable, '-m', 'flake8', *SOURCES],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
