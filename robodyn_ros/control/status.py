"""What a control cycle tells about itself."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.settings import Mode
from robodyn_ros.trajectory import Reference, ResultCode


class CycleStatus:
    """What a `Cycle` is doing, read from its parts."""

    @property
    def mode(self) -> Mode:
        """Return what it is doing."""
        return self._motion.mode

    @property
    def message(self) -> str:
        """Return how the last motion ended."""
        return self._motion.message

    @property
    def aborted(self) -> bool:
        """Return whether the controller ended the last motion, see `Motion.aborted`."""
        return self._motion.aborted

    @property
    def unmet_goal(self) -> str:
        """Return the goal tolerance that a trajectory does not meet after its last point."""
        return self._motion.unmet_goal

    @property
    def code(self) -> ResultCode | None:
        """Return how the last trajectory ended, see `Motion.code`."""
        return self._motion.code

    @property
    def reference(self) -> Reference:
        """Return what is asked of the joints now."""
        return self._motion.reference

    @property
    def terms(self) -> np.ndarray:
        """
        Terms of the last torque, (12, nv), rows as in `Term`.

        TOTAL is what was sent; LIMIT is all that keeps it from being what the law says:
        saturation, brakes in front of position limits, transitions, and the limits of rate and
        effort.
        """
        return self._law.terms

    @property
    def effort_limit(self) -> np.ndarray:
        """Effort limits that are obeyed, (nv,)."""
        return self.bounds.effort

    @property
    def at_rest(self) -> bool:
        """Whether no motion is asked of the joints."""
        return self.mode in (Mode.INACTIVE, Mode.HOLD, Mode.FLOAT)

    @property
    def feedback_part(self) -> float:
        """Return the part of the law's feedback that the cadence of the torques allows."""
        return self._cadence.part(*self._law.swiftness)

    @property
    def law_at_work(self) -> str:
        """Return the mode that has the arm, which may be another than was chosen."""
        if self.mode is Mode.FLOAT:
            return Mode.FLOAT.value
        return self._guests.at_work or self._law.tracking

    def saturated_joints(self) -> list[str]:
        """Return the joints whose torque was cut in the last cycle."""
        names = self.model.joint_names
        return [name for name, cut in zip(names, self._verdict.saturated) if cut]

    def weight(self) -> np.ndarray:
        """Return the torque that holds the arm still where it was seen last, or is predicted."""
        q = self._prediction.q if self._coasting else self._q
        return self._dynamics.gravity(q) * self._law.gains.weight_scale
