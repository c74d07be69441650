"""The model as a value: frozen, picklable, with payloads and gravity as its only variations."""
import copy
import dataclasses
import pickle

from model_urdf import arm, gripper, INERTIAL, joint, LIMIT, link
import numpy as np
import pytest
from tolerance import assert_close

from robodyn_ros.exceptions import ModelError, ParameterError
from robodyn_ros.model import Frame, Payload, RobotModel

ROUNDING = 1e-14  # a product or two
TOOL = ('<inertial><origin xyz="0.1 -0.2 0.3"/><mass value="1.5"/>'
        '<inertia ixx="0.03" ixy="0.001" ixz="-0.002" iyy="0.02" iyz="0.004" izz="0.025"/>'
        '</inertial>')
TENSOR = [[0.03, 0.001, -0.002], [0.001, 0.02, 0.004], [-0.002, 0.004, 0.025]]


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf(gripper())


def arrays(model):
    return {field.name: getattr(model, field.name) for field in dataclasses.fields(model)
            if isinstance(getattr(model, field.name), np.ndarray)}


def test_shapes_and_types(model):
    nv, nb = model.nv, model.nb
    shapes = {'gravity': (3,), 'axis': (nb, 3), 'rotation': (nb, 3, 3), 'translation': (nb, 3),
              'first_moment': (nb, 3), 'inertia': (nb, 3, 3), 'base_first_moment': (3,)}
    of_bodies = {'parent', 'prismatic', 'mass', 'coordinate', 'multiplier', 'offset'}
    types = {'parent': np.intp, 'coordinate': np.intp, 'prismatic': bool, 'continuous': bool}
    assert len(arrays(model)) == 20
    for name, array in arrays(model).items():
        assert array.shape == shapes.get(name, (nb,) if name in of_bodies else (nv,)), name
        assert array.dtype == types.get(name, np.float64), name
        assert array.flags.c_contiguous, name
    assert_close(np.linalg.norm(model.axis, axis=1), np.ones(nb), ROUNDING)


@pytest.mark.parametrize('version', ['itself', 'pickled', 'copied', 'replaced'])
def test_nothing_can_be_changed(model, version):
    model = {'itself': lambda one: one, 'pickled': lambda one: pickle.loads(pickle.dumps(one)),
             'copied': copy.deepcopy, 'replaced': dataclasses.replace}[version](model)
    for array in arrays(model).values():
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = 'other'
    with pytest.raises(TypeError):
        model.links['base'] = None
    with pytest.raises(ValueError, match='read-only'):
        model.links['hand'].rotation[0, 0] = 2


def test_pickle_keeps_everything(model):
    model = model.with_payload('hand', 0.5)
    other = pickle.loads(pickle.dumps(model))
    assert other.structure_key == model.structure_key
    assert other.joint_names == model.joint_names and other.warnings == model.warnings
    assert_close(other.payload_parameters, model.payload_parameters, 0)
    for name, array in arrays(model).items():
        assert np.array_equal(array, getattr(other, name)), name


def test_models_are_hashed_by_identity(model):
    assert len({model, model, model.with_gravity((0, 0, 0))}) == 2
    assert model == model and model != copy.deepcopy(model)


def test_axes_are_normalised_and_default_to_x():
    text = arm(link('hand'), joint('wrist', 'forearm', 'hand', axis='')).replace(
        '<axis xyz="0 1 0"/>', '<axis xyz="0 3e-200 -4e-200"/>')
    axis = RobotModel.from_urdf(text).axis
    assert_close(axis[1], [0, 0.6, -0.8], ROUNDING)
    assert axis[2].tolist() == [1, 0, 0]


def test_gravity(model):
    tilted = model.with_gravity([1, 2, -9])
    assert model.gravity.tolist() == [0, 0, -9.81]
    assert tilted.gravity.tolist() == [1, 2, -9]
    assert tilted.structure_key == model.structure_key
    assert RobotModel.from_urdf(gripper(), gravity=[0, 0, 0]).gravity.tolist() == [0, 0, 0]
    with pytest.raises(ModelError, match='three finite numbers'):
        model.with_gravity([0, np.nan, 0])


def test_link(model):
    assert isinstance(model.link('hand'), Frame)
    assert model.link('hand').body == 1
    assert model.link('base').body == -1
    with pytest.raises(ModelError, match="no link 'hnd'; did you mean 'hand'"):
        model.link('hnd')
    with pytest.raises(ModelError, match='no link None'):
        model.link(None)


def test_payload_is_the_same_as_a_link_fixed_there():
    mount = joint('mount', 'hand', 'tool', 'fixed', '', xyz='0 0 0', rpy='0 0 0')
    built = RobotModel.from_urdf(gripper().replace('</robot>', link('tool', TOOL) + mount
                                                   + '</robot>'))
    held = RobotModel.from_urdf(gripper()).with_payload('hand', 1.5, (0.1, -0.2, 0.3), TENSOR)
    body, = held.payload_bodies
    mass, hx, hy, hz, xx, yy, zz, xy, xz, yz = held.payload_parameters[0]
    assert body == built.link('tool').body
    assert held.total_mass == pytest.approx(built.total_mass)
    assert_close(held.first_moment[body] + [hx, hy, hz], built.first_moment[body], ROUNDING)
    assert_close(held.inertia[body] + [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
                 built.inertia[body], ROUNDING)
    assert held.mass[body] + mass == pytest.approx(built.mass[body])


def test_one_payload_slot_for_a_link(model):
    both = model.with_payload('hand', 1).with_payload('forearm', 2).with_payload('hand', 3)
    assert [(load.link, load.mass) for load in both.payloads] == [('hand', 3), ('forearm', 2)]
    assert both.payload_parameters.shape == (2, 10)
    assert model.payloads == () and model.payload_parameters.shape == (0, 10)
    assert both.with_payload('hand', 0).payload_bodies == both.payload_bodies


@pytest.mark.parametrize('payload, message', [
    (('base', 1), "'base'.*immovable base"), (('hnd', 1), "did you mean 'hand'"),
    (('hand', -1), "'hand': mass -1 kg is negative"), (('hand', np.inf), 'mass inf must be'),
    (('hand', 'heavy'), "mass 'heavy' must be a finite number"), (('hand', [1, 2]), 'mass'),
    (('hand', 1, (0, np.nan, 0)), 'centre of mass'), (('hand', 1, (0, 0)), r'shape \(3,\)'),
    (('hand', 1, (0, 0, 0), np.ones(3)), r'inertia .* shape \(3, 3\)'),
    (('hand', 1, (0, 0, 0), np.triu(np.ones((3, 3)))), 'not symmetric'),
    (('hand', 1, (0, 0, 0), -np.eye(3)), 'negative principal moment -1'),
    (('hand', 1, (1e200, 0, 0)), 'at most 1e')])
def test_impossible_payload(model, payload, message):
    with pytest.raises(ModelError, match=message):
        model.with_payload(*payload)


def test_payload_checks_itself():
    with pytest.raises(ModelError, match='negative'):
        Payload('hand', -1.0, np.zeros(3), np.zeros((3, 3)))


def test_structure_key_follows_what_is_compiled(model):
    key = model.structure_key
    assert model.with_payload('hand', 1).structure_key != key
    assert (model.with_payload('hand', 1).structure_key
            == model.with_payload('hand', 2, (1, 1, 1)).structure_key)
    text = gripper()
    assert RobotModel.from_urdf(text.replace('elbow', 'knee')).structure_key == key
    assert RobotModel.from_urdf(text.replace('effort="50"', 'effort="5"')).structure_key == key
    assert RobotModel.from_urdf(text.replace('"0 1 0"', '"-0 1 0"')).structure_key == key
    for old, new in (('xyz="0 0 0.3"', 'xyz="0 0 0.31"'), ('axis xyz="0 1 0"', 'axis xyz="1 0 0"'),
                     ('mass value="2"', 'mass value="2.1"'), ('multiplier="0.5"', ''),
                     ('offset="0.01"', ''), ('"prismatic"', '"revolute"'),
                     ('ixy="0"', 'ixy="1e-4"')):
        assert RobotModel.from_urdf(text.replace(old, new)).structure_key != key, new


def test_total_mass_counts_all():
    model = RobotModel.from_urdf(arm().replace('<link name="base">',
                                               '<link name="base">' + INERTIAL))
    assert model.base_mass == 2
    assert model.base_first_moment.tolist() == [0, 0, 0.2]
    assert model.with_payload('forearm', 0.5).total_mass == 6.5


def test_limits_of_the_motors_replace_placeholders():
    model = RobotModel.from_urdf(arm(elbow_inside=LIMIT.replace('50', '1')))
    real = model.with_limits(effort_limit=[20.0, 30.0], velocity_limit=2.0)
    # effort limits below those of the URDF are no property of the motors
    assert real.effort_limit.tolist() == [50.0, 30.0] and real.velocity_limit.tolist() == [2.0] * 2
    assert model.with_limits().velocity_limit.tolist() == model.velocity_limit.tolist()
    with pytest.raises(ParameterError, match="velocity_limit of joint 'elbow' is 0; it must"):
        model.with_limits(velocity_limit=[1.0, 0.0])
    unlimited = RobotModel.from_urdf(arm(elbow_inside=LIMIT.replace('50', '0')))
    assert unlimited.with_limits(effort_limit=9.0).effort_limit.tolist() == [50.0, 0.0]
