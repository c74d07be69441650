"""How Sphinx builds these pages: `make docs`."""
from pathlib import Path
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
exclude_patterns = ['README.md', '_build']  # the former lists the pages for those who read here
myst_heading_anchors = 3
myst_enable_extensions = ['colon_fence']
myst_fence_as_directive = ['mermaid']
suppress_warnings = ['ref.python']  # nv is the size of arrays, not a name to be found
html_theme = 'furo'
html_title = f'{project} {release}'
autodoc_member_order = 'bysource'
autodoc_typehints = 'none'  # the docstrings say more
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
default_role = 'literal'
