"""Shared configuration of controller and guard: differences are named, loads taken over."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the parameters of the guard need ROS 2')

from robodyn_ros.exceptions import RobodynError  # noqa: E402
from robodyn_ros.model import Payload, RobotModel  # noqa: E402
from robodyn_ros.nodes.guard import configuration_check  # noqa: E402
from robodyn_ros.nodes.guard.configuration import (  # noqa: E402
    configuration_from, difference, loads_of, model_digest, payloads_from, shared_parameters,
    vector_from)
from robodyn_ros.nodes.guard.parameters import GuardSettings  # noqa: E402
from robodyn_ros.safety import Guard  # noqa: E402
from robodyn_ros.settings import with_values  # noqa: E402
from ros_process import ROOT  # noqa: E402

URDF = (ROOT / 'urdf' / 'robodyn7.urdf').read_text()
MODEL = RobotModel.from_urdf(URDF)


def parameters(model=MODEL, topic='/effort_controller/commands', usable=MODEL.effort_limit,
               **changes):
    """Return shared parameters as they are received."""
    values = with_values(GuardSettings(), changes)
    return configuration_from(json.dumps(shared_parameters(
        model, values.command, values.limits, topic, usable, values.drives)))


def test_equal_parameters_do_not_differ():
    names = list(MODEL.joint_names)
    assert not difference(parameters(), parameters())
    assert not difference(parameters(), parameters(command_joints=names)), 'the default'
    assert not difference(parameters(), parameters(usable=MODEL.effort_limit * (1.0 + 1e-12)))
    for one in ({'drive_kp': [20.0]}, {'effort_scale': [2.0]}):
        (name, value), = one.items()
        assert not difference(parameters(**one), parameters(**{name: value * len(names)}))
        assert difference(parameters(**one), parameters(**{name: [*value * 6, 7.0]}))


@pytest.mark.parametrize('change, words', [
    ({'command_joints': MODEL.joint_names[::-1]}, [
        'command_joints', '[joint1, joint2', 'here, [joint7, joint6']),
    ({'publish_joint_commands': True}, ['publish_joint_commands', 'false here, true in the']),
    ({'driver_compensates_gravity': True}, [
        'driver_compensates_gravity', 'false here, true in the controller']),
    ({'command_fields': ('data:effort', 'data:kd')}, [
        'command_type, command_fields, drive_kp', 'data:kd']),
    ({'drive_kp': (20.0,)}, ['command_type, command_fields, drive_kp', '20.0']),
    ({'topic': '/other'}, ['effort_command_topic', '/effort_controller/commands here, /other']),
    ({'usable': 0.5 * MODEL.effort_limit}, [
        "effort_limit x effort_margin of joint 'joint1'", '150 here, 75.0 in the controller']),
    ({'model': RobotModel.from_urdf(URDF.replace('lower="-2.9"', 'lower="-2.8"'))}, [
        'urdf_file', model_digest(MODEL)])])
def test_a_difference_is_named_with_both_values(change, words):
    assert change.get('model', 0) is not MODEL
    text = difference(parameters(), parameters(**change))
    assert all(word in text for word in words), text


def test_the_digest_depends_on_the_arm_not_on_its_text():
    assert model_digest(RobotModel.from_urdf(URDF + '<!-- -->')) == model_digest(MODEL)
    assert model_digest(MODEL.with_gravity((0.0, 0.0, 9.81))) == model_digest(MODEL)
    heavier = RobotModel.from_urdf(URDF.replace('<mass value="', '<mass value="1'))
    assert model_digest(heavier) != model_digest(MODEL)


def test_loads_are_received_as_they_were_sent():
    payload = Payload('link7', 2.0, (0.0, 0.1, 0.05), np.diag([0.01, 0.02, 0.015]))
    configuration = configuration_from(json.dumps(loads_of(
        {'link7': payload}, np.array([0.1, 0.0, -9.8]), np.arange(7.0))))
    same, = payloads_from(configuration)
    assert (same.link, same.mass) == ('link7', 2.0)
    np.testing.assert_array_equal(same.com, payload.com)
    np.testing.assert_array_equal(same.inertia, payload.inertia)
    np.testing.assert_array_equal(vector_from(configuration, 'gravity', 3), [0.1, 0.0, -9.8])
    np.testing.assert_array_equal(vector_from(configuration, 'armature', 7), np.arange(7.0))


@pytest.mark.parametrize('text', ['', '[1]', '{', '[' * 100_000, '"' + 'x' * 10**6 + '"'])
def test_other_texts_are_refused(text):
    with pytest.raises(RobodynError, match='not the configuration'):
        configuration_from(text)


@pytest.mark.parametrize('text', [
    '{}', '{"payloads": 1, "gravity": 2}', '{"payloads": [{}], "gravity": [1, 2]}',
    '{"payloads": [{"link": "link7", "mass": "x", "com": [0, 0, 0], "inertia": 0}],'
    ' "gravity": [0, 0, "down"]}',
    '{"payloads": [{"link": "link7", "mass": -1, "com": [0, 0, 0], "inertia": [[1]]}],'
    ' "gravity": [0, 0, NaN]}'])
def test_impossible_loads_are_refused(text):
    configuration = configuration_from(text)
    assert difference(parameters(), configuration)
    with pytest.raises(RobodynError):
        payloads_from(configuration)
    with pytest.raises(RobodynError, match='gravity is'):
        vector_from(configuration, 'gravity', 3)


def test_the_digest_is_computed_when_limits_change_not_for_every_torque(monkeypatch):
    messages = [SimpleNamespace(data=json.dumps(
        parameters() | loads_of({}, MODEL.gravity, np.zeros(MODEL.nv))))]
    monkeypatch.setattr(configuration_check, 'PolledSubscription', lambda *_: SimpleNamespace(
        topic='', source=b'', waiting=lambda: [messages.pop()] if messages else []))
    made = []
    monkeypatch.setattr(configuration_check, 'shared_parameters',
                        lambda *given: made.append(0) or shared_parameters(*given))
    log = SimpleNamespace(info=print, error=print)
    configuration = configuration_check.ConfigurationCheck(
        SimpleNamespace(get_logger=lambda: log), MODEL,
        GuardSettings(), '/effort_controller/commands')
    guard = Guard(0.2)
    torque = SimpleNamespace(usable=np.array(MODEL.effort_limit), set_loads=lambda *_: None,
                             set_loop=lambda *_: None)
    for _ in range(100):
        configuration.poll(guard, torque)
        assert not guard.refusal
    assert len(made) == 1
    torque.usable = 0.5 * torque.usable
    configuration.poll(guard, torque)
    assert 'effort_limit x effort_margin' in guard.refusal


def test_the_configuration_of_a_stranger_does_not_count(monkeypatch):
    own, other = (
        json.dumps(parameters(topic=topic) | loads_of({}, MODEL.gravity, np.zeros(MODEL.nv)))
        for topic in ('/effort_controller/commands', '/elsewhere'))
    of_controller, stranger = bytes(range(16)), bytes(range(1, 17))
    topic = SimpleNamespace(topic='', source=b'')
    messages = []

    def waiting():
        while messages:
            topic.source, text = messages.pop(0)
            yield SimpleNamespace(data=text)

    topic.waiting = waiting
    monkeypatch.setattr(configuration_check, 'PolledSubscription', lambda *_: topic)
    logged = []
    log = SimpleNamespace(info=print, error=print, warning=lambda text, **_: logged.append(text))
    check = configuration_check.ConfigurationCheck(
        SimpleNamespace(get_logger=lambda: log), MODEL, GuardSettings(),
        '/effort_controller/commands')
    guard = Guard(0.2)
    torque = SimpleNamespace(usable=np.array(MODEL.effort_limit), set_loads=lambda *_: None,
                             set_loop=lambda *_: None)
    messages += [(of_controller, own), (stranger, other), (stranger, '[]')]
    for _ in range(3):
        check.poll(guard, torque)
    assert 'effort_command_topic differs' in guard.refusal, 'no heartbeat yet: the newest'
    guard.source = of_controller[:12] + bytes(4)  # another publisher of the same node
    check.poll(guard, torque)
    assert not guard.refusal
    assert len(logged) == 1 and 'ignored: guard_contract: not the configuration' in logged[0]
    for k in range(50):  # a flood is bounded
        messages.append((bytes([k] * 16), other))
        check.poll(guard, torque)
    assert len(check._received) == 8 and not guard.refusal
