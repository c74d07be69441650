"""Check docstrings with ament_pep257, or where that is missing, pydocstyle and the same rules."""
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [name for name in ('setup.py', 'robodyn_ros', 'launch', 'benchmark', 'test', 'docs')
           if (ROOT / name).exists()]
AMENT_IGNORES = 'D100,D101,D102,D103,D104,D105,D106,D107,D203,D212,D404'


def test_pep257(monkeypatch, capsys, caplog):
    monkeypatch.chdir(ROOT)
    try:
        from ament_pep257.main import main
    except ImportError:
        check_with_pydocstyle()
    else:
        caplog.set_level('ERROR', logger='pydocstyle.utils')
        code = main(argv=SOURCES)
        assert code == 0, capsys.readouterr().err


def check_with_pydocstyle():
    pytest.importorskip('pydocstyle', reason='neither ament_pep257 nor pydocstyle is installed')
    run = subprocess.run(
        [sys.executable, '-m', 'pydocstyle', '--match', r'.*\.py',
         '--ignore', AMENT_IGNORES, *SOURCES],
        capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
