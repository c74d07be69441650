"""Known external wrenches on links, valid until a timeout."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.steps.body import wrench_torques
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ModelError

_ABSURD = 1e6  # N or N m that no sensor measures; sums of much larger ones overflow


class ExternalWrenches:
    """
    Wrenches that the environment applies to links, one per link, each valid until its timeout.

    A wrench is in the axes of its link, like that of a force/torque sensor. If several links of a
    body have a wrench, all of them end with the first.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    memory : namespace
        Memory of the cycle.
    program : namespace
        Fields of `steps.wrenches.Program`.

    """

    def __init__(self, dynamics: Dynamics, memory: SimpleNamespace, program: SimpleNamespace):
        model = self._model = dynamics.model
        self._memory, self._program = memory, program
        self._at_links: dict[str, tuple[int, np.ndarray, float]] = {}
        program.end.fill(-np.inf)
        kernel = dynamics.kernel(wrench_torques, {'q': model.nv, 'wrenches': 6 * model.nb},
                                 (model.nv,), 'wrench_torques')
        self._wrench_torques = kernel.builtin('wrench_torques', wrench_torques.__doc__)

    def apply(self, now: float, link: str, wrench, timeout: float) -> None:
        """
        Apply a wrench at a link from now on, for `timeout` seconds.

        Parameters
        ----------
        now : float
            Time of the cycle.
        link : str
            Link on which the wrench acts, at its origin and in its axes.
        wrench : (6,)
            Force and moment that the environment applies (N, N m); replaces the previous wrench.
        timeout : float
            Seconds.

        Raises
        ------
        ModelError
            There is no such link, or it does not move.
        ArgumentError
            The wrench is not six finite numbers of plausible size.

        """
        body, values = self._at_body(link, wrench)
        self._at_links = {each: self._at_links[each] for each in self.links}
        self._at_links[link] = (body, values, now + timeout)
        total, end = np.zeros((self._model.nb, 6)), np.full(self._model.nb, np.inf)
        for at, wrench_, until in self._at_links.values():
            total[at] += wrench_
            end[at] = min(end[at], until)
        self._program.wrench[:] = total.ravel()
        self._program.end[:] = np.where(np.isfinite(end), end, -np.inf)

    def effect(self, q: np.ndarray, link: str, wrench) -> np.ndarray:
        """Return the joint torques, (nv,), that compensate a wrench; raises as `apply`."""
        body, values = self._at_body(link, wrench)
        all_bodies = np.zeros(6 * self._model.nb)
        all_bodies[6 * body:6 * body + 6] = values
        return self._wrench_torques(q, all_bodies)

    def _at_body(self, link: str, wrench) -> tuple[int, np.ndarray]:
        """Return the body that carries a link, and the wrench at its origin in its axes."""
        frame = self._model.link(link)
        if frame.body < 0:
            raise ModelError(f'wrench on link {link!r}: the link belongs to the immovable base; '
                             'name a link that moves', link=link)
        values = np.array(wrench, dtype=float)
        if values.shape != (6,) or not (np.abs(values) < _ABSURD).all():
            raise ArgumentError(f'wrench on link {link!r} is {values.tolist()}: it must be 6 '
                                f'finite numbers below {_ABSURD:g}, force then moment', link=link)
        force = frame.rotation @ values[:3]
        moment = frame.rotation @ values[3:] + np.cross(frame.translation, force)
        return frame.body, np.concatenate([force, moment])

    def clear(self) -> None:
        """Remove all wrenches at once."""
        self._at_links.clear()
        self._program.end.fill(-np.inf)
        self._program.clear += 1.0

    @property
    def links(self) -> tuple[str, ...]:
        """Links with a valid wrench."""
        now = self._memory.before
        return tuple(link for link, (_, _, end) in self._at_links.items() if end > now)
