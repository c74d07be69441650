"""
Licences and origins of the packages that `make demo` installs, as docs/third_party.md.

    .venv/bin/python tools/third_party.py > docs/third_party.md

From the metadata of the installed packages; the versions are those of .ci/locked.
"""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path
import re

LOCK = Path(__file__).resolve().parents[1] / (
    '.ci/locked/cpython-3.11-linux-x86_64/ros,plot.txt')
NONE = 'none in its metadata'
HEAD = """# Third-party packages
What `make demo` installs under CPython 3.11 on Linux x86_64, each with the licence and the origin that its own metadata state. The
versions and hashes are in `.ci/locked/`. Written by `tools/third_party.py`; `make sbom` writes a CycloneDX document of all that is
in `.venv`, and `make audit` compares it with the known vulnerabilities. What these mean: [security](security.md#installed-packages).

| package | version | licence | origin |
|---|---|---|---|"""


def licence(found) -> str:
    """Return the licence of a package in short."""
    classes = [each.rpartition(' :: ')[2] for each in found.get_all('Classifier') or ()
               if each.startswith('License ::')]
    text = found['License-Expression'] or ', '.join(classes) or (found['License'] or '')
    return ' '.join(text.splitlines()[0].split())[:60] if text.strip() else NONE


def origin(found) -> str:
    """Return where a package comes from."""
    pages = dict(each.split(', ', 1) for each in found.get_all('Project-URL') or ())
    named = [page for name, page in pages.items()
             if re.search('source|repository|code|github|homepage', name, re.IGNORECASE)]
    return next(iter([*named, *pages.values(), found['Home-page'] or '']), '') or NONE


def main() -> None:
    """Print the page."""
    print(HEAD)
    ros: dict[tuple[str, str], list[str]] = {}
    for line in LOCK.read_text().splitlines():
        if '==' not in line:
            continue
        name, _, version = line.split()[0].partition('==')
        found = distribution(name).metadata
        if name.startswith('ros-'):
            ros.setdefault((licence(found), origin(found)), []).append(name)
        else:
            print(f'| {name} | {version} | {licence(found)} | {origin(found)} |')
    for (terms, place), names in ros.items():
        print(f'| {len(names)} packages of ROS 2: {", ".join(names)} | | {terms} | {place} |')


if __name__ == '__main__':
    main()
