"""Export of a demonstration as an episode of a LeRobot data set, by the library's own API."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.teaching.demonstration import Demonstration


def export(folder: Path, demonstration: Demonstration, robot: str, task: str,
           fps: int = 30) -> int:
    """
    Write a data set with one episode; return the number of frames.

    `observation.state` are the positions of arm and gripper, `action` those of the next frame.

    Parameters
    ----------
    folder : Path
        New folder of the data set.
    demonstration : Demonstration
        The episode.
    robot : str
        Type of the robot.
    task : str
        Description of the task.
    fps : int
        Frames per second.

    Raises
    ------
    RobodynError
        lerobot is not installed, or the folder exists.

    """
    if folder.exists():
        raise RobodynError(f'{folder} exists already: choose a new folder for the data set',
                           path=str(folder))
    make = _dataset_class().create
    names, rows = _frames(demonstration, fps)
    feature = {'dtype': 'float32', 'shape': (len(names),), 'names': names}
    dataset = make(repo_id=f'local/{folder.name}', fps=fps, root=folder, robot_type=robot,
                   features={'observation.state': feature, 'action': dict(feature)},
                   use_videos=False)
    # before version 0.4 the task is an argument
    separate = 'task' in inspect.signature(dataset.add_frame).parameters
    for state, action in zip(rows, np.concatenate([rows[1:], rows[-1:]])):
        frame: dict[str, Any] = {'observation.state': state, 'action': action}
        if separate:
            dataset.add_frame(frame, task=task)
        else:
            dataset.add_frame({**frame, 'task': task})
    dataset.save_episode()
    if hasattr(dataset, 'finalize'):  # data sets of version 3
        dataset.finalize()
    return len(rows)


def _frames(demonstration: Demonstration, fps: int) -> tuple[list[str], NDArray]:
    """Return the names of the columns, and rows of float32 at a rate."""
    columns, names = demonstration.positions, [*demonstration.joint_names]
    if demonstration.gripper_names:
        columns = np.column_stack([columns, demonstration.gripper])
        names += demonstration.gripper_names
    times = np.arange(0.0, demonstration.times[-1], 1.0 / fps)
    rows = np.column_stack([np.interp(times, demonstration.times, each) for each in columns.T])
    return names, rows.astype(np.float32)


def _dataset_class() -> Any:
    try:
        from lerobot.datasets.lerobot_dataset import LeRobotDataset
    except ImportError as error:
        raise RobodynError(f'a LeRobot data set needs the library lerobot, and {error}: '
                           'pip install lerobot') from error
    return LeRobotDataset
