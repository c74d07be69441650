"""Results of a loop that runs the cycle outside of Python: telemetry and statistics."""

from __future__ import annotations

from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.control import ArmController, Mode
from robodyn_ros.control.state import FROM_STATE, REQUESTS, SILENT
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.controller.torque_output import TorqueOutput
from robodyn_ros.nodes.conversions import in_seconds
from robodyn_ros.nodes.native.exchange import Exchange, Row
from robodyn_ros.nodes.statistics import CycleStatistics

HELD_UP_TEXT = 'this process was held up for {:.3f} s'
# s between updates: with subscribers or linear feedback, without states, else
_SOON, _SILENT, _SELDOM = 0.002, 0.005, 0.02


class Rows:
    """
    Reads the rows of a loop.

    Parameters
    ----------
    exchange : Exchange
        Exchange with the loop.
    controller : ArmController
        Controller of the arm; its memory becomes that of the last row.
    output : TorqueOutput
        Publishers of telemetry.
    clock : ControllerClock
        Clock of stamps.
    log : RcutilsLogger
        Logger of the node.

    Attributes
    ----------
    coasting : bool
        Whether the states are silent.
    statistics : CycleStatistics
        Durations of the cycles.

    """

    def __init__(self, exchange: Exchange, controller: ArmController, output: TorqueOutput,
                 clock: ControllerClock, log: RcutilsLogger):
        self._exchange, self._controller, self._telemetry = exchange, controller, output.telemetry
        self._clock, self._log = clock, log
        self._pause, self._resumes = (controller.host.place(f'acceptance.{name}')
                                      for name in ('pause', 'resumes'))
        self.coasting, self.statistics, self._count = False, CycleStatistics(), 0

    @property
    def pause(self) -> float:
        """Time until the rows are to be read again, in s."""
        urgent = (self._telemetry.has_subscribers
                  or self._controller.mode is Mode.LINEAR_FEEDBACK)
        return _SOON if urgent else _SILENT if self.coasting else _SELDOM

    def read_all(self) -> bool:
        """Read all new rows; return whether a state was answered."""
        rows = self._exchange.rows()
        answered = [self._read(row) for row in rows]
        if rows:
            self._exchange.load_row(rows[-1])
        return any(answered)

    def _read(self, row: Row) -> bool:
        """Count a cycle and publish its telemetry; return whether it answers a state."""
        sent, self._count = row.sent != self._count, row.sent
        if row.kind == REQUESTS:
            return False
        answers = row.kind == FROM_STATE
        if sent and self._telemetry.has_subscribers:
            self._exchange.load_row(row)
            self._telemetry.publish(row.stamp if answers else self._stamp_of(row),
                                    self._controller.status.sent)
        self.coasting = row.kind == SILENT
        if not answers:
            return False
        if pause := row.memory[self._pause]:
            self._log.warning(HELD_UP_TEXT.format(pause))
        if row.memory[self._resumes]:
            self.statistics.restart()
        measured, passed = in_seconds(row.stamp), row.end - row.arrival
        self.statistics.add(measured or row.arrival,
                            self._clock.latency(measured, row.wall + passed), passed)
        return True

    def _stamp_of(self, row: Row) -> int:
        """Return the stamp of a torque that answers no state, in ns."""
        return self._clock.ros_stamp() if self._clock.simulated else int(1e9 * row.wall)
