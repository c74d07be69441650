"""How Sphinx builds these pages: `make docs`."""
from pathlib import Path
import re
import sys
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
manifest = ElementTree.parse(ROOT / 'package.xml').getroot()

project = manifest.findtext('name')
release = version = manifest.findtext('version')
author = manifest.findtext('maintainer')
extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon', 'sphinx.ext.viewcode',
              'sphinxcontrib.mermaid']
source_suffix = {'.md': 'markdown'}
exclude_patterns = ['_build']
myst_heading_anchors = 4
myst_enable_extensions = ['colon_fence']
myst_fence_as_directive = ['mermaid']
suppress_warnings = ['ref.python']  # nv is the size of arrays, not a name to be found
html_theme = 'furo'
html_static_path = ['_static']
html_css_files = ['tables.css']
html_title = f'{project} {release}'
autodoc_member_order = 'bysource'
autodoc_typehints = 'none'  # the docstrings say more
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
default_role = 'literal'


def add_contents(_app, name, source):
    """Append a hidden table of contents of each section of the index, for the sidebar."""
    if name == 'index':
        for section in re.split(r'^## ', source[0], flags=re.MULTILINE)[1:]:
            pages = re.findall(r'\]\((\w+)\.md\)', section)
            source[0] += '\n'.join(['', ':::{toctree}', ':hidden:', ':maxdepth: 1',
                                    f':caption: {section.splitlines()[0]}', '', *pages, ':::', ''])


def setup(app):
    """Let Sphinx read the index with the tables of contents."""
    app.connect('source-read', add_contents)
