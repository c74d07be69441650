"""The module `benchmark/margins.py`, which is not part of the package."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import sys

_SPEC = spec_from_file_location(
    'margins', Path(__file__).resolve().parents[1] / 'benchmark' / 'margins.py')
margins = module_from_spec(_SPEC)
sys.modules['margins'] = margins
_SPEC.loader.exec_module(margins)
