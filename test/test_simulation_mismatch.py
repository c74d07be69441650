"""Arms that differ from their model: by closed forms, and by equivalent payloads."""
import math
from pathlib import Path

import numpy as np
from physical_body import is_physical
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation.mismatch import mismatched, tilt_rotation

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
Q = np.array([0.3, -0.4, 0.5, -1.1, 0.2, 0.6, -0.7])


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf(ARM)


def test_heavier_links_scale_torque_and_inertia(model):
    heavy = Dynamics(mismatched(model, 1.3))
    np.testing.assert_allclose(heavy.gravity(Q), 1.3 * Dynamics(model).gravity(Q), atol=1e-12)
    np.testing.assert_allclose(heavy.mass_matrix(Q), 1.3 * Dynamics(model).mass_matrix(Q),
                               atol=1e-12)


def test_one_heavier_link_weighs_on_the_joints_below_it_alone(model):
    link = model.body_names[3]
    change = Dynamics(mismatched(model, {link: 1.5})).gravity(Q) - Dynamics(model).gravity(Q)
    np.testing.assert_allclose(change[4:], 0.0, atol=1e-12)
    # the same as half of it once more, as a payload
    i = model.body_names.index(link)
    payload = model.with_payload(link, 0.5 * model.mass[i], model.first_moment[i] / model.mass[i])
    np.testing.assert_allclose(
        change, Dynamics(payload).gravity(Q) - Dynamics(model).gravity(Q), atol=1e-12)


def test_a_shifted_mass_is_one_taken_away_here_and_put_on_there(model):
    link, d = model.body_names[2], np.array([0.02, -0.01, 0.03])
    i = model.body_names.index(link)
    m, c = model.mass[i], model.first_moment[i] / model.mass[i]
    shifted = mismatched(model, com_shift={link: d})
    np.testing.assert_allclose(shifted.first_moment[i], m * (c + d), atol=1e-15)

    def about_com(inertia, com):
        return inertia - m * (com @ com * np.eye(3) - np.outer(com, com))

    # inertia about the centre of mass stays: parallel axes there and back
    np.testing.assert_allclose(about_com(shifted.inertia[i], c + d),
                               about_com(model.inertia[i], c), atol=1e-14)
    assert is_physical(shifted.mass[i], shifted.first_moment[i], shifted.inertia[i])
    assert shifted.structure_key != model.structure_key


def test_a_tilted_base_turns_gravity_and_keeps_its_size(model):
    on_its_side = mismatched(model, base_tilt=(math.pi / 2, 0.0, 0.0))
    # rolled by a quarter, the base's y axis points up
    np.testing.assert_allclose(on_its_side.gravity, [0.0, -9.81, 0.0], atol=1e-14)
    tilted = mismatched(model, base_tilt=(0.1, -0.2, 0.7))
    assert np.linalg.norm(tilted.gravity) == pytest.approx(9.81, rel=1e-14)
    # it is the compiled code of the same robot: only gravity differs
    assert tilted.structure_key == model.structure_key
    R = tilt_rotation((0.1, -0.2, 0.7))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    # turning about the vertical changes nothing
    np.testing.assert_allclose(mismatched(model, base_tilt=(0, 0, 1.0)).gravity, model.gravity,
                               atol=1e-15)


def test_without_settings_nothing_changes(model):
    same = mismatched(model)
    assert same.structure_key == model.structure_key
    np.testing.assert_array_equal(same.gravity, model.gravity)


@pytest.mark.parametrize('arguments, words', [
    ({'mass_scale': {'lnk3': 1.1}}, ["'lnk3'", 'did you mean', 'link3']),
    ({'mass_scale': {'link3': 0.0}}, ["'link3'", '0.0', 'above 0']),
    ({'mass_scale': {'link3': math.nan}}, ["'link3'", 'nan']),
    ({'mass_scale': -1.0}, ['-1.0', 'all links']),
    ({'mass_scale': {'tool0': 1.1}}, ["'tool0'", 'fixed to', "'link7'"]),
    ({'mass_scale': {'base_link': 1.1}}, ["'base_link'", 'immovable base', 'link1']),
    ({'com_shift': {'link3': (0.1, 0.2)}}, ["'link3'", '(0.1, 0.2)', 'x, y and z']),
    ({'com_shift': {'link3': 'far'}}, ["'link3'", "'far'"]),
    ({'base_tilt': (0.1, math.inf, 0.0)}, ['base', 'inf', 'roll, pitch and yaw']),
])
def test_a_mistake_is_named(model, arguments, words):
    with pytest.raises(ArgumentError) as caught:
        mismatched(model, **arguments)
    for word in words:
        assert word in str(caught.value)
