"""What docs/tuning.md promises about the delay of the loop, held against the simulated arm."""

from collections import deque
import math
from pathlib import Path

from closed_loop import arm
from design import settings_of
import numpy as np
import pytest

PAGE = (Path(__file__).resolve().parents[1] / 'docs' / 'tuning.md').read_text(encoding='utf-8')
# crossover of (kd s + kp) / s^2 with kd = 2 wn, kp = wn^2, in units of wn: x^4 = 1 + 4 x^2
CROSSOVER = math.sqrt(2.0 + math.sqrt(5.0))


def cells(first):
    """Return the numbers in the row of a table that begins with these words."""
    line, = (line for line in PAGE.splitlines() if line.startswith(f'| {first}'))
    return [float(cell.split()[0]) for cell in line.split('|')[2:-1]]


def largest(margin):
    """Return wn times delay at which a phase margin in degrees is left."""
    return (math.atan(2.0 * CROSSOVER) - math.radians(margin)) / CROSSOVER


@pytest.mark.parametrize('row, margin', [
    ('`natural_frequency` at 60 degrees', 60.0), ('at 45 degrees', 45.0),
    ('where it oscillates', 0.0)])
def test_the_table_is_that_of_the_open_loop(row, margin):
    for delay, frequency in zip(cells('delay T'), cells(row), strict=True):
        assert frequency == pytest.approx(1e3 / delay * largest(margin), abs=0.51)


def swing(delay, frequency):
    """Return errors of a pushed arm at first and in the end, and what is noticed."""
    loop = arm(gains={'natural_frequency': frequency},
               settings=settings_of(activation_time=0.1, transition_time=0.0))
    states = deque(maxlen=delay + 1)

    def run(cycles):
        for _ in range(cycles):
            states.append((loop.plant.q.copy(), loop.plant.qd.copy()))
            loop.send(loop.control.update(loop.now, *states[0]))
        return np.abs(loop.error[-200:]).max()

    run(300)
    loop.plant.push('link4', [0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    first = run(50)
    loop.plant.push('link4', None)
    return first, run(2000), loop.control.status.oscillations


@pytest.mark.parametrize('column', [2, 3, 4])
def test_an_oscillation_above_the_values_of_the_table_is_noticed_and_ends(column):
    delay, limit = int(cells('delay T')[column]), cells('where it oscillates')[column]
    # a torque that is held for a cycle of 1 ms acts half of it later
    limit *= delay / (delay + 0.5)
    first, last, noticed = swing(delay, 0.9 * limit)
    assert last < 0.01 * first and not noticed
    first, last, noticed = swing(delay, 1.3 * limit)
    assert last < first and noticed
