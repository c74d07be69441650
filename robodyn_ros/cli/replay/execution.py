"""Execution of a replay: the approach to its start, the motion, and the gripper."""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.cli.terminal import agreed, Steps
from robodyn_ros.client.recorder import JointStream, PATH, Recorder
from robodyn_ros.client.sender import Sender
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.nodes.bag import check_bag, Topic, write_bag
from robodyn_ros.teaching import Demonstration, TimedPath
from robodyn_ros.trajectory import least_duration, unwrap_continuous

_LEAST = 1.0      # s, shortest approach
_HERE = 2e-3      # rad or m, distance from the start without an approach
_LEAD = 0.1       # s until the replay starts
_DISCOVERY = 5.0  # s until path times must arrive


def replay(options: argparse.Namespace, steps: Steps, model: RobotModel,
           demonstration: Demonstration, timed: TimedPath) -> bool:
    """Move to the start and replay; return False if the user does not agree."""
    if options.bag:
        check_bag(options.bag)
    gripper = _Gripper(options.gripper, demonstration, timed)

    def tick() -> None:
        steps.tick()
        gripper.update()

    with Sender(model, bool(options.bag), tick, options.enclave, options.namespace) as sender:
        recorder = sender.recorder
        with steps('find the controller'):
            sender.wait_for_controller()
            gripper.connect(recorder)
        here = recorder.references.newest(model.joint_names).position[0]
        positions = unwrap_continuous(timed.positions, here, model.continuous)
        points = approach(model, here, positions[0], options.approach_speed)
        if not (options.yes or agreed(_question(points, timed))):
            return False
        try:
            if points is not None:
                with steps('move to the start') as step:
                    sender.execute(points)
                    step.result = f'{points[0][-1]:.1f} s'
            with steps('replay') as step:
                sender.restart()
                gripper.begin()
                shortfall = sender.execute(_rows(timed, positions))
                step.result = f'{timed.duration:.2f} s'
            if shortfall:
                steps.write_line(f'the arm does not meet its goal tolerance: {shortfall}')
        except KeyboardInterrupt:
            recorder.call_service('hold')
            raise
        finally:
            if options.bag and sender.moved:
                write_bag(options.bag, [Topic(each.topic, each.kind, each.latched, each.messages)
                                        for each in sender.recorded])
    return True


def approach(model: RobotModel, here: NDArray, start: NDArray, part: float
             ) -> tuple[NDArray, ...] | None:
    """Return the points of a motion to the start, at a part of the velocity limits, or None."""
    away = np.abs(start - here)
    if away.max() < _HERE:
        return None
    lasts = max(_LEAST, least_duration(speeds(model), away, part))
    zero = np.zeros((1, model.nv))
    return np.array([lasts]), start[None], zero, zero


def _question(points: tuple[NDArray, ...] | None, timed: TimedPath) -> str:
    way = (f'The arm moves to the start in {points[0][-1]:.1f} s, then replays'
           if points is not None else 'The arm replays')
    return f'{way} {timed.duration:.1f} s. Is its workspace free?'


def _rows(timed: TimedPath, positions: NDArray) -> tuple[NDArray, ...]:
    """Return times, positions, velocities and accelerations of a message."""
    velocities, times = timed.velocities.copy(), _LEAD + timed.times
    velocities[[0, -1]] = 0.0
    if timed.accelerations is None:
        return times, positions, velocities, np.gradient(velocities, times, axis=0)
    return times, positions, velocities, timed.accelerations


class _Gripper:
    """Publishes the positions of a gripper at their places on the path while the arm replays."""

    def __init__(self, topic: str, demonstration: Demonstration, timed: TimedPath):
        self._topic = topic if demonstration.gripper_names else ''
        self._demonstration, self._timed = demonstration, timed
        self._path_times: JointStream | None = None
        self._before: float | None = None  # number of the trajectory before the replay

    def connect(self, recorder: Recorder) -> None:
        """Wait for path times; raise `StateError` without them."""
        if not self._topic:
            return
        self._recorder, stream = recorder, recorder.record_path_time()
        if not recorder.wait(lambda: len(stream), _DISCOVERY):
            raise StateError(f'no path time received within {_DISCOVERY:g} s on {stream.topic}, '
                             'which the gripper follows: use a controller of this version')
        self._path_times = stream

    def begin(self) -> None:
        """Publish from the beginning of the next trajectory on."""
        if self._path_times is not None:
            self._before = float(self._path_times.newest(PATH).effort[-1, 0])

    def update(self) -> None:
        """Publish the present position; called many times per second."""
        if self._path_times is None or self._before is None:
            return
        newest = self._path_times.newest(PATH)
        del self._path_times.messages[:-1]
        if newest.effort[-1, 0] == self._before:
            return
        now = np.interp(newest.position[-1, 0] - _LEAD, self._timed.times, self._timed.recorded)
        self._recorder.publish_joints(
            self._topic, self._demonstration.gripper_names,
            [np.interp(now, self._demonstration.times, each)
             for each in self._demonstration.gripper.T])
