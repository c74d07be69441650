"""
Hostile messages: trajectories, states, commands, contracts; taken, or refused without a trace.

The targets are for `test_hostile_messages`, which draws with Hypothesis, and for `fuzz_guided`.
Every message has been serialized: what the middleware would not transport does not count.
"""

from functools import cache
import json
from types import SimpleNamespace

from closed_loop import Loop
from design import settings_of
from fake_arm import START, URDF
import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from robodyn_ros.control import ArmController
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import with_slots
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.controller.state_input import ControllerClock, StateInput
from robodyn_ros.nodes.conversions import seconds
from robodyn_ros.nodes.guard.configuration import (
    configuration_from, difference, loads_of, payloads_from, shared_parameters, vector_from)
from robodyn_ros.nodes.guard.parameters import GuardSettings
from robodyn_ros.nodes.guard.torque import GuardTorque
from robodyn_ros.nodes.trajectories.validator import Request, TrajectoryValidator
from robodyn_ros.simulation import Plant
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

WHEEL = URDF.replace('name="elbow" type="revolute"', 'name="elbow" type="continuous"')
MODELS = [RobotModel.from_urdf(URDF), RobotModel.from_urdf(WHEEL)]
JOINTS = ['shoulder', 'elbow']
LONGEST = 2000       # characters of the text about a message
NUMBERS = (0.0, -0.0, 0.1, -0.3, 1.0, -2.0, 3.5, 40.0, 1e6, 1e9, 1e22, 1e154, 1e300, -1e308,
           5e-324, np.nan, np.inf, -np.inf)
NAMES = (['shoulder', 'elbow'], ['elbow', 'shoulder'], ['shoulder'], [], ['elbow', 'elbow'],
         ['shoulder', 'elbow', 'hand'], ['hand'], ['shoulder', 'elbow '], ['Shoulder', 'ELBOW'],
         ['shoulder', ''], ['肘', '\u202eé'], ['a\n[FATAL] all is well', '\x1b[31m'],
         ['x' * 9999, 'elbow'], ['shoulder', 'elbow'] * 40, ['s'] * 1000)
SECONDS = (0, 0, 1, 2, 3, 100, -1, -100, 1_795_246_505, 2**31 - 1, -2**31)
# JSON of a value; what is no JSON makes the whole invalid
TEXTS = ('0', '1', '-1', '0.5', '1e400', '-1e400', '9' * 400, '-' + '9' * 400, '9' * 5000, 'NaN',
         'Infinity', '1e30', '1e308', 'true', 'null', '"1"', '""', '"upper"', '"fore"',
         r'"\ud800"', r'"a\n[FATAL] [guard]: all is well\u001b[2J"', r'"\u202e"', '"肘"',
         '"' + 'x' * 20_000 + '"', '[]', '{}', '[1, 2, 3]', '[0, 0, ' + '9' * 400 + ']',
         '["0", "0", "-9"]', '[0, 0, -9.81]', '[' * 900 + ']' * 900, '[' * 9000 + ']' * 9000,
         '[[1, 0, 0], [0, 1, 0], [0, 0, 1]]', '[' + '{}, ' * 300 + '{}]', '{"a": ', ']', '')
NANOSECONDS = (0, 0, 0, 1, 500_000_000, 999_999_999, 10**9, 2**32 - 1)


DECODER = JointStateDecoder()


def on_the_wire(message):
    """Return a message as it arrives."""
    return deserialize_message(serialize_message(message), type(message))


def row(choose, size):
    """Draw numbers, of the right length most of the time."""
    size = choose([size, size, size, size, 0, 1, size + 1, 100])
    return [choose(NUMBERS) for _ in range(min(size, 4))] + [0.0] * (size - 4)


def stamp(choose, time):
    time.sec, time.nanosec = choose(SECONDS), choose(NANOSECONDS)


# --- trajectories -------------------------------------------------------------------------------


@cache
def _loop(model):
    return Loop(MODELS[model], q=START)


def good_point(k, kind, start):
    """Return a point of a slow motion."""
    point = JointTrajectoryPoint(positions=(start + 0.05 * (k + 1)).tolist())
    if kind > 0:
        point.velocities = [0.0, 0.0]
    if kind > 1:
        point.accelerations = [0.0, 0.0]
    if kind > 2:
        point.effort = [0.1, -0.1]
    point.time_from_start.sec = k + 1
    return point


def apply(choose, message):
    """Make one place of a trajectory invalid."""
    what = choose(['names', 'stamp', 'time', 'row', 'number', 'twice', 'none', 'sort'])
    points = message.points
    if what == 'names':
        message.joint_names = list(choose(NAMES))
    elif what == 'stamp':
        stamp(choose, message.header.stamp)
    elif what == 'none':
        message.points = []
    elif points:
        point = choose(points)
        field = choose(['positions', 'velocities', 'accelerations', 'effort'])
        if what == 'time':
            stamp(choose, point.time_from_start)
        elif what == 'row':
            setattr(point, field, row(choose, 2))
        elif what == 'number' and len(getattr(point, field)):
            getattr(point, field)[choose([0, -1])] = choose(NUMBERS)
        elif what == 'twice':
            message.points = points * choose([2, 200])
        else:
            message.points = points[::-1]


def trajectory(choose):
    """Command a trajectory; if it is accepted, the torque is within the limits."""
    loop = _loop(choose([0, 1]))
    loop.start(START)
    control, kind = loop.control, choose([0, 1, 2, 3])
    if choose([False, True]):  # it is on its way already
        loop.follow([0.5, -0.6], 1.0)
        loop.run(0.003)
    message = JointTrajectory(joint_names=JOINTS, points=[
        good_point(k, kind, control.reference.q) for k in range(choose([1, 2, 5]))])
    for _ in range(choose([0, 1, 1, 2, 3])):
        apply(choose, message)
    message = on_the_wire(message)
    before, wire = outputs(control), repr(message)
    answers = []
    since = seconds(message.header.stamp)
    TrajectoryValidator(control, block_until_checked=True).submit(Request(
        message, lambda *answer: answers.append(answer), loop.now + since if since else None,
        loop.now))
    (path, error), = answers
    assert repr(message) == wire
    if error is None:
        check_path(control.model, path, before[0])
        loop.run(0.005)
        assert (np.abs(loop.torque) <= control.model.effort_limit).all(), loop.torque
    else:
        assert path is None and isinstance(error, RobodynError), repr(error)
        check_words(str(error))
        np.testing.assert_array_equal(outputs(control)[:-1], before[:-1])
        assert outputs(control)[-1] == before[-1]
    assert not control.fault, control.fault


def outputs(control):
    """Return reference and outputs of the controller."""
    reference = control.motions.start_state().reference
    return (*(part.copy() for part in reference.arrays),
            (control.mode, control.status.interruptions))


def check_path(model, path, start):
    """Fail unless a trajectory stays in the limits, with the slack that it is allowed."""
    dense = path.dense()
    assert all(np.isfinite(part).all() for part in dense)
    assert (np.diff(path.times) > 0.0).all()
    assert (dense.q >= np.minimum(model.lower, start) - 2e-3).all()
    assert (dense.q <= np.maximum(model.upper, start) + 2e-3).all()


def check_words(text):
    """Fail unless a text can stand in a line of a log."""
    assert 0 < len(text) < LONGEST, len(text)
    assert text.isprintable(), repr(text)


@cache
def _dynamics(model):
    return Dynamics(model)


def _controller(model, simulated):
    dynamics = _dynamics(model)
    return ArmController(dynamics, settings_of(stale__hold=0.05, stale__stop=0.2),
                         simulated=simulated)


# --- joint states -------------------------------------------------------------------------------


def states(choose):
    """Read several states; the result is finite, complete and not older than its stamp."""
    model = choose(MODELS)
    lockstep, simulated = choose([False, False, True]), choose([False, True])
    control = _controller(model, lockstep or simulated)
    clock = ControllerClock(None, control.status.states.offset, lockstep, simulated)
    states = StateInput(SimpleNamespace(topic='joint_states', problem='', refused=0, source=b'',
                                        foreign=b'',
                                        wait=lambda _: message, waiting=lambda: ()),
                        JointStateDecoder(), control, clock)
    for turn in range(choose([1, 2, 4])):
        names = choose([NAMES[0], NAMES[0], *NAMES])
        message = JointState(name=names, **{
            field: row(choose, len(names)) if choose([False, True]) else [0.1] * len(names)
            for field in ('position', 'velocity', 'effort')})
        stamp(choose, message.header.stamp)
        message = DECODER.decode(serialize_message(message))
        before = (states.q.copy(), states.qd.copy(), states.effort.copy(), states.complete)
        now = clock.now(message) if clock.lockstep else 1000.0 + 0.01 * turn
        # it is inactive
        assert states.receive(states.wait(0.0), now, choose([False, True])) is None
        assert np.isfinite(states.q).all() and np.isfinite(states.qd).all()
        if states.problem:
            check_words(states.problem)
            for part, held in zip(before, (states.q, states.qd, states.effort)):
                np.testing.assert_array_equal(part, held)
            assert states.complete == before[-1]
        verdict = states.verdict(now)
        assert verdict.age >= 0.0
        check_words(verdict.reason or 'fresh')
        assert np.isfinite(clock.law_time(now))


# --- commands -----------------------------------------------------------------------------------


@cache
def _plant():
    return Plant(MODELS[0], 1e-3)


def commands(choose):
    """Command torques; the plant gets numbers, and stays at numbers."""
    reader, plant = CommandReader(JOINTS, choose([[], JOINTS[::-1]])), _plant()
    plant.reset(START)
    for _ in range(choose([1, 2, 4])):
        before, received = reader.torque.copy(), reader.received
        if choose([False, True]):
            sizes = [MultiArrayDimension(label='x' * 99, size=2**32 - 1, stride=2**32 - 1)]
            message = Float64MultiArray(data=row(choose, 2), layout=MultiArrayLayout(
                dim=sizes * choose([0, 3]), data_offset=choose([0, 1, 2**32 - 1])))
            taken = reader.read_array(on_the_wire(message))
        else:
            names = choose(NAMES)
            message = JointState(name=names, effort=row(choose, len(names)))
            taken = reader.read_named(on_the_wire(message))
        assert np.isfinite(reader.torque).all()
        assert reader.received == received + taken
        for line in reader.refusals.new_lines():
            check_words(line)
        if not taken:
            np.testing.assert_array_equal(reader.torque, before)
        plant.step(reader.torque)
        assert np.isfinite(plant.q).all() and np.isfinite(plant.qd).all()
    assert len(reader.refusals.counts) <= 4


# --- the contract of controller and guard -------------------------------------------------------


@cache
def _guard():
    """Return the torque of a guard, its parameters and what it expects of the contract."""
    values = GuardSettings()
    model = with_slots(MODELS[0])
    torque = GuardTorque(Dynamics(model), values)
    return torque, shared_parameters(model, values.command, values.limits, '/commands',
                                     torque.usable, values.drives)


def good_contract():
    """Return the contract of a controller that fits."""
    inertia = [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01]]
    return {**_guard()[1], **loads_of({}, MODELS[0].gravity, np.zeros(2)), 'payloads': [
        {'link': 'fore', 'mass': 0.5, 'com': [0.0, 0.0, 0.1], 'inertia': inertia}]}


def contract(choose):
    """Read the contract of a controller; its loads are those of bodies, or nothing changes."""
    torque, own = _guard()
    content = json.loads(json.dumps(good_contract()))
    for k in range(choose([0, 1, 1, 2, 3])):
        loads = content['payloads'][0] if content.get('payloads') else content
        place = choose([content, content, loads])
        if isinstance(place, dict):
            place[choose(sorted(place))] = f'<{k}>'
    text, changed = json.dumps(content), content != good_contract()
    for k in range(3):
        text = text.replace(f'"<{k}>"', choose(TEXTS))
    before = torque.loads.payloads, torque.loads.gravity.copy(), torque.armature.copy()
    try:
        theirs = configuration_from(on_the_wire(String(data=text)).data)
        wrong = difference(own, theirs)
        assert not wrong or (check_words(wrong) is None)
        torque.set_loads(payloads_from(theirs), vector_from(theirs, 'gravity', 3),
                         vector_from(theirs, 'armature', 2))
    except RobodynError as error:
        assert changed, error
        check_words(str(error))
        for held, now in zip(before[1:], (torque.loads.gravity, torque.armature)):
            np.testing.assert_array_equal(held, now)
        assert torque.loads.payloads is before[0]
    torque.start(0.0, START, np.zeros(2), None)
    sent = torque.update(0.01, START, np.zeros(2))
    assert (np.abs(sent) <= torque.usable).all(), sent
