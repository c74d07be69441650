"""
Textbook equations of the reference systems in `urdf/reference`.

Each function takes the joint positions, the joint velocities, the numbers of the system (an object
with one attribute per symbol of the book) and the magnitude of gravity, and returns
`ClosedForm(mass_matrix, velocity, gravity)` of tau = M(q) qdd + c(q, qd) + g(q).
"""

from typing import NamedTuple

import numpy as np
from numpy import cos, sin


class ClosedForm(NamedTuple):
    """The three terms of tau = M(q) qdd + c(q, qd) + g(q)."""

    mass_matrix: np.ndarray
    velocity: np.ndarray
    gravity: np.ndarray


def _form(mass_matrix, velocity, gravity):
    return ClosedForm(*(np.array(term, dtype=float) for term in (mass_matrix, velocity, gravity)))


def rp_craig(q, qd, p, g):
    """RP arm, theta1 from hanging (Craig, Introduction to Robotics, example 6.5)."""
    th1, d2 = q
    lever = d2 - p.L2
    return _form(
        [[p.m1 * p.L1**2 + p.Iyy1 + p.Iyy2 + p.m2 * lever**2, 0], [0, p.m2]],
        [2 * p.m2 * lever * qd[1] * qd[0], -p.m2 * lever * qd[0]**2],
        [(p.m1 * p.L1 + p.m2 * lever) * g * sin(th1), -p.m2 * g * cos(th1)])


def rp_gravity(q, qd, p, g):
    """RP arm, theta1 from horizontal (Lynch and Park, Modern Robotics, chapter 8)."""
    th1, th2 = q
    return _form(
        [[p.I1 + p.I2 + p.m1 * p.L1**2 + p.m2 * th2**2, 0], [0, p.m2]],
        [2 * p.m2 * th2 * qd[0] * qd[1], -p.m2 * th2 * qd[0]**2],
        [(p.m1 * p.L1 + p.m2 * th2) * g * cos(th1), p.m2 * g * sin(th1)])


def friction(qd, viscous, coulomb):
    """Viscous plus Coulomb friction torque, b qd + f sign(qd)."""
    return np.asarray(viscous) * qd + np.asarray(coulomb) * np.sign(qd)


def two_r_point_masses(q, qd, p, g):
    """2R arm with a point mass at the end of each link (Lynch and Park, section 8.1)."""
    c1, c12, c2, s2 = cos(q[0]), cos(q[0] + q[1]), cos(q[1]), sin(q[1])
    m12 = p.m2 * (p.L1 * p.L2 * c2 + p.L2**2)
    swing = p.m2 * p.L1 * p.L2 * s2
    return _form(
        [[p.m1 * p.L1**2 + p.m2 * (p.L1**2 + 2 * p.L1 * p.L2 * c2 + p.L2**2), m12],
         [m12, p.m2 * p.L2**2]],
        [-swing * (2 * qd[0] * qd[1] + qd[1]**2), swing * qd[0]**2],
        [(p.m1 + p.m2) * p.L1 * g * c1 + p.m2 * g * p.L2 * c12, p.m2 * g * p.L2 * c12])


def two_link_payload(q, qd, p, g):
    """Two rods carrying a point payload m (in the form of Luh, Walker and Paul, 1980)."""
    c1, c12, c2, s2 = cos(q[0]), cos(q[0] + q[1]), cos(q[1]), sin(q[1])
    m11 = (p.J1 + p.J2 + p.m1 * p.r1**2 + p.m2 * (p.l1**2 + p.r2**2 + 2 * p.r2 * p.l1 * c2)
           + p.m * (p.l1**2 + p.l2**2 + 2 * p.l1 * p.l2 * c2))
    m12 = p.J2 + p.m2 * (p.r2**2 + p.l1 * p.r2 * c2) + p.m * (p.l2**2 + p.l1 * p.l2 * c2)
    m22 = p.J2 + p.m2 * p.r2**2 + p.m * p.l2**2
    swing = p.l1 * (p.m2 * p.r2 + p.m * p.l2) * s2
    fore = (p.m2 * p.r2 + p.m * p.l2) * g * c12
    return _form(
        [[m11, m12], [m12, m22]],
        [-swing * (2 * qd[0] * qd[1] + qd[1]**2), swing * qd[0]**2],
        [(p.m1 * p.r1 + (p.m2 + p.m) * p.l1) * g * c1 + fore, fore])


def cube_about_corner(p):
    """Inertia tensor of a solid cube about a corner, axes along its edges."""
    return p.m * p.a**2 * (11 / 12 * np.eye(3) - 1 / 4 * np.ones((3, 3)))


def cube(q, qd, p, g):
    """
    Cube spinning about its corner, q = (yaw, pitch, roll): Euler's equations of the heavy top.

    With the angular velocity in the cube's axes w = E(q) qd, the torques are
    tau = E^T (I (E qdd + Edot qd) + w x I w) + dU/dq.
    """
    (_, s2, s3), (_, c2, c3) = sin(q), cos(q)
    rates = np.array([[-s2, 0, 1], [c2 * s3, c3, 0], [c2 * c3, -s3, 0]])
    rates_dot_qd = np.array([
        -c2 * qd[1] * qd[0],
        (-s2 * s3 * qd[1] + c2 * c3 * qd[2]) * qd[0] - s3 * qd[2] * qd[1],
        (-s2 * c3 * qd[1] - c2 * s3 * qd[2]) * qd[0] - c3 * qd[2] * qd[1]])
    tensor = cube_about_corner(p)
    spin = rates @ qd
    weight = p.m * g * p.a / 2
    return _form(
        rates.T @ tensor @ rates,
        rates.T @ (tensor @ rates_dot_qd + np.cross(spin, tensor @ spin)),
        [0, -weight * (c2 + s2 * (s3 + c3)), weight * c2 * (c3 - s3)])


def ma23_coefficients(q, p):
    """
    Elements of the mass matrix of the MA23 arm (Khatib's lecture notes, printing errors removed).

    Keys are the one-based index pairs of the notes, 'A12' to 'A66'.
    """
    C2, S3, C3 = cos(q[1]), sin(q[2]), cos(q[2])  # noqa: N806 (the notation of the notes)
    S, C = sin(q[1] + q[2]), cos(q[1] + q[2])  # noqa: N806
    S4, C4, S5, C5 = sin(q[3]), cos(q[3]), sin(q[4]), cos(q[4])  # noqa: N806
    Iy5 = p.Ix5  # noqa: N806 (the terminal body is a solid of revolution)
    a33 = (
        p.M3 * p.d3**2 + p.Ix3 + p.M4 * (p.h1**2 + C4**2 * p.dy4**2) + C4**2 * p.Ix4
        + S4**2 * p.Iy4
        + p.M5 * (p.h2**2 + 2 * C5 * p.h2 * p.d5 + S4**2 * C5**2 * p.d5**2 + C4**2 * p.ly4**2
                  + 2 * C4**2 * S5 * p.ly4 * p.d5 + C4**2 * p.d5**2)
        + C4**2 * p.Ix5 + S4**2 * C5**2 * Iy5 + S4**2 * S5**2 * p.Iz5
        + p.M6 * p.d6**2 + p.Ix6)
    a22 = (
        a33 + p.M2 * p.d2**2 + p.Ix2 + p.M3 * (2 * C3 * p.l2 * p.d3 + p.l2**2)
        + p.M4 * (2 * C3 * p.l2 * p.h1 + p.l2**2 - 2 * S3 * C4 * p.l2 * p.dy4)
        + p.M5 * (p.l2**2 + 2 * C3 * p.l2 * p.h2 + 2 * C3 * C5 * p.l2 * p.d5
                  - 2 * S3 * C4 * p.l2 * p.ly4 - 2 * S3 * C4 * S5 * p.l2 * p.d5)
        + p.M6 * (2 * C3 * p.l2 * p.d6 + p.l2**2))
    a44 = (
        p.M4 * p.dy4**2 + p.Iz4
        + p.M5 * (p.ly4**2 + 2 * S5 * p.ly4 * p.d5 + S5**2 * p.d5**2)
        + S5**2 * Iy5 + C5**2 * p.Iz5)
    a13 = (
        p.M4 * (-C * S4 * p.dy4 * p.h1 + S * S4 * C4 * p.dy4**2)
        + S * S4 * C4 * (p.Ix4 - p.Iy4) + C * S4 * p.Iyz4
        + p.M5 * (-C * S4 * p.ly4 * p.h2 - C * S4 * C5 * p.ly4 * p.d5
                  - S * S4 * C4 * C5**2 * p.d5**2 - C * S4 * S5 * p.h2 * p.d5
                  - C * S4 * S5 * C5 * p.d5**2 + S * S4 * C4 * p.ly4**2
                  + 2 * S * S4 * C4 * S5 * p.ly4 * p.d5 + S * S4 * C4 * p.d5**2)
        + S * S4 * C4 * p.Ix5 - S * S4 * C4 * C5**2 * Iy5 - C * S4 * S5 * C5 * Iy5
        - S * S4 * C4 * S5**2 * p.Iz5 + C * S4 * S5 * C5 * p.Iz5)
    a12 = (
        a13 - p.M4 * C2 * S4 * p.l2 * p.dy4
        + p.M5 * (-C2 * S4 * p.l2 * p.ly4 - C2 * S4 * S5 * p.l2 * p.d5))
    return {
        'A12': a12, 'A13': a13, 'A22': a22, 'A33': a33, 'A44': a44,
        'A55': p.M5 * p.d5**2 + p.Ix5, 'A66': p.Iz5}


def ma23_gravity(q, p, g):
    """Gravity torques of the MA23 arm, the gradient of g times the sum of mass times height."""
    lower = (p.M2 * p.d2 + (p.M3 + p.M4 + p.M5 + p.M6) * p.l2) * g
    along = (p.M3 * p.d3 + p.M6 * p.d6 + p.M4 * p.h1 + p.M5 * (p.h2 + p.d5 * cos(q[4]))) * g
    side = (p.M4 * p.dy4 + p.M5 * (p.ly4 + p.d5 * sin(q[4]))) * g
    s23, c23, s4, c4 = sin(q[1] + q[2]), cos(q[1] + q[2]), sin(q[3]), cos(q[3])
    fore = -along * s23 - side * c23 * c4
    wrist = -p.M5 * p.d5 * g * (c23 * sin(q[4]) + s23 * c4 * cos(q[4]))
    return np.array([0, fore - lower * sin(q[1]), fore, side * s23 * s4, wrist, 0])
