"""
Hostile calls, in a process of their own: a crash is a return code, not the end of the tests.

What is called, and with what, is in `fuzz_dynamics` and `hostile`.
"""

from pathlib import Path
import os
import subprocess
import sys

import pytest

SCRIPT = Path(__file__).with_name('fuzz_dynamics.py')
CASES = [('calls', 100), ('kernel', 80), ('plant', 60), ('threads', 80), ('first', 5)]
MANY = [pytest.param(what, 15 * number, marks=pytest.mark.slow) for what, number in CASES]


@pytest.mark.parametrize('what, examples', CASES + MANY)
def test_nothing_crashes_and_all_results_are_right(what, examples):
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    # freed memory is overwritten at once, so that its use shows
    environment.update(PYTHONMALLOC='malloc', MALLOC_PERTURB_='255')
    run = subprocess.run(
        [sys.executable, '-X', 'faulthandler', str(SCRIPT), what, str(examples)],
        env=environment, capture_output=True, text=True, timeout=900)
    assert (run.returncode, run.stdout) == (0, 'all right\n'), (
        f'return code {run.returncode}\n{run.stdout[-2000:]}\n{run.stderr[-6000:]}')
