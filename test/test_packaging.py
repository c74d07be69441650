"""What the package is made of: one version everywhere, and distributions that lack nothing."""
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree

import pytest
import robodyn_ros
from robodyn_ros.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
CODE = ROOT / 'robodyn_ros'
INSTALLED = ('config', 'launch', 'urdf', 'resource')
NEEDED = ['package.xml', 'setup.py', 'setup.cfg', 'pyproject.toml', 'LICENSE', 'README.md']


def manifest(tag):
    """Return the text of an element of package.xml."""
    return ElementTree.parse(ROOT / 'package.xml').getroot().findtext(tag)


def files(folder):
    """Return the files below a folder as paths from the root, without what Python compiled."""
    return {str(path.relative_to(ROOT)) for path in folder.rglob('*')
            if path.is_file() and '__pycache__' not in path.parts}


def test_the_version_is_that_of_package_xml(capsys):
    assert robodyn_ros.__version__ == manifest('version')
    with pytest.raises(SystemExit):
        main(['--version'])
    assert capsys.readouterr().out == f'robodyn_ros {manifest("version")}\n'


def test_setup_has_the_version_as_the_release_tool_of_ros_replaces_it():
    # catkin_prepare_release needs exactly one literal
    found = re.findall(r'version=[\'"](\d+\.\d+\.\d+)[\'"],', (ROOT / 'setup.py').read_text())
    assert found == [manifest('version')]


def test_the_citation_agrees():
    citation = (ROOT / 'CITATION.cff').read_text(encoding='utf-8')
    for key, value in (('title', manifest('name')), ('version', manifest('version')),
                       ('license', manifest('license')), ('  - name', manifest('maintainer'))):
        assert f'\n{key}: {value}\n' in citation, key


def test_no_other_attribute_is_made_up():
    with pytest.raises(AttributeError, match='has no attribute'):
        robodyn_ros.nonsense


def test_the_source_distribution_has_all_that_is_installed(tmp_path):
    pytest.importorskip('setuptools', reason='builds a source distribution')
    copy = tmp_path / 'checkout'
    # in a copy: setuptools writes into the folder it builds
    for folder in (*INSTALLED, 'robodyn_ros'):
        shutil.copytree(ROOT / folder, copy / folder,
                        ignore=shutil.ignore_patterns('__pycache__'))
    for name in (*NEEDED, 'MANIFEST.in'):
        shutil.copy(ROOT / name, copy)
    subprocess.run([sys.executable, 'setup.py', '-q', 'sdist', '-d', str(tmp_path)], cwd=copy,
                   check=True, capture_output=True)
    packed, = tmp_path.glob('*.tar.gz')
    with tarfile.open(packed) as archive:
        names = {name.partition('/')[2] for name in archive.getnames()}
    needed = set(NEEDED).union(files(CODE), *(files(ROOT / folder) for folder in INSTALLED))
    assert packed.name == f'robodyn_ros-{manifest("version")}.tar.gz'
    assert needed <= names, needed - names


LOCKED = sorted((ROOT / '.ci' / 'locked').glob('*/*.txt'))


@pytest.mark.parametrize('path', LOCKED, ids=[path.stem for path in LOCKED])
def test_every_locked_package_has_one_version_and_hashes(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith('#')]
    names = [re.fullmatch(r'([a-z0-9.-]+)==[0-9][^ ;]*(?: --hash=sha256:[0-9a-f]{64})+', line)[1]
             for line in lines]
    assert names == sorted(set(names)) and {'pip', 'setuptools'} <= set(names)


@pytest.mark.parametrize('path', LOCKED, ids=[path.stem for path in LOCKED])
def test_what_setup_requires_is_locked(path):
    """What is missing would be refused by pip in every run of make."""
    packaging = pytest.importorskip('packaging.requirements', reason='reads requirements')
    locked = dict(line.split(' ')[0].split('==') for line in path.read_text().splitlines()
                  if not line.startswith('#'))
    if path.stem == 'build':
        return
    for text in needed(path.stem.split(',')):
        requirement = packaging.Requirement(text)
        name = requirement.name.lower().replace('_', '-')
        assert requirement.specifier.contains(locked[name]), text


def needed(extras):
    """Return the requirements of setup.py, with those of some extras."""
    class Called(Exception):
        """Has what setup was called with."""

    def setup(**given):
        raise Called(given)

    code = (ROOT / 'setup.py').read_text().replace('from setuptools import setup\n', '')
    with pytest.raises(Called) as caught:
        exec(compile(code, 'setup.py', 'exec'), {'setup': setup, '__name__': 'setup'})
    given = caught.value.args[0]
    return given['install_requires'] + [
        each for extra in extras for each in given['extras_require'][extra]]
