"""Fault injections on an arm under control: each returns when its fault is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, singledispatch
import math
import re
import signal
import time
from typing import Any, TYPE_CHECKING

import numpy as np

from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.model import Payload
from robodyn_ros.montecarlo.effects import Draw, Faulty, Loaded, Offset, SecondPublisher, Tilted

if TYPE_CHECKING:  # the testbed needs ROS
    from tools.campaign.testbed import Testbed

# Injects a fault and returns what should have happened meanwhile and did not.
Injection = Callable[['Testbed', Draw], 'Sequence[str] | None']


# --- processes ------------------------------------------------------------------------------

def killed(name: str) -> Injection:
    """Return the injection that kills a process."""
    def inject(testbed: Testbed, _draw: Draw) -> None:
        testbed.end(name, signal.SIGKILL)
        testbed.wait_for_exit(name)
    return inject


def second_controller(testbed: Testbed) -> None:
    """Start the controller once more, and wait until it waits for the first one."""
    first = testbed.nodes['controller']
    testbed.start_node('controller')
    second, testbed.nodes['controller'] = testbed.nodes['controller'], first
    testbed.nodes['second controller'] = second
    waits = re.compile('waiting: .*another (node|controller)')
    if not testbed.recorder.wait(
            lambda: any(waits.match(text) for _, text in second.messages()), 30.0):
        raise StateError('the second controller does not wait for the first one')


def first_controller_killed(testbed: Testbed, draw: Draw) -> None:
    """Kill the first of two controllers."""
    killed('controller')(testbed, draw)
    testbed.nodes['controller'] = testbed.nodes.pop('second controller')


def driver_killed(testbed: Testbed, draw: Draw) -> None:
    """Kill the simulator, and start a new one later."""
    killed('simulator')(testbed, draw)
    testbed.wait(draw.duration)
    count = len(testbed.recorder.truth)
    testbed.start_node('simulator')
    testbed.recorder.wait(lambda: len(testbed.recorder.truth) > count, 20.0)


def interrupted(number: int) -> Injection:
    """Return the injection that ends the controller by a signal that it handles."""
    def inject(testbed: Testbed, _draw: Draw) -> Sequence[str]:
        testbed.end('controller', number)
        testbed.wait_for_exit('controller')
        code = testbed.nodes['controller'].exit_code
        return () if code == 0 else [f'exit code 0, but {code}']
    return inject


def paused(name: str) -> Injection:
    """Return the injection that pauses a process."""
    def inject(testbed: Testbed, draw: Draw) -> None:
        testbed.nodes[name].signal(signal.SIGSTOP)
        testbed.wait(draw.duration)
        testbed.nodes[name].signal(signal.SIGCONT)
    return inject


def cpu_loaded(testbed: Testbed, draw: Draw) -> None:
    """Use 30 % of each processor for other programs."""
    programs = testbed.load_processors(0.3)
    testbed.wait(draw.duration)
    for program in programs:
        program.may_end = True
        program.stop()


def network_cut(testbed: Testbed, draw: Draw) -> None:
    """Cut the link between the hosts of controller and arm."""
    network = testbed.network
    assert network is not None
    network.cut()
    testbed.wait(draw.duration)
    network.restore()


# --- the arm --------------------------------------------------------------------------------

@singledispatch
def inject(effect, testbed: Testbed, draw: Draw) -> Sequence[str] | None:
    """Inject the effect of a case; return when it is over, with what should have happened."""
    return effect(testbed, draw)


@inject.register(Faulty)
def _(effect: Faulty, testbed: Testbed, draw: Draw) -> None:
    names = [testbed.model.joint_names[j] for j in draw.joints[:effect.joints]]
    words = ['now', effect.kind, *names, f'{draw.duration:.4f}']
    if effect.amount:
        words.append(f'{effect.size(draw):.4f}')
    if effect.timeout:
        _simulate(testbed, command_timeout=effect.timeout)
    _simulate(testbed, faults=[' '.join(words)])
    testbed.wait(draw.duration)
    _simulate(testbed, faults=[''])
    if effect.timeout:
        _simulate(testbed, command_timeout=0.0)


@inject.register(Offset)
def _(effect: Offset, testbed: Testbed, draw: Draw) -> None:
    bias = np.zeros(testbed.model.nv)
    bias[draw.joints[0]] = draw.sign * draw.amount
    _simulate(testbed, **{'sensors.position_bias': bias.tolist()})
    testbed.wait(draw.duration)
    _simulate(testbed, **{'sensors.position_bias': [0.0]})


@inject.register(Loaded)
def _(effect: Loaded, testbed: Testbed, draw: Draw) -> None:
    payload = effect.payload(draw, testbed.model)
    _simulate(testbed, **{'payload.com': payload.com.tolist(), 'payload.mass': payload.mass,
                          'payload.link': payload.link})
    if effect.reported:
        testbed.recorder.fault_publisher.publish_payload(payload)
    testbed.wait(draw.duration)
    _simulate(testbed, **{'payload.link': ''})
    if effect.reported:
        testbed.recorder.fault_publisher.publish_payload(
            Payload(payload.link, 0.0, payload.com, np.zeros((3, 3))))


@inject.register(Tilted)
def _(effect: Tilted, testbed: Testbed, draw: Draw) -> None:
    publisher = testbed.recorder.fault_publisher
    _simulate(testbed, **{'mismatch.base_tilt': [draw.sign * draw.amount, 0.0, 0.0]})
    if effect.reported:
        publisher.publish_gravity(effect.gravity(draw, testbed.model))
    testbed.wait(draw.duration)
    _simulate(testbed, **{'mismatch.base_tilt': [0.0, 0.0, 0.0]})
    if effect.reported:
        publisher.publish_gravity(testbed.model.gravity)


def _simulate(testbed: Testbed, **parameters) -> None:
    for name, value in parameters.items():
        testbed.recorder.set_parameter(testbed.name_of('simulator'), name, value)


# --- messages -------------------------------------------------------------------------------

def _publish_for(testbed: Testbed, seconds: float, publish: Callable[[], None],
                 period: float) -> None:
    """Publish again and again; seconds and period in s."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        publish()
        testbed.wait(period)


def _publish_states(testbed: Testbed, draw: Draw, q: np.ndarray, period: float) -> None:
    """Publish joint states of another position from a second node."""
    with testbed.recorder.fault_publisher.second_joint_states(
            testbed.model.joint_names) as publish:
        _publish_for(testbed, draw.duration, partial(publish, q), period)


@inject.register(SecondPublisher)
def _(effect: SecondPublisher, testbed: Testbed, draw: Draw) -> None:
    # thirty times per second
    wrong = testbed.motion.start.copy()
    wrong[draw.joints[0]] += draw.sign * draw.amount
    _publish_states(testbed, draw, wrong, 0.03)


def forgotten_publisher(testbed: Testbed, draw: Draw) -> None:
    """Publish joint states of the home position from a second node, 200 times per second."""
    _publish_states(testbed, draw, np.zeros(testbed.model.nv), 0.005)


def forged_heartbeats(testbed: Testbed, draw: Draw) -> None:
    """Publish heartbeats of a controller that is killed meanwhile, 200 times per second."""
    recorder = testbed.recorder
    topic = f'{testbed.name_of("controller")}/heartbeat'
    with recorder.fault_publisher.forged(topic, recorder.controller_state) as publish:
        testbed.end('controller', signal.SIGKILL)
        _publish_for(testbed, draw.duration, publish, 0.005)
    testbed.wait_for_exit('controller')


def forged_guard_states(testbed: Testbed, draw: Draw) -> None:
    """Publish states of a guard that commands the arm, 50 times per second."""
    topic = f'{testbed.name_of("guard")}/state'
    with testbed.recorder.fault_publisher.forged(topic, 'commanding') as publish:
        _publish_for(testbed, draw.duration, publish, 0.02)


def other_contract(testbed: Testbed, draw: Draw) -> None:
    """Publish a configuration for the guard that it cannot read, latched."""
    with testbed.recorder.fault_publisher.second_text(
            f'{testbed.name_of("controller")}/guard_contract', '{"version": "?"'):
        testbed.wait(draw.duration)


def bad_trajectories(testbed: Testbed, draw: Draw) -> Sequence[str]:
    """Send trajectories with every defect."""
    from tools.campaign import publisher  # needs ROS
    missing = []
    for words, message in publisher.bad_trajectories(
            testbed.model, testbed.motion.start, draw.joints[0]):
        start = testbed.nodes['controller'].log.stat().st_size
        testbed.recorder.fault_publisher.send(message)
        answer = testbed.answer(start)
        if 'refused' not in answer or words not in answer:
            missing.append(f'trajectory refused: ... {words} ... (but: {answer or "nothing"})')
    return missing


def bad_parameters(nv: int) -> list[tuple[str, str, Any]]:
    """Return (node, name, value) of parameter changes that must be refused while the arm moves."""
    nan = math.nan
    return [('controller', name, value) for name, value in (
        ('natural_frequency', [-1.0]), ('natural_frequency', [1e9]), ('natural_frequency', [nan]),
        ('damping_ratio', [1.0] * (nv + 1)), ('kp', [-5.0]), ('effort_margin', 0.0),
        ('effort_limit', [1e-6]), ('effort_limit', ['strong']), ('effort_limit', [9e4]),
        ('torque_rate_limit', [0.0]), ('torque_rate_limit', [9e6]), ('kp', [1e12]),
        ('gravity_scale', [3.0]), ('armature', [1000.0] * nv), ('transition_time', -1.0),
        ('mode', 'fly'), ('stop_time', 0.1), ('no_such_parameter', 1.0))] + [
        ('guard', 'damping', -1.0), ('guard', 'timeout', 1.0), ('guard', 'effort_limit', [0.0]),
        ('simulator', 'friction_scale', -1.0)]


def set_bad_parameters(testbed: Testbed, _draw: Draw) -> Sequence[str]:
    """Set parameters to values that must be refused."""
    rows = bad_parameters(testbed.model.nv)
    before = testbed.parameters(rows)
    missing = []
    for node, name, value in rows:
        try:
            testbed.recorder.set_parameter(testbed.name_of(node), name, value)
            missing.append(f'{node} refused {name} = {value}')
        except RobodynError as error:
            if 'refused' not in str(error):
                missing.append(str(error))
    if testbed.parameters(rows) != before:
        missing.append('parameters unchanged')
    return missing


def bad_loads(testbed: Testbed, draw: Draw) -> None:
    """Report loads that cannot be, ten times per second: an empty message, a car."""
    publisher = testbed.recorder.fault_publisher
    car = Payload(testbed.model.tip, 1000.0, np.zeros(3), np.eye(3))

    def publish() -> None:
        publisher.publish_gravity(np.zeros(3))
        publisher.publish_payload(car)

    _publish_for(testbed, draw.duration, publish, 0.1)


def other_urdf(testbed: Testbed, draw: Draw) -> None:
    """Publish another robot_description, of an arm twice as heavy."""
    heavier = re.sub(r'(<mass\s+value=")([^"]+)"',
                     lambda match: f'{match[1]}{2.0 * float(match[2])}"', testbed.urdf)
    with testbed.recorder.fault_publisher.second_text('robot_description', heavier):
        testbed.wait(draw.duration)
