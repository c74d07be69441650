"""Statistics of a running cycle in constant memory; diagnostics messages."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from robodyn_ros.nodes.publishers import send


class Window:
    """Ring buffer of the last values of a quantity."""

    def __init__(self, size: int = 4096):
        self._values = np.zeros(size)
        self._count = 0

    def add(self, value: float) -> None:
        """Add a value; if the buffer is full, it replaces the oldest."""
        self._values[self._count % self._values.size] = value
        self._count += 1

    def extend(self, values: NDArray) -> None:
        """Add several values, oldest first, at most the size of the buffer."""
        places = (self._count + np.arange(values.size)) % self._values.size
        self._values[places] = values
        self._count += values.size

    def clear(self) -> None:
        """Remove all values."""
        self._count = 0

    def percentiles(self) -> tuple[float, float, float]:
        """Return median, 99th percentile and maximum; NaN while empty."""
        values = self._values[:min(self._count, self._values.size)]
        if not values.size:
            return (np.nan,) * 3
        p50, p99, top = np.percentile(values, (50, 99, 100))
        return float(p50), float(p99), float(top)


class CycleStatistics:
    """
    Timing of a state-triggered cycle.

    Attributes
    ----------
    cycles : int
        Number of answered states.
    late : int
        Number of gaps between states of more than 1.5 median periods.
    overruns : int
        Number of cycles whose computation took longer than the median period.

    """

    def __init__(self):
        self.latency, self.duration, self._gaps = Window(), Window(), Window(256)
        self.cycles = self.late = self.overruns = 0
        self._previous = self._period = np.nan

    def add(self, stamp: float, latency: float, duration: float) -> None:
        """
        Add a cycle.

        Parameters
        ----------
        stamp : float
            Time of measurement of the state, in s.
        latency : float
            Time from the measurement to the publication of the torque, in s.
        duration : float
            Duration of the computation, in s.

        """
        gap, self._previous = stamp - self._previous, stamp
        self.cycles += 1
        self.latency.add(latency)
        self.duration.add(duration)
        if not gap > 0.0:
            return
        self._gaps.add(gap)
        if self.cycles % 256 == 100:
            self._period = self._gaps.percentiles()[0]
        self.late += gap > 1.5 * self._period
        self.overruns += duration > self._period

    def restart(self) -> None:
        """Ignore the gap since the last state."""
        self._previous = np.nan

    def summary(self) -> dict[str, str]:
        """Return the figures as text, and clear the buffers."""
        values = {'cycles': str(self.cycles), 'late states': str(self.late),
                  'overruns': str(self.overruns)}
        for name, window in (('latency', self.latency), ('computation', self.duration)):
            for label, value in zip(('p50', 'p99', 'max'), window.percentiles()):
                values[f'{name} {label} (us)'] = f'{1e6 * value:.0f}'
            window.clear()
        if self._period > 0.0:
            values['state rate (Hz)'] = f'{1.0 / self._period:.0f}'
        return values


class Diagnostics:
    """
    Publisher of the diagnostics of a node.

    Parameters
    ----------
    node : Node
    part : str
        What of the node is diagnosed.
    hardware : str
        Name of the robot.

    """

    def __init__(self, node: Node, part: str, hardware: str):
        self._node, self._hardware = node, hardware
        self._name = f'{node.get_fully_qualified_name()}: {part}'
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 5)

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)

    def publish(self, level: bytes, message: str, values: Mapping[str, str]) -> None:
        """Publish a status."""
        send(self._publisher, diagnostic_array(
            self._node.get_clock().now().to_msg(), self._name, self._hardware, level, message,
            values))


def diagnostic_array(stamp, name: str, hardware: str, level: bytes, message: str,
                     values: Mapping[str, str]) -> DiagnosticArray:
    """Return a diagnostics message with one status."""
    status = DiagnosticStatus(level=level, name=name, message=message, hardware_id=hardware,
                              values=[KeyValue(key=k, value=v) for k, v in values.items()])
    array = DiagnosticArray(status=[status])
    array.header.stamp = stamp
    return array
