"""A slice of `benchmark/margins.py`: calm with delays, elastic joints and a busy computer."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import sys

import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel

ROOT = Path(__file__).resolve().parents[1]
_SPEC = spec_from_file_location('margins', ROOT / 'benchmark' / 'margins.py')
margins = module_from_spec(_SPEC)
sys.modules['margins'] = margins
_SPEC.loader.exec_module(margins)

MODEL = RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf')
DYNAMICS = Dynamics(MODEL)


def calm(arm, rate, delay=0.0, **more):
    before, after, fault = margins.run(MODEL, DYNAMICS, arm, rate, delay, **more)
    return margins.Row('', '', rate, delay, 0.0, '', before, after, fault).calm


@pytest.mark.parametrize('rate, delay', [(100, 0.04), (250, 0.014), (500, 0.008), (1000, 0.04)])
def test_a_delay_that_no_stamp_shows_makes_no_arm_swing(rate, delay):
    assert calm(margins.Rigid(MODEL, margins.start(MODEL)), rate, delay)


@pytest.mark.parametrize('rate, delay, side', [
    (1000, 0.0, 'link'), (1000, 0.004, 'motor'), (500, 0.008, 'motor')])
def test_elastic_joints_make_no_arm_swing(rate, delay, side):
    arm = margins.Elastic(DYNAMICS, margins.start(MODEL), 7000.0, margins.ROTORS['robodyn7'], side)
    assert calm(arm, rate, delay)


@pytest.mark.parametrize('gap', [0.02, 0.05])
def test_a_busy_computer_makes_no_arm_swing(gap):
    assert calm(margins.Rigid(MODEL, margins.start(MODEL)), 500, gap=gap)


def test_a_loop_that_is_unstable_is_noticed():
    """Protects from a map that could not fail: with gains of a stiff machine it is not calm."""
    arm = margins.Rigid(MODEL, margins.start(MODEL))
    stiff = margins.Settings(natural_frequency=(200.0,))
    margins.Settings, usual = (lambda: stiff), margins.Settings
    try:
        before, _, fault = margins.run(MODEL, DYNAMICS, arm, 1000, 0.02)
    finally:
        margins.Settings = usual
    assert before > 0.3 and np.isfinite(before), fault
