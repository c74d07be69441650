"""Known external wrenches: what they do to the joints, the motors need not."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics import Dynamics, kernels
from robodyn_ros.exceptions import ArgumentError, ModelError

SMOOTHING = 0.02  # s: time constant with which a wrench is taken over, and let go
_NOTHING = 1e-6   # N or N m below which a wrench that is let go is over
_ABSURD = 1e6     # N or N m that no sensor measures; sums of much larger ones overflow


def carried_wrenches(tree, runtime, q, wrenches):
    """Return -sum J^T w for wrenches (force, moment) at the bodies' origins, in body axes."""
    rows = [wrenches[6 * i:6 * i + 6] for i in tree.bodies]
    forces = [(tuple(-x for x in row[:3]), tuple(-x for x in row[3:])) for row in rows]
    return kernels.to_coordinates(tree, kernels.inward(tree, kernels.poses(tree, q), forces))


class ExternalWrenches:
    """
    Wrenches that the environment applies to links, one per link, until they time out.

    A wrench is in the axes of its link and turns with it, as a force/torque sensor there tells it.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.

    """

    def __init__(self, dynamics: Dynamics):
        model = dynamics.model
        self._model = model
        self._at_links: dict[str, tuple[int, np.ndarray, float]] = {}
        self._now, self._target = np.zeros((2, 6 * model.nb))
        self._torque, self._told, self._nothing = np.zeros((3, model.nv))
        kernel = dynamics.kernel(carried_wrenches, {'q': model.nv, 'wrenches': 6 * model.nb},
                                 (model.nv,), 'carried_wrenches')
        self._carried = kernel.builtin('carried_wrenches', carried_wrenches.__doc__)
        self._idle = True

    def apply(self, now: float, link: str, wrench, timeout: float) -> None:
        """
        Reckon with a wrench at a link from now on, for `timeout` seconds.

        Parameters
        ----------
        now : float
            Time of the cycle.
        link : str
            The wrench acts at its origin, and is in its axes.
        wrench : (6,)
            Force and moment that the environment applies (N, N m), in place of the link's last.
        timeout : float
            Seconds.

        Raises
        ------
        ModelError
            There is no such link, or it does not move.
        ArgumentError
            Not six finite numbers, or absurd ones.

        """
        body, values = self._at_body(link, wrench)
        self._at_links[link] = (body, values, now + timeout)
        self._idle = False
        self._sum_up()

    def effect(self, q: np.ndarray, link: str, wrench) -> np.ndarray:
        """Return the joint torques, (nv,), against such a wrench alone; raises as `apply`."""
        body, values = self._at_body(link, wrench)
        all_bodies = np.zeros_like(self._target)
        all_bodies[6 * body:6 * body + 6] = values
        return self._carried(q, all_bodies)

    def _at_body(self, link: str, wrench) -> tuple[int, np.ndarray]:
        """Return the body that carries a link, and the wrench at its origin in its axes."""
        frame = self._model.link(link)
        if frame.body < 0:
            raise ModelError(f'wrench on link {link!r}: the link belongs to the immovable base, '
                             'no joint feels it; name a link that moves', link=link)
        values = np.array(wrench, dtype=float)
        if values.shape != (6,) or not (np.abs(values) < _ABSURD).all():
            raise ArgumentError(f'wrench on link {link!r} is {values.tolist()}: it must be 6 '
                                f'finite numbers below {_ABSURD:g}, force then moment', link=link)
        force = frame.rotation @ values[:3]
        moment = frame.rotation @ values[3:] + np.cross(frame.translation, force)
        return frame.body, np.concatenate([force, moment])

    def clear(self) -> None:
        """Forget all wrenches at once."""
        self._at_links.clear()
        self._now.fill(0.0)
        self._target.fill(0.0)
        self._torque.fill(0.0)
        self._idle = True

    @property
    def links(self) -> tuple[str, ...]:
        """Links with a wrench that counts."""
        return tuple(self._at_links)

    def torque(self, now: float, dt: float, q: np.ndarray) -> np.ndarray:
        """Return -sum J^T w at `q`, (nv,), overwritten by the next call."""
        if self._idle:
            return self._torque
        over = [link for link, (_, _, end) in self._at_links.items() if not now < end]
        for link in over:
            del self._at_links[link]
        if over:
            self._sum_up()
        self._now += (self._target - self._now) * min(dt / SMOOTHING, 1.0)
        if not self._at_links and np.abs(self._now).max() < _NOTHING:
            self.clear()
            return self._torque
        return self._carried(q, self._now, out=self._torque)

    def told(self, q: np.ndarray) -> np.ndarray:
        """Return J^T w of what was told last, (nv,), without smoothing; zero if nothing counts."""
        if not self._at_links:
            return self._nothing
        return np.negative(self._carried(q, self._target, out=self._told), out=self._told)

    def _sum_up(self) -> None:
        self._target.fill(0.0)
        for body, wrench, _ in self._at_links.values():
            self._target[6 * body:6 * body + 6] += wrench
