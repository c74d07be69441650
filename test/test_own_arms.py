"""The arms that come with the package: sound files, real bodies, motors that can hold them."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from tolerance import assert_close

FOLDER = Path(__file__).resolve().parents[1] / 'urdf'
ARMS = ('robodyn6', 'robodyn7')
# Four digits stand in the files.
PRINTED = 5e-4


@pytest.fixture(scope='module', params=ARMS)
def text(request):
    return (FOLDER / f'{request.param}.urdf').read_text()


@pytest.fixture(scope='module')
def model(text):
    return RobotModel.from_urdf(text)


def bodies(text):
    """Return the links that have an inertial."""
    return [link for link in ElementTree.fromstring(text).iter('link')
            if link.find('inertial') is not None]


def solid(shape):
    """Return volume and principal moments per mass of a cylinder or a box."""
    if shape.tag == 'cylinder':
        radius, length = float(shape.get('radius')), float(shape.get('length'))
        across = (3 * radius**2 + length**2) / 12
        return np.pi * radius**2 * length, np.array([across, across, radius**2 / 2])
    squares = np.array(shape.get('size').split(), dtype=float)**2
    return np.sqrt(squares.prod()), (squares.sum() - squares) / 12


def test_loads_without_a_warning(model):
    assert model.warnings == ()
    assert model.base_link == 'world'
    assert model.links['tool0'].body == model.nb - 1
    assert 18.0 <= model.total_mass <= 26.0


def test_limits_are_those_of_an_arm(model):
    assert np.all(np.isfinite(model.lower)) and np.all(np.isfinite(model.upper))
    assert np.all(np.diff(model.effort_limit) <= 0)
    assert (model.effort_limit[0], model.effort_limit[-1]) == (150.0, 12.0)
    for values, least, most in ((model.velocity_limit, 1.5, 3.0), (model.damping, 0.004, 0.2),
                                (model.friction, 0.002, 0.1)):
        assert np.all((least <= values) & (values <= most))


def test_inertias_are_those_of_the_visible_bodies(text):
    for link in bodies(text):
        inertial, visual, collision = map(link.find, ('inertial', 'visual', 'collision'))
        origins = {(part.find('origin').get('xyz'), part.find('origin').get('rpy'))
                   for part in (inertial, visual, collision)}
        assert len(origins) == 1, link.get('name')
        shapes = [ElementTree.tostring(part.find('geometry')[0]) for part in (visual, collision)]
        assert shapes[0] == shapes[1], link.get('name')
        mass = float(inertial.find('mass').get('value'))
        volume, moments = solid(visual.find('geometry')[0])
        assert 1000.0 <= mass / volume <= 2700.0, link.get('name')
        tensor = inertial.find('inertia').attrib
        written = [float(tensor[key]) for key in ('ixx', 'iyy', 'izz')]
        assert_close(written, mass * moments, PRINTED)
        assert all(float(tensor[key]) == 0.0 for key in ('ixy', 'ixz', 'iyz'))


def test_lumped_bodies_are_physical(model):
    for mass, moment, inertia in zip(model.mass, model.first_moment, model.inertia):
        # the pseudo-inertia of a real body is positive definite
        second = np.trace(inertia) / 2 * np.eye(3) - inertia
        pseudo = np.block([[second, moment[:, None]], [moment[None, :], mass]])
        assert np.all(np.linalg.eigvalsh(pseudo) > 0.0)


@pytest.mark.parametrize('payload', [0.0, 2.0])
def test_motors_hold_the_arm_everywhere(model, payload):
    dyn = Dynamics(model.with_payload('tool0', payload, (0.0, 0.0, 0.05)) if payload else model)
    rng = np.random.default_rng(7)
    gravity = dyn.gravity(rng.uniform(model.lower, model.upper, (5000, model.nv)))
    used = np.max(np.abs(gravity), axis=0) / model.effort_limit
    assert np.all(used < 0.6), used
    assert used[1] > 0.3, 'the shoulder would be far too strong for this arm'


def test_reach():
    dyn = Dynamics(RobotModel.from_urdf(FOLDER / 'robodyn7.urdf'))
    upright = dyn.forward_kinematics(np.zeros(7), 'tool0')[:3, 3]
    assert_close(upright, [0.0, 0.0, 0.34 + 0.85], 1e-12)


def test_agrees_with_pinocchio(text, model):
    pinocchio = pytest.importorskip('oracle', reason='needs Pinocchio')
    oracle = pinocchio.Oracle(text, model.joint_names)
    dyn, rng = Dynamics(model), np.random.default_rng(8)
    for _ in range(100):
        q = rng.uniform(model.lower, model.upper)
        qd, qdd = rng.uniform(-1, 1, (2, model.nv)) * model.velocity_limit
        tau = oracle.inverse_dynamics(q, qd, qdd)
        assert_close(dyn.inverse_dynamics(q, qd, qdd), tau, 1e-12)
        assert_close(dyn.gravity(q), oracle.gravity(q), 1e-12)
        assert_close(dyn.mass_matrix(q), oracle.mass_matrix(q), 1e-12)
        assert_close(dyn.forward_dynamics(q, qd, tau), qdd, 1e-10)
        pose = oracle.forward_kinematics(q, 'tool0')
        assert_close(dyn.forward_kinematics(q, 'tool0'), pose, 1e-12)
