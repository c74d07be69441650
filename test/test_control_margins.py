"""A slice of `benchmark/margins.py`: calm with delays, elastic joints and a busy computer."""

from pathlib import Path

from closed_loop import Loop
import numpy as np
from margins_map import margins
import pytest
from robodyn_ros.control import Mode, Settings, with_slots
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import likely_rotors
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant

ROOT = Path(__file__).resolve().parents[1]
MODEL = RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf')
DYNAMICS = Dynamics(MODEL)


def row(arm, rate, delay=0.0, model=MODEL, dynamics=DYNAMICS, **more):
    return margins.Row('', '', rate, delay, 0.0, '', *margins.run(
        model, dynamics, arm, rate, delay, **more))


def calm(*given, **more):
    found = row(*given, **more)
    return found.calm and found.moved


def foreign(name):
    pytest.importorskip('cmeel', reason='example-robot-data')
    model = margins.models()[name]
    return model, Dynamics(model)


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


@pytest.mark.parametrize('name, rate, delay', [
    ('ur10', 500, 0.03), ('kinova', 250, 0.04), ('panda', 100, 0.04)])
def test_slow_oscillations_of_other_arms_end(name, rate, delay):
    """Each joint is lowered as far as its own loop needs, not more: without feedback it falls."""
    model, dynamics = foreign(name)
    found = row(margins.Rigid(model, margins.start(model)), rate, delay, model, dynamics)
    assert found.calm and found.moved and found.rests


@pytest.mark.parametrize('times', [1.0, 3.0])
def test_learned_torque_swings_no_arm_with_rotors_that_nobody_knows(times, monkeypatch):
    """
    In one direction of coupled joints it has ten times the inertia of its model.

    Without friction it swung at 16 and 68 % of a limit for ever, and said nothing.
    """
    monkeypatch.setattr(margins, '_RUN', 15.0)
    model, dynamics = foreign('panda')
    arm = margins.Rigid(model, margins.start(model))
    arm._plant = Plant(model, 1e-3, armature=times * likely_rotors(model), friction=0.0,
                       damping=0.0)
    arm._plant.reset(margins.start(model))
    found = row(arm, 1000, 0.004, model, dynamics, measured=False)
    assert found.calm and found.moved and found.rests


@pytest.mark.parametrize('name', ['kinova', 'ur3'])
@pytest.mark.parametrize('use', ['adaptive', 'joint_impedance'])
def test_light_wrists_of_a_slow_loop_are_measured(name, use):
    model, _ = foreign(name)
    dynamics = Dynamics(with_slots(model))
    found = row(margins.Rigid(model, margins.start(model)), 250, 0.03, model, dynamics, use=use)
    assert found.calm and found.moved and found.rests


def test_an_uncertain_answer_does_not_become_a_rotor():
    model, dynamics = foreign('panda')
    arm = margins.Rigid(model, margins.start(model))
    assert calm(arm, 500, 0.0, model, dynamics, gap=0.02)


def test_an_encoder_on_the_link_shows_what_the_rotor_does():
    model, dynamics = foreign('ur5')
    arm = margins.Elastic(dynamics, margins.start(model), 2000.0, margins.ROTORS['ur5'], 'link')
    assert calm(arm, 1000, 0.0, model, dynamics)


@pytest.mark.parametrize('delay', [0.0, 0.02, 0.04])
def test_a_guard_does_not_swing_an_arm_whose_states_are_late(delay):
    pytest.importorskip('rclpy', reason='the parameters of the guard need ROS 2')
    before, after, end, *_ = margins.take_over(
        MODEL, DYNAMICS, margins.Rigid(MODEL, margins.start(MODEL)), 1000, delay)
    assert before < 0.6 and after < 0.5 and end < 0.02


@pytest.mark.parametrize('side', ['motor', 'link'])
@pytest.mark.parametrize('stiffness, delay', [(20000.0, 0.004), (2000.0, 0.008)])
def test_a_guard_does_not_swing_elastic_joints(stiffness, delay, side):
    pytest.importorskip('rclpy', reason='the parameters of the guard need ROS 2')
    arm = margins.Elastic(DYNAMICS, margins.start(MODEL), stiffness, margins.ROTORS['robodyn7'],
                          side)
    before, after, *_ = margins.take_over(MODEL, DYNAMICS, arm, 1000, delay)
    assert before < 0.6 and after < 0.7


def test_the_map_shows_a_loop_that_swings(monkeypatch):
    """Protects from a map that cannot fail: a prompt loop is stated, and is 40 ms late."""
    monkeypatch.setattr(margins, 'Settings', lambda **more: Settings(loop_delay=0.0, **more))
    assert not row(margins.Rigid(MODEL, margins.start(MODEL)), 1000, 0.04, measured=False).calm


@pytest.mark.parametrize('use', ['joint_impedance', 'cartesian_impedance'])
def test_other_laws_bear_a_measured_delay(use):
    dynamics = Dynamics(with_slots(MODEL))
    found = row(margins.Rigid(MODEL, margins.start(MODEL)), 250, 0.03, MODEL, dynamics, use=use)
    assert found.calm and found.moved and found.rests


@pytest.mark.parametrize('factor, wanders', [(0.02, True), (1.0, False)])
def test_a_joint_that_its_lowered_feedback_does_not_hold_is_named(factor, wanders):
    """A held arm that sinks since half of its gravity torque is missing."""
    loop = Loop(MODEL, gains={'gravity_scale': 0.5}, q=margins.start(MODEL))
    loop.run(0.5)
    loop.control.host.memory.oscillation.factor[:] = factor
    loop.run(4.0)
    assert ('from where it is held' in loop.control.fault) == wanders
    assert (loop.control.mode is Mode.PASSIVE) == wanders
    assert np.abs(loop.plant.qd).max() < 0.5


@pytest.mark.parametrize('believed', [1.0, 3.0])
@pytest.mark.parametrize('true', [0.0, 1.0])
@pytest.mark.parametrize('rate, delay', margins.LAW_LOOPS)
def test_a_stop_after_a_fault_trusts_no_measured_rotor(believed, true, rate, delay):
    """Damping for rotors that are not there drove wrists to 200 times their limits."""
    found = margins.Row('stop', '', rate, delay, believed, '', *margins.stop(
        MODEL, DYNAMICS, rate, delay, believed, true))
    assert found.fault and found.after < 0.5 and found.end < 0.02
