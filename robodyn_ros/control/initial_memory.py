"""Memory of a cycle whose arm was never under control."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.design import Design
from robodyn_ros.control.steps import acceptance, modes
from robodyn_ros.model import RobotModel


def write_initial_memory(m: SimpleNamespace, p: SimpleNamespace, design: Design,
                         model: RobotModel) -> None:
    """Write memory and program of an arm that was never under control."""
    for springs, stiffness in ((m.springs, design.gains.stiffness),
                               (m.task_springs, design.task_gains.stiffness)):
        springs.value[:] = springs.target[:] = stiffness
        springs.energy[()] = design.settings.impedance.energy_tank
    m.oscillation.factor.fill(1.0)
    # the dynamics may have the loads of another controller
    m.loads.known[:] = m.loads.start[:] = p.loads.target[:] = np.concatenate(
        [model.gravity, np.ravel(model.payload_parameters)])
    m.loads.elapsed[()] = m.loads.duration[()] = -1.0
    m.motion.result[()] = modes.RUNNING
    m.observer.begins[()] = 1.0
    m.acceptance.remark.code[()] = acceptance.NEVER
    m.acceptance.measured[()] = m.acceptance.stamp[()] = m.acceptance.called[()] = -np.inf
    m.acceptance.min_delay[()] = np.inf
    m.walls.lower[:], m.walls.upper[:] = model.lower, model.upper
    m.share.since[()] = np.inf  # feedback grows from the activation on
