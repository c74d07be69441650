"""What is done to an arm under control: each act begins a fault, and ends when it is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
import re
import signal
import time
from typing import TYPE_CHECKING
import zlib

import numpy as np

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import Payload

if TYPE_CHECKING:  # the stage needs ROS
    from robodyn_ros.reliability.testbed import Testbed

_MOMENTS = (0.5, 1.3)   # s into the motion
_POINT = np.zeros((3, 3))


@dataclass(frozen=True)
class Draw:
    """
    What a seed decides.

    Attributes
    ----------
    moment : float
        When in the motion, s.
    joints : tuple of int
        All, in random order: the first is hurt.
    duration, amount : float
    sign : float
        1 or -1.

    """

    moment: float
    joints: tuple[int, ...]
    duration: float
    amount: float
    sign: float

    @classmethod
    def of(cls, name: str, seed: int, nv: int, duration: tuple[float, float],
           amount: tuple[float, float]) -> Draw:
        """Return the draw of a fault: the same for the same name and seed."""
        random = np.random.default_rng([seed, zlib.crc32(name.encode())])
        moment = random.uniform(*_MOMENTS)
        joints = tuple(int(j) for j in random.permutation(nv))
        low, high = duration
        lasts = math.exp(random.uniform(math.log(low), math.log(high))) if low else 0.0
        return cls(moment, joints, lasts, float(random.uniform(*amount)),
                   float(random.choice([-1.0, 1.0])))


Act = Callable[['Stage', Draw], 'Sequence[str] | None']


# --- processes ------------------------------------------------------------------------------

def killed(name: str) -> Act:
    """Return the act of ending a process without a word."""
    def act(testbed: Testbed, _draw: Draw) -> None:
        testbed.end(name, signal.SIGKILL)
        testbed.until_gone(name)
    return act


def driver_killed(testbed: Testbed, draw: Draw) -> None:
    """End the simulator without a word; a new one comes later."""
    killed('simulator')(testbed, draw)
    testbed.wait(draw.duration)
    heard = len(testbed.recorder.truth)
    testbed.start_node('simulator')
    testbed.recorder.wait(lambda: len(testbed.recorder.truth) > heard, 20.0)


def told_to_end(number: int) -> Act:
    """Return the act of ending the controller by a signal that it heeds."""
    def act(testbed: Testbed, _draw: Draw) -> Sequence[str]:
        testbed.end('controller', number)
        testbed.until_gone('controller')
        code = testbed.nodes['controller'].exit_code
        return () if code == 0 else [f'exit code 0, but {code}']
    return act


def held_up(name: str) -> Act:
    """Return the act of stopping a process for a while."""
    def act(testbed: Testbed, draw: Draw) -> None:
        testbed.nodes[name].signal(signal.SIGSTOP)
        testbed.wait(draw.duration)
        testbed.nodes[name].signal(signal.SIGCONT)
    return act


def crowded(testbed: Testbed, draw: Draw) -> None:
    """Let another program want 30 % of each processor."""
    hogs = testbed.crowd(0.3)
    testbed.wait(draw.duration)
    for hog in hogs:
        hog.may_end = True
        hog.stop()


def cut_off(testbed: Testbed, draw: Draw) -> None:
    """Cut the wire between the controller's host and the arm's."""
    testbed.network.cut()
    testbed.wait(draw.duration)
    testbed.network.heal()


# --- the arm --------------------------------------------------------------------------------

def faulty(kind: str, joints: int = 0, amount: str = '', timeout: float = 0.0) -> Act:
    """Return the act of a fault of the simulated arm, see `simulation.faults`."""
    def act(testbed: Testbed, draw: Draw) -> None:
        names = [testbed.model.joint_names[j] for j in draw.joints[:joints]]
        words = ['now', kind, *names, f'{draw.duration:.4f}']
        if amount:
            words.append(f'{draw.amount * (draw.sign if amount == "signed" else 1.0):.4f}')
        if timeout:
            _simulate(testbed, command_timeout=timeout)
        _simulate(testbed, faults=[' '.join(words)])
        testbed.wait(draw.duration)
        _simulate(testbed, faults=[''])
        if timeout:
            _simulate(testbed, command_timeout=0.0)
    return act


def offset(testbed: Testbed, draw: Draw) -> None:
    """Let an encoder jump, and jump back."""
    bias = np.zeros(testbed.model.nv)
    bias[draw.joints[0]] = draw.sign * draw.amount
    _simulate(testbed, **{'sensors.position_bias': bias.tolist()})
    testbed.wait(draw.duration)
    _simulate(testbed, **{'sensors.position_bias': [0.0]})


def loaded(told: bool) -> Act:
    """Return the act of giving the arm a payload, and taking it away."""
    def act(testbed: Testbed, draw: Draw) -> None:
        link, com = testbed.model.body_names[-1], np.array([0.0, 0.0, 0.05])
        mass = draw.amount * float(testbed.model.mass.sum())
        _simulate(testbed, **{'payload.com': com.tolist(), 'payload.mass': mass,
                              'payload.link': link})
        if told:
            testbed.recorder.fault_publisher.publish_payload(Payload(link, mass, com, _POINT))
        testbed.wait(draw.duration)
        _simulate(testbed, **{'payload.link': ''})
        if told:
            testbed.recorder.fault_publisher.publish_payload(Payload(link, 0.0, com, _POINT))
    return act


def tilted(told: bool) -> Act:
    """Return the act of tilting the base, and putting it upright."""
    def act(testbed: Testbed, draw: Draw) -> None:
        gravity, angle = testbed.model.gravity, draw.sign * draw.amount
        cos, sin = math.cos(angle), math.sin(angle)
        # roll: gravity as the tilted base sees it
        seen = np.array([[1.0, 0.0, 0.0], [0.0, cos, sin], [0.0, -sin, cos]]) @ gravity
        _simulate(testbed, **{'mismatch.base_tilt': [angle, 0.0, 0.0]})
        if told:
            testbed.recorder.fault_publisher.publish_gravity(seen)
        testbed.wait(draw.duration)
        _simulate(testbed, **{'mismatch.base_tilt': [0.0, 0.0, 0.0]})
        if told:
            testbed.recorder.fault_publisher.publish_gravity(gravity)
    return act


def _simulate(testbed: Testbed, **parameters) -> None:
    for name, value in parameters.items():
        testbed.recorder.set_parameter(testbed.name_of('simulator'), name, value)


# --- messages -------------------------------------------------------------------------------

def impersonated(testbed: Testbed, draw: Draw) -> None:
    """Let somebody else publish joint states as well, thirty times per second."""
    fault_publisher, names = testbed.recorder.fault_publisher, testbed.model.joint_names
    publisher, wrong = fault_publisher.imposter(), testbed.motion.start.copy()
    wrong[draw.joints[0]] += draw.sign * draw.amount
    end = time.monotonic() + draw.duration
    try:
        while time.monotonic() < end:
            publisher.publish(testbed.false_state(names, wrong))
            testbed.wait(0.03)
    finally:
        fault_publisher.destroy(publisher)


def misdirected(testbed: Testbed, draw: Draw) -> Sequence[str]:
    """Send trajectories with every defect."""
    missing = []
    for words, message in testbed.defective(draw.joints[0]):
        heard = testbed.nodes['controller'].log.stat().st_size
        testbed.recorder.fault_publisher.send(message)
        answer = testbed.answer(heard)
        if 'refused' not in answer or words not in answer:
            missing.append(f'trajectory refused: ... {words} ... (but: {answer or "nothing"})')
    return missing


def bad_parameters(nv: int) -> list[tuple[str, str, object]]:
    """Return node, name and value of what no node may take while the arm moves."""
    nan = math.nan
    return [('controller', name, value) for name, value in (
        ('natural_frequency', [-1.0]), ('natural_frequency', [1e9]), ('natural_frequency', [nan]),
        ('damping_ratio', [1.0] * (nv + 1)), ('kp', [-5.0]), ('effort_margin', 0.0),
        ('effort_limit', [1e-6]), ('effort_limit', ['strong']), ('effort_limit', [9e4]),
        ('torque_rate_limit', [0.0]), ('torque_rate_limit', [9e6]), ('kp', [1e12]),
        ('gravity_scale', [3.0]), ('transition_time', -1.0), ('mode', 'fly'),
        ('stop_time', 0.1), ('no_such_parameter', 1.0))] + [
        ('guard', 'damping', -1.0), ('guard', 'timeout', 1.0), ('guard', 'effort_limit', [0.0]),
        ('simulator', 'friction_scale', -1.0)]


def mistuned(testbed: Testbed, _draw: Draw) -> Sequence[str]:
    """Set parameters to what they cannot be; nothing may change."""
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
        missing.append('nothing has changed')
    return missing


def redescribed(testbed: Testbed, draw: Draw) -> None:
    """Publish another robot_description, of an arm twice as heavy."""
    heavier = re.sub(r'(<mass\s+value=")([^"]+)"',
                     lambda match: f'{match[1]}{2.0 * float(match[2])}"', testbed.urdf)
    fault_publisher = testbed.recorder.fault_publisher
    publisher = fault_publisher.describe(heavier)
    testbed.wait(draw.duration)
    fault_publisher.destroy(publisher)
