"""Sphinx builds the pages without a warning, where it is installed (the extra `docs`)."""
from pathlib import Path
import subprocess
import sys

import pytest

for module in ('sphinx', 'furo', 'myst_parser', 'sphinxcontrib.mermaid'):
    pytest.importorskip(module, reason=f'building the pages needs {module}: the extra docs')

DOCS = Path(__file__).resolve().parents[1] / 'docs'


def test_pages_build_without_warnings(tmp_path):
    build = subprocess.run(
        [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b', 'html',
         '-d', tmp_path / 'doctrees', DOCS, tmp_path / 'html'], text=True, cwd=DOCS,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert build.returncode == 0, build.stdout
    assert (tmp_path / 'html' / 'index.html').is_file()
