"""Inertia tensors against integrals, and the properties that rotation and shift must keep."""
from hypothesis import given, settings, strategies
import numpy as np
from physical_body import is_physical
import pytest
from tolerance import assert_close

from robodyn_ros.model import inertia as inertias
from robodyn_ros.model.frame import rotation_about, rotation_from_rpy

ROUNDING = 1e-13  # some ten products
EIGEN = 1e-12  # an eigenvalue problem of three rows

coordinate = strategies.floats(-2, 2, allow_subnormal=False)
vector = strategies.tuples(coordinate, coordinate, coordinate).map(np.array)
point = strategies.tuples(strategies.floats(0.01, 5), vector)
bodies = strategies.lists(point, min_size=1, max_size=6)
angles = strategies.tuples(*[strategies.floats(-4, 4)] * 3)


def about_origin(points):
    """Return mass, first moment and inertia about the origin of some point masses, by summing."""
    mass = sum(share for share, _ in points)
    first = sum(share * place for share, place in points)
    tensor = sum(share * (place @ place * np.eye(3) - np.outer(place, place))
                 for share, place in points)
    return mass, first, tensor


@given(bodies)
def test_parallel_axis_is_the_sum_over_points(points):
    mass, first, tensor = about_origin(points)
    com = first / mass
    _, _, central = about_origin([(share, place - com) for share, place in points])
    assert_close(inertias.parallel_axis(central, mass, com), tensor, ROUNDING, mass)


@given(bodies, angles)
def test_rotation_is_the_rotation_of_the_points(points, rpy):
    rotation = rotation_from_rpy(rpy)
    _, _, tensor = about_origin(points)
    mass, _, turned = about_origin([(share, rotation @ place) for share, place in points])
    assert_close(inertias.rotate_inertia(tensor, rotation), turned, ROUNDING, mass)


@given(bodies, angles)
def test_principal_moments_do_not_depend_on_orientation(points, rpy):
    mass, _, tensor = about_origin(points)
    moments, axes = inertias.principal_moments_and_axes(tensor)
    turned = inertias.rotate_inertia(tensor, rotation_from_rpy(rpy))
    others, _ = inertias.principal_moments_and_axes(turned)
    assert np.all(np.diff(moments) >= 0)
    assert_close(others, moments, EIGEN, mass)
    assert_close(axes @ np.diag(moments) @ axes.T, tensor, EIGEN, mass)
    assert_close(axes.T @ axes, np.eye(3), EIGEN)
    assert np.linalg.det(axes) == pytest.approx(1)


@given(bodies)
def test_real_bodies_are_physical(points):
    mass, first, tensor = about_origin(points)
    assert is_physical(mass, first, tensor)
    pseudo = inertias.pseudo_inertia(mass, first, tensor)
    second = sum(share * np.outer(place, place) for share, place in points)
    assert_close(pseudo[:3, :3], second, ROUNDING, mass)
    assert (pseudo[3, 3], *pseudo[3, :3]) == (mass, *first)


@pytest.mark.parametrize('mass, first, moments', [
    (1, (0, 0, 0), (1, 1, 2.1)), (-1, (0, 0, 0), (1, 1, 1)), (1, (0, 0, 0), (-1, 1, 1)),
    (1, (2, 0, 0), (1, 1, 1)), (0, (1, 0, 0), (1, 1, 1))])
def test_impossible_bodies_are_not_physical(mass, first, moments):
    assert not is_physical(mass, first, np.diag(moments))


def test_excess_and_share():
    assert inertias.triangle_excess([3, 1, 1]) == pytest.approx(1 / 3)
    assert inertias.triangle_excess([2, 1, 1]) == 0
    assert inertias.negative_share([-1, 4, 2]) == 0.25
    assert inertias.negative_share([0, 0, 0]) == inertias.triangle_excess([0, 0, 0]) == 0


@given(angles)
def test_rpy_is_three_turns_about_fixed_axes(rpy):
    turns = [rotation_about(axis, angle) for axis, angle in zip(np.eye(3), rpy)]
    assert_close(rotation_from_rpy(rpy), turns[2] @ turns[1] @ turns[0], ROUNDING)


@settings(max_examples=30)
@given(strategies.tuples(*[strategies.integers(-4, 4)] * 3))
def test_quarter_turns_are_exact(quarters):
    rotation = rotation_from_rpy(np.array(quarters) * np.pi / 2)
    assert set(np.abs(rotation).ravel()) == {0.0, 1.0}
    assert not np.any(np.signbit(rotation) & (rotation == 0.0))
