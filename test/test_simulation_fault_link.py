"""Faults as numbers: the same reports as from the simulator, and commands, brakes and delays."""
from types import SimpleNamespace

import numpy as np
import pytest
from robodyn_ros.montecarlo.cases import CASES
from robodyn_ros.montecarlo.effects import Draw, Faulty
from robodyn_ros.simulation.reports import FaultyReports, StateReport
from robodyn_ros.simulation.fault_loop.fault_numbers import active, fault_of, numbers
from robodyn_ros.simulation.fault_loop.link import (
    driven, host_delay, link_of, measured, new_link)
from robodyn_ros.simulation.faults import Fault, FaultSchedule

NV, DT, STEPS = 3, 0.002, 300
NAMES = ('a', 'b', 'c')
MODEL = SimpleNamespace(nv=NV, joint_names=NAMES)
BEGIN, LASTS = 0.1, 0.21
STATES = np.random.default_rng(1).normal(size=(STEPS, 3, NV))
# how such messages arrive is a matter of the node that reads them
READABLE = [case for case in CASES if isinstance(case.effect, Faulty)
            and case.effect.kind not in ('missing', 'duplicate', 'swap', 'deaf', 'estop',
                                         'torque_loss')]


def draw_of(case):
    return Draw.of(case.name, 3, NV, case.duration, case.amount)


def reported_by_simulator(case, draw):
    """Return (position, velocity, effort, offset of the stamp) of each step, or None."""
    effect = case.effect
    fault = Fault(BEGIN - 0.5 * DT, effect.kind, tuple(
        NAMES[j] for j in draw.joints[:effect.joints]), LASTS,
        effect.size(draw) if effect.amount else 0.0)
    schedule, injector, found = FaultSchedule([fault]), FaultyReports(), []
    for k, state in enumerate(STATES):
        schedule.update((k - 1) * DT)  # the faults of the step that leads to this state
        reports = injector.apply(k * DT, StateReport(NAMES, *state, round(1e9 * (1.0 + k * DT))),
                                 schedule.active)
        rows = [None]
        for report in reports[-1:]:
            order = [report.names.index(name) for name in NAMES]
            rows = [(*(each[order] for each in (report.position, report.velocity, report.effort)),
                     1e-9 * report.stamp - 1.0 - k * DT)]
        found += rows
    return found


def reported_by_numbers(case, draw):
    values = numbers(NV, {
        **case.effect.numbers(draw, MODEL, DT, np.random.default_rng(0)),
        'start': BEGIN - 0.5 * DT, 'end': BEGIN - 0.5 * DT + LASTS})
    f = fault_of(values.tolist(), NV)
    link = link_of(new_link(NV).tolist(), NV)
    found = []
    for k, state in enumerate(STATES):
        def past(steps, k=k):
            return STATES[k - int(steps)].tolist()

        report, link = measured(
            f, active(f, (k - 1.0) * DT), *state.tolist(), [0.0] * 2 * NV, link, past,
            float(k), DT)
        found.append((*map(np.array, report[2:5]), report.clock - report.age)
                     if report.present else None)
    return found


@pytest.mark.parametrize('case', READABLE, ids=[case.name for case in READABLE])
def test_reports_are_those_of_the_simulator(case):
    draw = draw_of(case)
    expected, found = reported_by_simulator(case, draw), reported_by_numbers(case, draw)
    assert [each is None for each in found] == [each is None for each in expected]
    changed = 0
    for k, (ours, theirs) in enumerate(zip(found, expected)):
        if ours is None:
            changed += 1
            continue
        for one, other in zip(ours, theirs):
            np.testing.assert_allclose(one, other, rtol=0.0, atol=2e-9, err_msg=f'step {k}')
        changed += ours[3] != 0.0 or any(
            not np.array_equal(x, y) for x, y in zip(ours, STATES[k]))
    assert changed >= 2


def test_numbers_without_a_fault_have_no_effect():
    f = fault_of(numbers(NV).tolist(), NV)
    link = link_of(new_link(NV).tolist(), NV)
    report, link = measured(f, 1.0, *STATES[0].tolist(), [1.0] * 2 * NV, link,
                            lambda steps: None, 5.0, DT)
    np.testing.assert_array_equal(report[2:5], STATES[0])
    assert report.present and not report.unreadable and report.clock == report.age == 0.0
    with pytest.raises(KeyError, match='no_such'):
        numbers(NV, {'no_such': 1.0})


def driver(**values):
    """Return the link of a fault, step by step: torque and flags in, command and brakes out."""
    f = fault_of(numbers(NV, {'start': 0.0, **values}).tolist(), NV)
    state = [link_of(new_link(NV).tolist(), NV)]

    def step(torque, sent=1.0, late=0.0, on=1.0, before=1.0):
        motors, braked, state[0] = driven(
            f, on, before, state[0], [torque] * NV, sent, late, DT)
        return motors[0], bool(braked)

    return step


def test_the_first_command_releases_the_brakes():
    step = driver()
    assert step(1.0, sent=0.0) == (0.0, True)
    assert step(1.0) == (1.0, False)
    assert step(2.0, sent=0.0) == (1.0, False)


def test_a_late_command_acts_one_step_later():
    step = driver()
    step(1.0)
    assert step(2.0, late=1.0) == (1.0, False)
    assert step(3.0, sent=0.0) == (2.0, False)


def test_lost_commands_and_a_watchdog():
    step = driver(deaf=1.0, timeout=2.5 * DT)
    assert step(1.0, on=0.0, before=0.0) == (1.0, False)
    assert [step(2.0) for _ in range(4)] == [(1.0, False), (1.0, False), (1.0, True), (1.0, True)]
    assert step(3.0, on=0.0, before=0.0) == (3.0, False)


def test_an_emergency_stop_ends_with_the_first_command_after_it():
    step = driver(brakes=1.0, motor=[0.0, 1.0, 1.0])
    assert step(1.0) == (0.0, True)
    assert step(1.0, on=0.0) == (1.0, True)
    assert step(1.0, on=0.0, before=0.0) == (1.0, False)


def host(delays, **values):
    f = fault_of(numbers(NV, {'usual_delays': 1.0, **values}).tolist(), NV)
    link = link_of(new_link(NV).tolist(), NV)
    rows = []
    for k in range(len(delays)):
        runs, delay, link = host_delay(
            f, 0.0, float(k == 1), [[each] for each in delays], float(k), k * DT, DT, link)
        rows.append((bool(runs), float(delay)) if runs else None)
    return rows


def test_a_busy_host_answers_late_and_uses_the_newest_state():
    rows = host([1e-4, 4.5e-3, 1e-4, 1e-4, 1e-4])
    assert rows[0] == (True, 1e-4) and rows[1] is rows[2] is None
    # free at 2 + 4.5 ms, in the step that begins at 6 ms
    assert rows[3] == (True, pytest.approx(6e-4)) and rows[4] == (True, 1e-4)


def test_a_pause_is_one_long_delay():
    rows = host([1e-4] * 8, pause=9e-3)
    assert [k for k, row in enumerate(rows) if row is None] == [1, 2, 3, 4]
    assert rows[5] == (True, pytest.approx(1.2e-3))
