"""
Task space of the Cartesian laws: pose error, Jacobian, inertia and null space of a link.

The orientation error is the unit quaternion (eta, eps) of R_ref R^T, in base axes. Without angles
all functions are smooth wherever the reference is less than half a turn away.

Source: Caccavale, Natale, Siciliano, Villani, Six-DOF impedance control based on angle/axis
representations, 1999.

All 6-vectors are linear first, in the axes of the gains: those of the base, or of the reference
pose. With A = J M^-1 J^T the task inertia is Lambda = A^-1, and N^T = 1 - J^T Lambda J M^-1
projects onto torques that do not accelerate the link (Khatib 1987). Directions that are not
selected are left out.

Near a singularity A is damped, only along the directions in which the link can hardly be moved
(Nakamura and Hanafusa 1986, with the singular vectors of Maciejewski and Klein 1988): a
singular value s of the Jacobian, its rows scaled by typical values, below the threshold s0 adds

    lambda^2 = s0^2 (1 - s^2 / s0^2)^2

times the typical mobility along its direction.
"""

from __future__ import annotations

from robodyn_ros.control.laws.symmetric import eigen, spectral
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.trace import absolute, maximum, select, sqrt
from robodyn_ros.dynamics.jit.vectors import difference
from robodyn_ros.dynamics.vector import (
    add, apply_transposed, cross, IDENTITY, matmul, scale, transpose)

_SIX = range(6)


def quaternion(R):
    """Return (eta, eps) of a rotation matrix, eta not negative."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    # four times each of eta^2, x^2, y^2, z^2; the largest determines the signs (Shepperd 1978)
    squares = (1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz)
    products = ((squares[0], zy - yz, xz - zx, yx - xy), (zy - yz, squares[1], yx + xy, xz + zx),
                (xz - zx, yx + xy, squares[2], zy + yz), (yx - xy, xz + zx, zy + yz, squares[3]))
    found, largest = products[0], squares[0]
    for square, product in zip(squares[1:], products[1:]):
        found = tuple(select(square - largest, a, b) for a, b in zip(product, found))
        largest = maximum(square, largest)
    # the row holds 4 q_k q, and its own element is the square
    size = select(found[0], 0.5, -0.5) / sqrt(maximum(largest, 1.0))
    eta, *eps = [size * each for each in found]
    return absolute(eta), tuple(eps)


def pose_error(reference, pose):
    """Return p_ref - p, and (eta, eps) of R_ref R^T, of two poses (R, p)."""
    (R_ref, p_ref), (R, p) = reference, pose
    away = tuple(a - b for a, b in zip(p_ref, p))
    return away, quaternion(matmul(R_ref, transpose(R)))


def rotation_spring(stiffness, eta, eps):
    """
    Return the moment m = 2 (eta K eps + (K eps) x eps) of a spring between orientations.

    It has the potential U = 2 eps^T K eps: with the reference at rest dU/dt = -w . m. For small
    errors that is a spring against the angle; half a turn away the moment vanishes.
    """
    stretched = tuple(k * x for k, x in zip(stiffness, eps))
    return scale(2.0, add(scale(eta, stretched), cross(stretched, eps)))


# --- the task ------------------------------------------------------------------------------------

class Task:
    """
    A link and its reference, in symbols.

    Parameters
    ----------
    arm : Arm
        Robot, with the frame of the link.
    x : namespace
        State, reference, and `x.task`: `axes`, `reach`, `mobility` and `singularity` as in
        `TaskGains`.
    selected : list of scalar
        1 for each controlled direction, 0 for a free one.

    Attributes
    ----------
    error : tuple
        p_ref - p, and the quaternion (eta, eps).
    J : list
        Jacobian, 6 rows.
    twist_error, acceleration : list
        J qd of the reference minus that of the arm; J qdd + dJ/dt qd of the reference minus
        dJ/dt qd of the arm.
    A : list
        J M^-1 J^T.
    manipulability : scalar
        Product of the singular values of the scaled Jacobian: typically 0.05 to 1, 0 where the
        link cannot be moved in every selected direction (Yoshikawa 1985).

    """

    def __init__(self, arm, x, selected):
        tree, frame = arm.tree, arm.frame
        self._selected, self._x = selected, x.task
        reference, pose = (algorithms.frame_pose_at(tree, q, frame) for q in (x.q_ref, x.q))
        # axes of the reference pose, or of the base
        self._axes = tuple(tuple(one + x.task.axes[0] * (r - one) for r, one in zip(row, unit))
                           for row, unit in zip(reference[0], IDENTITY))
        away, (eta, eps) = pose_error(reference, pose)
        self.error = self._turned3(away), (eta, self._turned3(eps))
        J, J_ref = (algorithms.jacobian(tree, arm.runtime, q, frame) for q in (x.q, x.q_ref))
        drift, drift_ref = (algorithms.jacobian_dot_qd(tree, arm.runtime, q, qd, frame)
                            for q, qd in ((x.q, x.qd), (x.q_ref, x.qd_ref)))
        self.twist_error = self._turned(difference(multiply(J_ref, x.qd_ref), multiply(J, x.qd)))
        self.acceleration = self._turned([a + b - c for a, b, c in zip(
            multiply(J_ref, x.qdd_ref), drift_ref, drift)])
        self.J = transposed([self._turned(column) for column in transposed(J)])
        self._M = arm.mass_matrix(x.q)
        # rows of (M^-1 J^T)^T
        self._response = [algorithms.solve(self._M, row) for row in self.J]
        self.A = symmetric_product(self.J, self._response)
        self._singular_values()

    @property
    def deflection(self):
        """Return the pose error as 6 numbers d: the springs store the energy 1/2 K_i d_i^2."""
        away, (_, eps) = self.error
        return [*away, *(2.0 * each for each in eps)]

    def joint_torque(self, wrench):
        """Return J^T w."""
        return multiply(transposed(self.J), wrench)

    def force(self, acceleration):
        """Return Lambda a over the selected directions."""
        return self._masked(algorithms.solve(self._damped, self._masked(acceleration)))

    def null_torque(self, torque):
        """Return N^T tau: the part of a joint torque that does not accelerate the link."""
        return difference(torque, self.joint_torque(self.force(multiply(self._response, torque))))

    def null_velocity(self, velocity):
        """Return N v: the part of joint velocities that does not move the link."""
        moved = self.force(multiply(self.J, velocity))
        return difference(velocity, multiply(transposed(self._response), moved))

    def inertial(self, acceleration):
        """Return M a of joint accelerations."""
        return multiply(self._M, acceleration)

    def _singular_values(self):
        """Compute the singular values, the damped task inertia, and the manipulability."""
        x, selected = self._x, self._selected
        scaled = [[s * r * each for each in row]
                  for s, r, row in zip(selected, x.reach, self.J)]
        squares, U = eigen(self._completed(symmetric_product(scaled, scaled)))
        limit = x.singularity[0] * x.singularity[0]

        def damping(square):
            missing = maximum(1.0 - square / limit, 0.0)
            return limit * missing * missing

        root = [sqrt(each) for each in x.mobility]
        added = spectral(squares, U, damping)
        task = self._completed([[selected[i] * selected[j] * self.A[i][j] for j in _SIX]
                                for i in _SIX])
        self._damped = [[task[i][j] + root[i] * added[i][j] * root[j] for j in _SIX]
                        for i in _SIX]
        volume = 1.0
        for square in squares:
            volume = volume * maximum(square, 0.0)
        self.manipulability = sqrt(volume)

    def _completed(self, matrix):
        """Return a matrix with ones on the diagonal for free directions."""
        return [[each + (1.0 - self._selected[i] if i == j else 0.0)
                 for j, each in enumerate(row)] for i, row in enumerate(matrix)]

    def _masked(self, vector):
        return [s * each for s, each in zip(self._selected, vector)]

    def _turned3(self, vector):
        return apply_transposed(self._axes, vector)

    def _turned(self, vector):
        """Return a 6-vector in base axes, in the axes of the gains."""
        return [*self._turned3(vector[:3]), *self._turned3(vector[3:])]


def transposed(matrix):
    """Return the transpose as a list of rows."""
    return [list(column) for column in zip(*matrix)]


def multiply(matrix, vector):
    """Return the product of a matrix and a vector."""
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def symmetric_product(a, b):
    """Return the matrix a_i . b_j, which is known to be symmetric."""
    product = [[0.0] * len(a) for _ in a]
    for i, row in enumerate(a):
        for j in range(i + 1):
            product[i][j] = product[j][i] = sum(x * y for x, y in zip(row, b[j]))
    return product
