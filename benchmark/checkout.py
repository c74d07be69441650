"""The root of this checkout, first in `sys.path`: the benchmarks measure its package."""
from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
