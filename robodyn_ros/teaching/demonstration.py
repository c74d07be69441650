"""A recorded demonstration: its folder, with a JointTrajectory message as YAML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import near_matches, RobodynError
from robodyn_ros.files import read_yaml
from robodyn_ros.trajectory.message_text import trajectory_message

TRAJECTORY, DETAILS = 'trajectory.yaml', 'demonstration.json'
LONGEST = 4000.0  # s, of a recording; `robodyn teach` ends after 3600 s


@dataclass(frozen=True, eq=False)
class Demonstration:
    """
    Positions of an arm that was guided by hand.

    Attributes
    ----------
    joint_names : tuple of str
    times : (n,) array
        Times in s, from 0.
    positions : (n, nv) array
        Positions in rad or m, in the order of the names.
    waypoints : (k,) array
        Times of the marked positions, in s.
    gripper_names : tuple of str
        Joints of the gripper; empty if none was recorded.
    gripper : (n, g) array
        Its positions.

    """

    joint_names: tuple[str, ...]
    times: NDArray
    positions: NDArray
    waypoints: NDArray
    gripper_names: tuple[str, ...] = ()
    gripper: NDArray = field(default_factory=lambda: np.zeros(0))

    def write(self, folder: Path) -> None:
        """Write trajectory.yaml and demonstration.json into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / TRAJECTORY).write_text(trajectory_message(
            self.joint_names, self.times, self.positions), encoding='utf-8')
        (folder / DETAILS).write_text(json.dumps({
            'waypoints': self.waypoints.tolist(), 'gripper_names': self.gripper_names,
            'gripper': self.gripper.tolist()}) + '\n', encoding='utf-8')

    @classmethod
    def read(cls, folder: Path) -> Demonstration:
        """
        Return the demonstration in a folder.

        Raises
        ------
        RobodynError
            A file cannot be read, or is not a JointTrajectory; the message names it.

        """
        path, details_path = folder / TRAJECTORY, folder / DETAILS
        if not path.is_file():
            raise RobodynError(f'{path} does not exist: record it by `robodyn teach {folder}`',
                               path=str(path))
        message = read_yaml(path, 'the folder of a demonstration')
        try:
            names, points = tuple(map(str, message['joint_names'])), message['points']
            times = np.array([each['time_from_start']['sec'] + 1e-9 * each['time_from_start'][
                'nanosec'] for each in points], dtype=float)
            positions = np.array([each['positions'] for each in points], dtype=float)
        except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
            raise RobodynError(
                f'{path} is not a JointTrajectory: it needs joint_names, and points with '
                'positions and time_from_start', path=str(path)) from error
        if not (positions.shape == (len(times), len(names)) and len(times) > 1
                and np.isfinite(positions).all() and (np.diff(times) > 0.0).all()):
            raise RobodynError(f'{path} does not have two or more points with increasing times '
                               f'and {len(names)} finite positions each', path=str(path))
        try:
            details = (json.loads(details_path.read_text(encoding='utf-8'))
                       if details_path.is_file() else {})
            found = cls(names, times - times[0], positions,
                        np.array(details.get('waypoints', ()), dtype=float),
                        tuple(details.get('gripper_names', ())),
                        np.array(details.get('gripper', ()), dtype=float))
        except (OSError, ValueError, TypeError, IndexError, AttributeError,
                RecursionError) as error:
            raise RobodynError(f'{details_path} does not have waypoints and gripper as JSON: '
                               f'{error}; remove it to replay the arm alone',
                               path=str(details_path)) from error
        found._check(folder)
        return found

    def _check(self, folder: Path) -> None:
        """Raise `RobodynError` for a duration, waypoints or gripper that cannot be replayed."""
        problem, count, end = '', len(self.gripper_names), self.times[-1]
        marks, names = self.waypoints, self.joint_names
        if len(set(names)) < len(names):
            problem = f'names a joint twice: {", ".join(names)}'
        elif end > LONGEST:
            problem = f'lasts {end:.4g} s, more than {LONGEST:g} s: its stamps have jumped; cut it'
        elif (marks.ndim != 1 or not ((marks >= 0.0) & (marks <= end)).all()
                or (np.diff(marks) < 0.0).any()):
            problem = f'has waypoints that are no increasing times from 0 to {end:.4g} s'
        elif count and (self.gripper.shape != (len(self.times), count)
                        or not np.isfinite(self.gripper).all()):
            problem = (f'has positions of the gripper of shape {self.gripper.shape}, not '
                       f'{len(self.times), count} finite ones')
        if problem:
            raise RobodynError(f'{folder} {problem}', path=str(folder))

    def in_order(self, joint_names: Sequence[str], name: str) -> NDArray:
        """
        Return the positions in the order of an arm; `name` of the demonstration for messages.

        Raises
        ------
        RobodynError
            It is of an arm with other joints; the message names one.

        """
        for joint in joint_names:
            if joint not in self.joint_names:
                raise RobodynError(f"{name} is of another arm: it has no joint '{joint}'; "
                                   + near_matches(joint, self.joint_names), joint=joint)
        for joint in self.joint_names:
            if joint not in joint_names:
                raise RobodynError(f"{name} is of another arm: this one has no joint '{joint}'; "
                                   + near_matches(joint, joint_names), joint=joint)
        return self.positions[:, [self.joint_names.index(each) for each in joint_names]]
