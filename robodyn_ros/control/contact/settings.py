"""Settings of momentum observer, collision detection and disturbance compensation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative

SOURCES = ('command', 'measured')
REACTIONS = ('report', 'stop', 'float')


@dataclass(frozen=True)
class CollisionSettings:
    """
    Detection of collisions, and the reaction to them.

    Attributes
    ----------
    threshold : float or (nv,) or None
        External torque in N m (N) above which a joint collides; None: no detection.
    release : float
        Part of the threshold below which a collision is over.
    duration : float
        Time in s for which the threshold must be exceeded.
    model_error : float
        Part of the torque of the motion, and of friction, that is added to the threshold: smaller
        model errors are no collision. Where dry friction may hold a joint, all of it is added.
    reaction : str
        'report'; 'stop': come to rest from the measured state, and hold; 'float': gravity
        compensation.

    """

    threshold: float | Sequence[float] | None = None
    release: float = 0.5
    duration: float = 0.005
    model_error: float = 0.1
    reaction: str = 'stop'

    def __post_init__(self):
        if self.reaction not in REACTIONS:
            raise ParameterError(f'collision.reaction is {self.reaction!r}; there are '
                                 f'{", ".join(REACTIONS)}', value=self.reaction)


@dataclass(frozen=True)
class ObserverSettings:
    """
    Use of the external torque; the bandwidth of the observer is in `Gains`.

    Attributes
    ----------
    torque_source : str
        Motor torque: 'command', the torque sent, or 'measured', the effort of the joint states for
        joints that report one.
    link : str
        Link at which the wrench is estimated; empty: the tip.
    disturbance_limit : float
        Part of the effort limit that the disturbance observer may use.
    collision : CollisionSettings
        Detection of collisions.

    """

    torque_source: str = 'command'
    link: str = ''
    disturbance_limit: float = 0.3
    collision: CollisionSettings = field(default_factory=CollisionSettings)

    def __post_init__(self):
        if self.torque_source not in SOURCES:
            raise ParameterError(f'observer.torque_source is {self.torque_source!r}; there are '
                                 f'{", ".join(SOURCES)}', value=self.torque_source)


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
