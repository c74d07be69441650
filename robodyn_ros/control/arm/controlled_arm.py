"""An arm under control: what its requests, checks and status have in common."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.arm.design import Bounds, Design
from robodyn_ros.control.arm.messages import Messages
from robodyn_ros.control.host import Host
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads


class ControlledArm:
    """
    Model, control cycle and design of one arm.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm.
    host : Host
        Memory and program of the cycle.
    messages : Messages
        Texts.
    loads : Loads
        Known payloads and gravity.
    design : Design
        Settings applied to this arm.
    law : str
        Law that follows references, a key of `laws.table.TRACKING`.

    """

    def __init__(self, dynamics: Dynamics, host: Host, messages: Messages, loads: Loads,
                 design: Design, law: str):
        self.dynamics, self.model, self.host = dynamics, dynamics.model, host
        self.memory, self.program = host.memory, host.program
        self.messages, self.loads, self.design, self.law = messages, loads, design, law

    @property
    def bounds(self) -> Bounds:
        """Return the bounds of the torque."""
        return self.design.bounds

    def loaded_dynamics(self) -> Dynamics:
        """Return the dynamics, with the present blend of loads written into it."""
        loads = self.memory.loads
        np.add(loads.known, loads.learned, out=self.dynamics.runtime)
        return self.dynamics

    def gravity_torque(self, q: np.ndarray) -> np.ndarray:
        """Return g(q), (nv,), with the present blend of loads."""
        return self.loaded_dynamics().gravity(q)

    def text_of(self, joint: int, effort: float) -> str:
        """Return an effort of a joint with its unit."""
        return f'{effort:.4g} {self.model.effort_units[joint]}'

    def names(self, chosen) -> list[str]:
        """Return the names of the joints whose flag is set; chosen: flags, (nv,), or one."""
        if not np.any(chosen):  # the usual case, and called often
            return []
        return [name for name, each in zip(
            self.model.joint_names, np.broadcast_to(chosen, self.model.nv)) if each]
