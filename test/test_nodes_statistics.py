"""Figures of a running cycle: right, bounded in memory, and never in the way."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from builtin_interfaces.msg import Time  # noqa: E402
from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from robodyn_ros.nodes.statistics import (  # noqa: E402
    CycleStatistics, diagnostic_array, Window)


def test_a_window_holds_the_last_values():
    window = Window(4)
    assert all(math.isnan(value) for value in window.percentiles())
    window.add(3.0)
    assert window.percentiles() == (3.0, 3.0, 3.0)
    for value in range(10):
        window.add(value)
    median, high, most = window.percentiles()
    assert median == 7.5 and most == 9.0 and 8.9 < high <= 9.0
    window.extend(np.array([20.0, 30.0, 40.0]))
    assert window.percentiles()[0] == 25.0  # of these and the last one before
    window.clear()
    assert math.isnan(window.percentiles()[0])


def run(statistics, stamps, duration=1e-4, latency=2e-4):
    for stamp in stamps:
        statistics.add(float(stamp), latency, duration)


def test_states_at_a_steady_rate():
    statistics = CycleStatistics()
    run(statistics, np.arange(1000) * 1e-3)
    assert (statistics.cycles, statistics.late, statistics.overruns) == (1000, 0, 0)
    summary = statistics.summary()
    assert summary['state rate (Hz)'] == '1000' and summary['cycles'] == '1000'
    assert summary['latency p50 (us)'] == '200' and summary['computation max (us)'] == '100'
    # the next summary is about what came since
    assert statistics.summary()['latency p50 (us)'] == 'nan'


def test_late_states_and_long_cycles_are_counted():
    statistics = CycleStatistics()
    run(statistics, np.arange(500) * 1e-3)
    run(statistics, [0.510, 0.511, 0.5126])
    assert statistics.late == 2
    run(statistics, 0.5126 + 1e-3 * np.arange(1, 4), duration=1.2e-3)
    assert statistics.overruns == 3


def test_a_known_silence_is_no_late_state_and_stamps_may_go_back():
    statistics = CycleStatistics()
    run(statistics, np.arange(500) * 1e-3)
    statistics.restart()
    run(statistics, [5.0, 5.001, 1.0, 1.001, 1.001])
    assert statistics.late == 0


def test_diagnostics_carry_text():
    message = diagnostic_array(Time(sec=3), 'a node: part', 'arm', DiagnosticStatus.WARN, 'odd',
                               {'mode': 'hold', 'fault': ''})
    status, = message.status
    assert message.header.stamp.sec == 3
    assert (status.name, status.hardware_id, status.message) == ('a node: part', 'arm', 'odd')
    assert status.level == DiagnosticStatus.WARN
    assert [(pair.key, pair.value) for pair in status.values] == [('mode', 'hold'), ('fault', '')]
