"""Check docstrings with ament_pep257, or where that is missing, pydocstyle and the same rules."""
import subprocess
import sys

from clean_files import Files, ROOT
import pytest

AMENT_IGNORES = 'D100,D101,D102,D103,D104,D105,D106,D107,D203,D212,D404'


def test_pep257(monkeypatch, pytestconfig, capsys, caplog):
    monkeypatch.chdir(ROOT)
    files = Files(pytestconfig, 'pep257')
    if not files.unknown:
        return
    try:
        from ament_pep257.main import main
    except ImportError:
        check_with_pydocstyle(files.unknown)
    else:
        caplog.set_level('ERROR', logger='pydocstyle.utils')
        code = main(argv=files.unknown)
        assert code == 0, capsys.readouterr().err
    files.keep()


def check_with_pydocstyle(files):
    pytest.importorskip('pydocstyle', reason='neither ament_pep257 nor pydocstyle is installed')
    run = subprocess.run(
        [sys.executable, '-m', 'pydocstyle', '--match', r'.*\.py',
         '--ignore', AMENT_IGNORES, *files],
        capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
