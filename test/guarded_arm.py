"""Shared by the tests of the guard: an arm, its guard, a controller, and all their messages."""

import os
import time

from controller_node import (
    ACTIVE, ARM, Arm, COMMANDS, CONTROLLER, HOME, MODEL, NODE, PATIENT, RATE, set_in_motion,
    simulator, trajectory)
import numpy as np
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.conversions import seconds
from ros_process import NodeProcess, Probe
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger

GUARD = 'robodyn_ros.nodes.guard.node'
FAR = trajectory(MODEL.joint_names, HOME + 0.9, seconds=2.0)
TAKEN = 'the guard commands the arm'
TIMEOUT = 0.6   # s; short of processor time any process may pause
STILL = 0.02   # rad/s
LARGEST_STEP = 1.001  # of what the rate limit allows, see `Scene.steps`
REPORT = os.environ.get('GUARD_REPORT')


class Scene(Arm):
    """An arm, its guard and a controller, with all their messages."""

    def __init__(self, probe, plant):
        self.guard, self.sent = None, []
        probe.node.create_subscription(Float64MultiArray, COMMANDS, self._take,
                                       qos.reliable(1000))
        self.beats = probe.subscribe(Header, f'{NODE}/heartbeat', qos.reliable(1000))
        self.guard_states = probe.subscribe(Header, 'guard/state', qos.latched())
        super().__init__(probe, plant)

    def _take(self, message, info):
        self.sent.append((1e-9 * info['source_timestamp'], np.array(message.data)))

    def begin(self, guard):
        """Put the arm home, held by brakes, and delete the messages."""
        self.guard = guard
        self.reset()
        for messages in (self.states, self.sent, self.beats, self.guard_states):
            messages[:-1 if messages is self.states else None] = []

    def until_guard_state(self, state):
        try:
            self.probe.until(lambda: (self.guard_states
                                      and self.guard_states[-1].frame_id == state), state)
        except AssertionError as error:
            received = [each.frame_id for each in self.guard_states[-3:]]
            raise AssertionError(f'{error}, but {received}\n{self.guard and self.guard.output}'
                                 ) from None

    def until_rest(self):
        self.probe.until(lambda: np.abs(self.qd).max() < STILL, 'rest')

    def until_phase(self, phase):
        self.probe.until(lambda: self.beats and self.beats[-1].frame_id == phase, phase)

    def reset_guard(self):
        return self.probe.call(Trigger, 'guard/reset')

    @property
    def gap(self):
        """Longest time between two torques."""
        return np.diff([time for time, _ in self.sent]).max()

    @property
    def steps(self):
        """
        Give changes of torque, as shares of what the rate limit allows in that time.

        A torque is computed after the one before was sent, and maybe long before it is sent
        itself: up to two intervals lie between two of them, and at least a period of the states.
        """
        times, torques = map(np.array, zip(*self.sent))
        between = times[1:] - np.concatenate(([-np.inf], times[:-2]))
        allowed = 100.0 * MODEL.effort_limit * np.clip(between, 1.0 / RATE, 0.05)[:, None]
        return np.abs(np.diff(torques, axis=0)) / allowed

    def torques_per_state(self, begin):
        """Return how many torques were sent per state since a time, whenever they arrived."""
        end = time.time()
        self.catch_up()
        sent = [begin <= each < end for each, _ in self.sent]
        states = [begin <= seconds(each.header.stamp) < end for each in self.states]
        # the probe may have missed states
        return sum(sent) / max(sum(states), RATE * (end - begin))

    @property
    def drift(self):
        """How far the arm gets in a second."""
        self.catch_up()
        rest, end = self.q, seconds(self.states[-1].header.stamp) + 1.0
        self.probe.until(lambda: seconds(self.states[-1].header.stamp) > end, 'a second')
        return np.abs(self.q - rest).max()

    def log(self, *words):
        if REPORT:
            with open(REPORT, 'a', encoding='utf-8') as file:
                print(*words, file=file)


def staged():
    """Yield the scene, to which guards come and go."""
    with Probe('guard_probe') as probe, simulator() as plant:
        yield Scene(probe, plant)


def guard(*arguments, **parameters):
    return NodeProcess(GUARD, {'urdf_file': str(ARM), 'timeout': TIMEOUT, **parameters}, arguments)


def controller(**parameters):
    return NodeProcess(CONTROLLER, {'urdf_file': str(ARM), **PATIENT, **parameters})


def in_motion(scene, process, speed=0.6):
    process.wait_for_output(ACTIVE)
    scene.until_guard_state('armed')
    return set_in_motion(scene.probe, process, scene, FAR, speed)
