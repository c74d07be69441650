"""Fault runs of control cycle and plant in one compiled loop; `robodyn campaign --compiled`."""
