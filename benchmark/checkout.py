"""Where the benchmarks are: they measure the package of their own checkout, installed or not."""
from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
