"""Every profile of an arm with every trap of a driver: named before motion, or bounded."""

import csv

from driver_traps import FILE, MEASURED, outcome, TABLE, table, TRAPS
import numpy as np
import pytest
from robodyn_ros import arms
from robodyn_ros.simulation.driver import Driver, DriverSettings

NAMES = arms.names()
with FILE.open(encoding='utf-8') as file:
    KNOWN = {(row['profile'], row['trap']): row for row in csv.DictReader(file)}
CELLS = [(name, trap) for name in NAMES for trap in TRAPS]
TWINS = {'panda': 'fr3', 'lbr_fri': 'iiwa'}  # of the same states and gravity


def again(name, trap):
    """Return whether a row takes seconds, and has the figures of that of a twin."""
    twin = KNOWN.get((TWINS.get(name), trap))
    return trap in MEASURED and twin and twin['largest'] == KNOWN[name, trap]['largest']


@pytest.mark.parametrize('name, trap', [
    pytest.param(*each, marks=[pytest.mark.slow] if again(*each) else []) for each in CELLS])
def test_a_trap_does_what_the_table_says(name, trap):
    row, known = outcome(name, trap), KNOWN[name, trap]
    assert row['word'] == known['word'] and row['step'] == known['step']
    for key in ('before', 'largest'):
        np.testing.assert_allclose(float(row[key]), float(known[key]), rtol=0.02, atol=0.05)


def test_the_table_has_every_trap():
    assert list(KNOWN) == CELLS
    assert TABLE.read_text(encoding='utf-8').endswith('\n'.join(table(KNOWN.values())) + '\n')
    for name in NAMES:
        for step in arms.load(name)[1].steps.by_name.values():
            assert set(step.traps) <= set(TRAPS)


@pytest.mark.parametrize('name', NAMES)
def test_who_carries_the_arm_is_found_within_some_milliradians(name):
    row = KNOWN[name, 'gravity told wrongly']
    assert row['word'] in ('refused', 'fault') and float(row['before']) < 40.0  # at 100 Hz
    assert KNOWN[name, 'none']['word'] == ''


# --- the driver ---------------------------------------------------------------------------------


def made(command=(), **habits):
    """Return torque and report of a driver for effort 1, -2 and what else the command has."""
    driver = Driver(DriverSettings(**habits), ('a', 'b'))
    driver.start(np.array([0.5, 0.5]))
    rows = np.full((5, 2), np.nan)
    rows[0] = 1.0, -2.0
    for k, value in dict(command).items():
        rows[k] = value
    q, qd, gravity = np.array([0.1, 0.2]), np.array([1.0, -1.0]), np.array([3.0, 4.0])
    torque = driver.torque(rows, q, qd, gravity, habits.get('after', 0.0), 1e-3)
    return driver, torque.tolist(), driver.reported(q, torque, gravity)


@pytest.mark.parametrize('habits, command, torque', [
    ({}, (), [1.0, -2.0]),
    ({'gravity': (0.5,)}, (), [2.5, 0.0]),
    ({'kp': (10.0,), 'spring': 'zero'}, (), [0.0, -4.0]),
    ({'kp': (10.0,), 'spring': 'start'}, (), [5.0, 1.0]),
    ({'kp': (10.0,), 'kd': (2.0,)}, {1: 0.3, 2: 0.5}, [2.0, 2.0]),
    ({'kp': (10.0,)}, {1: 0.3, 2: 0.0, 3: 20.0, 4: 1.0}, [4.0, 1.0]),
    ({'ignores': 'all'}, {1: 0.3}, [0.0, 0.0]),
    ({'ignores': 'effort_alone'}, (), [0.0, 0.0]),
    ({'ignores': 'effort_alone'}, {1: 0.3}, [1.0, -2.0]),
    ({'factor': (4.0, -1.0)}, (), [4.0, 2.0]),
    ({'quantum': (0.75,)}, (), [0.75, -1.5]),
    ({'rate_limit': 1500.0}, (), [1.0, -1.5]),
    ({'rate_limit': 1500.0, 'jump': 'fault'}, (), [0.0, 0.0])])
def test_habits_of_drivers(habits, command, torque):
    driver, got, (q, effort) = made(command, **habits)
    np.testing.assert_allclose(got, torque, atol=1e-12)
    assert q.tolist() == [0.1, 0.2] and effort.tolist() == got
    assert bool(driver.fault) == ('jump' in habits)
    assert not driver.fault or "joint 'b'" in driver.fault


def test_what_drivers_report():
    assert made({1: 0.3}, position='commanded')[2][0].tolist() == [0.3, 0.3]
    assert made(position='commanded')[2][0].tolist() == [0.5, 0.5]
    assert made(effort='current', current=0.1)[2][1].tolist() == [10.0, -20.0]
    assert made(effort='without_gravity', gravity=(1.0,))[2][1].tolist() == [1.0, -2.0]


@pytest.mark.parametrize('silence, torque', [
    ('repeat', [1.0, -2.0]), ('damp', [-2.0, 2.0]), ('disable', [0.0, 0.0])])
def test_drivers_in_silence(silence, torque):
    driver = Driver(DriverSettings(silence=silence), ('a', 'b'))
    rows = np.full((5, 2), np.nan)
    rows[0] = 1.0, -2.0
    q, qd = np.zeros(2), np.array([4.0, -4.0])
    assert driver.torque(rows, q, qd, q, 0.05, 1e-3).tolist() == [1.0, -2.0]
    assert driver.torque(rows, q, qd, q, 0.2, 1e-3).tolist() == torque


def test_gains_act_without_delay_while_the_effort_changes():
    """A damping, and an effort that compensates it, leave the wanted torque: a joint slows."""
    driver, inertia, step, kd, q = Driver(DriverSettings(), ('a',)), 1e-3, 1e-3, 2.0, np.zeros(1)
    speeds, qd = [], np.ones(1)
    for _ in range(200):
        rows = np.array([[(kd - 0.2) * qd[0]], [q[0]], [0.0], [0.0], [kd]])
        qd = qd + step / inertia * driver.torque(rows, q, qd, 0.0 * q, 0.0, step,
                                                 lambda: np.eye(1) / inertia)
        speeds.append(qd[0])
    assert np.all(np.diff(speeds) < 0.0) and 0.0 < speeds[-1] < 1e-3


def test_a_commanded_stiffness_acts_about_the_commanded_position():
    command = {1: 0.3, 2: 0.0, 3: 20.0, 4: 0.0}
    assert made(command, spring='zero', kp=(10.0,))[1] == made(command)[1]
