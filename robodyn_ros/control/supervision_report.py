"""Changes of the torque of a cycle by supervision."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.messages import Messages
from robodyn_ros.control.steps import modes


class SupervisionReport:
    """
    Changes of the last torque by supervision.

    Parameters
    ----------
    memory : namespace
        Fields of `steps.limits.Verdict`.
    messages : Messages
        Texts.

    """

    def __init__(self, memory: SimpleNamespace, messages: Messages):
        self._memory, self._messages = memory, messages

    @property
    def saturated(self) -> np.ndarray:
        """Joints whose torque was cut to the effort limit, (nv,) bool."""
        return self._memory.saturated > 0.0

    @property
    def rate_limited(self) -> np.ndarray:
        """Joints whose torque was limited by the rate limit, (nv,) bool."""
        return self._memory.rate_limited > 0.0

    @property
    def fault(self) -> str | None:
        """Cause for not using the torque of the law; None if it was used, limited or not."""
        return None if self.ok else self._messages.text(modes.torque_failure(self._memory))

    @property
    def ok(self) -> bool:
        """Whether the torque of the law was finite."""
        return not self._memory.not_finite
