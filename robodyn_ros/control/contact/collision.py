"""Collisions: external torque that nobody announced."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.contact.settings import CollisionSettings
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative


class CollisionMonitor:
    """
    Judges the excess of external torque from cycle to cycle.

    Parameters
    ----------
    model : RobotModel
        Names of the joints.

    Attributes
    ----------
    joints : (nv,) bool array
        Which take part in a collision now.
    count : int
        Of collisions, since the start.
    last : str
        What `told` said when the last one began.

    """

    def __init__(self, model: RobotModel):
        self._model = model
        self.joints = np.zeros(model.nv, dtype=bool)
        self._above, self._for = np.zeros(model.nv, dtype=bool), np.zeros(model.nv)
        self._on = False
        self.count, self.last = 0, ''

    def change(self, settings: CollisionSettings) -> None:
        """
        Judge by other settings from now on.

        Raises
        ------
        ParameterError
            A threshold is no number above 0, naming the joint; nothing has changed then.

        """
        threshold = checked_threshold(self._model, settings.threshold)
        self._on = threshold is not None
        if not self._on:
            self.reset()
            return
        self._threshold, self._settings = threshold, settings
        self._released = settings.release * threshold

    def reset(self) -> None:
        """Forget what has been."""
        self.joints.fill(False)
        self._for.fill(0.0)

    @property
    def present(self) -> bool:
        """Whether a collision is not over."""
        return self._on and bool(self.joints.any())

    def advance(self, dt: float, excess: np.ndarray, torque: np.ndarray) -> bool:
        """
        Go on by a cycle.

        Parameters
        ----------
        dt : float
            Seconds since the last one.
        excess : (nv,)
            Unknown external torque beyond what a model error may cause, as a size.
        torque : (nv,)
            Unknown external torque.

        Returns
        -------
        bool
            Whether a collision has begun: another one only after this is over.

        """
        if not self._on:
            return False
        before = self.present
        np.greater(excess, self._threshold, out=self._above)
        if not before and not self._above.any() and not self._for.any():
            return False
        self._for[self._above] += dt
        self._for[excess < self._released] = 0.0
        # between the two levels what is stays
        self.joints &= excess >= self._released
        self.joints |= self._above & (self._for >= self._settings.duration)
        if before or not self.present:
            return False
        self.count, self.last = self.count + 1, self.told(torque)
        return True

    def told(self, torque: np.ndarray) -> str:
        """Return which joint feels the collision most, and how much; '' if there is none."""
        if not self.present:
            return ''
        share = np.where(self.joints, np.abs(torque) / self._threshold, 0.0)
        j = int(np.argmax(share))
        unit = self._model.effort_units[j]
        return (f"joint '{self._model.joint_names[j]}' feels {torque[j]:.3g} {unit} from outside, "
                f'its collision.threshold is {self._threshold[j]:.3g} {unit}')


def checked_threshold(model: RobotModel, threshold) -> np.ndarray | None:
    """Return one threshold per joint, or None for none; raises `ParameterError` unless above 0."""
    if threshold is None or not np.size(threshold):
        return None
    values = not_negative('collision.threshold', threshold, model)
    if not values.all():
        joint = model.joint_names[int(np.argmin(values))]
        raise ParameterError(f"collision.threshold of joint '{joint}' is 0: any noise would be a "
                             'collision; leave the list empty for no detection', joint=joint)
    return values
