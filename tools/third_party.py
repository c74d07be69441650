"""
Licences and origins of the packages that `make demo` installs, as docs/data/third_party.csv.

    .venv/bin/python tools/third_party.py > docs/data/third_party.csv

From the metadata of the installed packages; the versions are those of .ci/locked.
"""

from __future__ import annotations

import csv
from importlib.metadata import distribution
from pathlib import Path
import re
import sys

LOCK = Path(__file__).resolve().parents[1] / (
    '.ci/locked/cpython-3.11-linux-x86_64/ros,plot.txt')
NONE = 'none in its metadata'


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
    """Print the table."""
    table = csv.writer(sys.stdout, lineterminator='\n')
    table.writerow(['package', 'version', 'licence', 'origin'])
    ros: dict[tuple[str, str], list[str]] = {}
    for line in LOCK.read_text().splitlines():
        if '==' not in line:
            continue
        name, _, version = line.split()[0].partition('==')
        found = distribution(name).metadata
        if name.startswith('ros-'):
            ros.setdefault((licence(found), origin(found)), []).append(name)
        else:
            table.writerow([name, version, licence(found), origin(found)])
    for (terms, place), names in ros.items():
        table.writerow([f'{len(names)} packages of ROS 2: {", ".join(names)}', '', terms, place])


if __name__ == '__main__':
    main()
