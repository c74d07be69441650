"""
Time-optimal timing of a path under limits of velocity, acceleration and torque.

The library toppra (Pham and Pham, A New Approach to Time-Optimal Path Parameterization Based on
Reachability Analysis, IEEE Transactions on Robotics 34(3), 2018) solves linear constraints in
x = s'^2 and u = s''. The torque of a joint on the path q(s) is

    (M + J) (q_s u + q_ss x) + c(q, q_s) x + g + sign(q_s) F + D q_s sqrt(x)

with rotors J and dry friction F, which shifts the bounds by the sign of the motion. Viscous
friction D is concave in x: where it adds to the torque its tangent is an upper bound, where it
brakes its chord is a lower one. The tangents are those at the solution before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PPoly

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError, TrajectoryError
from robodyn_ros.teaching.joint_limits import JointLimits, Use
from robodyn_ros.teaching.path import Path
from robodyn_ros.teaching.timed_path import TimedPath

_GRID, _LEAST, _MOST = 0.01, 200, 1500  # rad between points of the grid, and their number
_STEP = 0.01        # s between points of the result
# further solutions: largest x relative to that of the solution before, around which they are
_ROOM = (2.0, 1.3, 1.1, 1.03)
_ATTEMPTS = 12      # solutions until the motion between the points of the grid is within limits
_ROUNDING = 1e-6    # of a limit above which it is lowered, by a thousandth
_TURNING = 1e-6     # derivative of a joint by the length below which its direction is not known
_FASTEST = 1e6      # bound of x
_SLOWEST = 1e-4     # of x for a tangent, relative to its bound


def time_optimal(path: Path, dynamics: Dynamics, limits: JointLimits, smoothing: float = 0.05,
                 grid: NDArray | None = None) -> TimedPath:
    """
    Return the fastest motion along a path within limits, from rest to rest.

    Parameters
    ----------
    path : Path
        Path of the joints.
    dynamics : Dynamics
        Dynamics of the arm.
    limits : JointLimits
        Kept at and between the points of the result.
    smoothing : float
        Time over which the place on the path is averaged, in s, so that acceleration and torque
        do not step; the motion takes so much longer. 0: steps of the optimal solution.
    grid : (N,) array, optional
        Places of the constraints, from 0 to the length of the path.

    Returns
    -------
    TimedPath
        Its `recorded` are the places on the path.

    Raises
    ------
    RobodynError
        toppra is not installed.
    TrajectoryError
        The arm cannot rest on the path, or cannot follow it at any speed; with the joint.

    """
    if grid is None:
        count = int(np.clip(path.length / _GRID, _LEAST, _MOST))
        grid = np.linspace(0.0, path.length, count)
    limits.check_rest(dynamics, path(grid))
    # samples are not everywhere
    tightened = inner = limits.reduced(Use(*[np.full(path.nv, 1.0 + _ROUNDING)] * 3))
    for _ in range(_ATTEMPTS):
        x = squared_speeds(path, dynamics, tightened, grid)
        timed = _timed(path, grid, x, smoothing)
        use = timed.use(dynamics, inner)
        if use.largest <= 1.0:
            return timed
        tightened = tightened.reduced(use)
    worst = int(np.argmax(np.max(use, axis=0)))
    name = dynamics.model.joint_names[worst]
    raise TrajectoryError(f"no timing was found that keeps joint '{name}' within its limits: "
                          f'{np.max(use):.3f} of a limit is left; smooth the path more, or use '
                          'a larger part of the torque', joint=name)


def squared_speeds(path: Path, dynamics: Dynamics, limits: JointLimits, grid: NDArray) -> NDArray:
    """
    Return the optimal squared velocities along a path, (N,), within limits at a grid, (N,).

    Raises as `time_optimal`.
    """
    rows = _Rows(path, dynamics, limits, grid)
    bound = rows.largest
    x = _toppra(path.nv, grid, rows.at(bound, bound), bound)
    viscous = limits.viscous.any() and np.isfinite(limits.torque).any()
    for room in _ROOM if viscous else ():
        bound = np.minimum(rows.largest, room * x + 1e-3 * x.max())
        x = _toppra(path.nv, grid, rows.at(x, bound), bound)
    return x


class _Rows:
    """Constraints a u + b x + c <= 0 at the grid: torques, accelerations, in both directions."""

    def __init__(self, path: Path, dynamics: Dynamics, limits: JointLimits, grid: NDArray):
        q, q_s, q_ss = (np.ascontiguousarray(path(grid, order)) for order in range(3))
        zero = np.zeros_like(q)
        gravity = dynamics.inverse_dynamics(q, zero, zero)
        inertia = (dynamics.inverse_dynamics(q, zero, q_s) - gravity) + limits.armature * q_s
        rest = (dynamics.inverse_dynamics(q, q_s, q_ss) - gravity) + limits.armature * q_ss
        forwards, backwards = _neighbours(q_s > -_TURNING), _neighbours(q_s < _TURNING)
        dry = limits.coulomb
        with np.errstate(divide='ignore'):
            bound = np.min(limits.velocity / np.maximum(np.abs(q_s), 1e-12), axis=1) ** 2
        self.largest = np.minimum(bound, _FASTEST)
        self._viscous = limits.viscous * np.abs(q_s)
        spare = limits.torque - np.abs(gravity) - dry
        # roots of x at which viscous friction alone takes all torque
        self._steady = spare / np.maximum(self._viscous, 1e-9 * np.minimum(spare, 1.0))
        self._adds = forwards, backwards
        sides = []
        for sign, adds, other in ((1.0, forwards, backwards), (-1.0, backwards, forwards)):
            friction = np.where(adds, dry, 0.0) - np.where(adds, 0.0, np.where(other, dry, 0.0))
            sides.append((sign * inertia, sign * rest, sign * gravity + friction - limits.torque))
        self._torque = [np.array(each) for each in zip(*sides)]
        self._acceleration = [
            np.concatenate([q_s, -q_s], axis=1), np.concatenate([q_ss, -q_ss], axis=1),
            np.tile(-limits.acceleration, (len(grid), 2))]

    def at(self, x: NDArray, bound: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return a, b, c, (N, k), with the viscous friction around a solution, up to a bound."""
        a, b, c = (each.copy() for each in self._torque)
        root = np.minimum(np.sqrt(np.maximum(x, _SLOWEST * bound))[:, None], self._steady)
        chord = 1.0 / np.sqrt(bound)[:, None]
        for k, adds in enumerate(self._adds):
            b[k] += self._viscous * np.where(adds, 0.5 / root, -chord)
            c[k] += self._viscous * np.where(adds, 0.5 * root, 0.0)
        rows = [np.concatenate([*both, other], axis=1) for both, other in zip(
            (a, b, c), self._acceleration)]
        bounded = np.isfinite(rows[2]).all(axis=0)
        a, b, c = (each[:, bounded] for each in rows)
        size = np.maximum(np.abs(c).max(axis=0), 1e-9)  # of equal size, for the solver
        return a / size, b / size, c / size


def _neighbours(flags: NDArray) -> NDArray:
    """Return whether a flag holds at a point of the grid, or at one beside it."""
    wide = np.concatenate([flags[:1], flags, flags[-1:]])
    return wide[:-2] | wide[1:-1] | wide[2:]


def _toppra(nv: int, grid: NDArray, rows: tuple[NDArray, NDArray, NDArray],
            largest: NDArray) -> NDArray:
    """Return the solution of toppra, (N,)."""
    try:
        from toppra.algorithm import TOPPRA
        from toppra.constraint import LinearConstraint
        from toppra.constraint.linear_constraint import canlinear_colloc_to_interpolate
    except ImportError as error:
        raise RobodynError(f'a time-optimal replay needs the library toppra, and {error}: '
                           "pip install toppra (or 'robodyn_ros[replay]')") from error

    class Constraint(LinearConstraint):

        def __init__(self):
            super().__init__()
            self.identical, self.dof = True, nv

        def compute_constraint_params(self, _path, _grid):
            count = rows[0].shape[1]
            bounds = np.column_stack([np.zeros(len(grid)), largest])
            if not count:
                return None, None, None, None, None, None, bounds
            # at both ends of each interval
            return canlinear_colloc_to_interpolate(
                *rows, np.eye(count), np.zeros(count), bounds, None, grid,
                identical=True)[:5] + (None, bounds)

    class Interval:
        path_interval, dof = (grid[0], grid[-1]), nv

    solver = TOPPRA([Constraint()], Interval(), gridpoints=grid, solver_wrapper='seidel')
    speed = solver.compute_parameterization(0.0, 0.0)[1]
    if speed is None or not np.isfinite(speed).all() or not speed[1:-1].all():
        raise TrajectoryError('the path cannot be followed within the limits at any speed: smooth '
                              'it more, or use a larger part of the torque')
    return speed ** 2


def _timed(path: Path, grid: NDArray, x: NDArray, smoothing: float) -> TimedPath:
    """Return the motion with these squared velocities along the path."""
    speed, gaps = np.sqrt(x), np.diff(grid)
    lasts = 2.0 * gaps / (speed[1:] + speed[:-1])
    times = np.concatenate([[0.0], np.cumsum(lasts)])
    if not smoothing:
        return TimedPath(times, path(grid), path(grid, 1) * speed[:, None], None, grid)
    half = 0.5 * np.diff(speed) / lasts
    # at rest before and after
    place = PPoly(np.column_stack([[0.0, 0.0, grid[0]], [half, speed[:-1], grid[:-1]],
                                   [0.0, 0.0, grid[-1]]]),
                  np.concatenate([[-smoothing], times, [times[-1] + smoothing]]))
    end = times[-1] + smoothing
    t = np.linspace(0.0, end, max(int(np.ceil(end / _STEP)), 4) + 1)
    before = t - smoothing
    area, rate = place.antiderivative(), place.derivative()
    s, s_t, s_tt = ((f(t) - f(before)) / smoothing for f in (area, place, rate))
    s = np.clip(s, grid[0], grid[-1])
    s_t[[0, -1]] = s_tt[[0, -1]] = 0.0
    q, q_s, q_ss = (path(s, order) for order in range(3))
    return TimedPath(t, q, q_s * s_t[:, None], q_s * s_tt[:, None] + q_ss * s_t[:, None] ** 2, s)
