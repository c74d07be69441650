"""Python files, less those that a checker of style has passed before, in the same versions."""

import hashlib
from importlib.metadata import distributions
import os
from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]
# Named one by one, because `.` would also be build folders and virtual environments.
SOURCES = [name for name in ('setup.py', 'robodyn_ros', 'launch', 'benchmark', 'test', 'docs',
                             'tools/campaign')
           if (ROOT / name).exists()]
_CHECKERS = ('ament', 'flake8', 'pycodestyle', 'pydocstyle', 'pyflakes')


class Files:
    """
    The files to check; those that passed are kept in the cache of pytest.

    Parameters
    ----------
    config : pytest.Config
    checker : str
        Name in the cache.

    Attributes
    ----------
    unknown : list of str
        Files that have not passed yet with their present contents.

    """

    def __init__(self, config, checker):
        self._cache, self._key = getattr(config, 'cache', None), f'robodyn_ros/{checker}'
        versions = sorted(f'{each.name} {each.version}' for each in distributions()
                          if any(name in each.name for name in _CHECKERS))
        same = repr((checker, sys.version, versions, (ROOT / 'setup.cfg').read_text())).encode()
        self._digests = {file: hashlib.sha256(
            same + file.encode() + (ROOT / file).read_bytes()).hexdigest() for file in _files()}
        passed = set(self._cache.get(self._key, []) if self._cache else [])
        self.unknown = [file for file, digest in self._digests.items() if digest not in passed]

    def keep(self):
        """Record that all files have passed."""
        if self._cache:
            self._cache.set(self._key, sorted(self._digests.values()))


def _files():
    """Yield all Python files, as ament's checkers find them."""
    for source in SOURCES:
        if (ROOT / source).is_file():
            yield source
        for folder, folders, names in os.walk(ROOT / source):
            folders[:] = sorted(name for name in folders if name[0] not in '._')
            yield from (str((Path(folder) / name).relative_to(ROOT)) for name in sorted(names)
                        if name.endswith('.py'))
