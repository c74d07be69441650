"""Compiled loop of control cycle, host, link, faults and plant, for fault campaigns."""

from robodyn_ros.simulation.fault_loop.loop import FaultLoop
from robodyn_ros.simulation.fault_loop.records import CHUNK, Record

__all__ = ['CHUNK', 'FaultLoop', 'Record']
