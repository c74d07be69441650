"""Folder with the state of a commissioning, from which it is resumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
import json
import os
from pathlib import Path
import time
from typing import Any

from robodyn_ros.exceptions import RobodynError, shown
from robodyn_ros.files import read_json

_STATE = 'state.json'


class Folder:
    """
    Results of the steps so far, and files.

    Parameters
    ----------
    path : Path
        Folder; made if there is none.
    robot : list of str
        Selection of the robot, which must not change in the meantime.

    Attributes
    ----------
    path : Path
    done : dict of str to dict
        Results of the completed steps, by name, in their order.

    Raises
    ------
    RobodynError
        The folder belongs to another robot, or its state cannot be read.

    """

    def __init__(self, path: Path, robot: list[str]):
        self.path, self._robot = path, robot
        path.mkdir(parents=True, exist_ok=True)
        self.done: dict[str, dict] = {}
        file = path / _STATE
        if file.exists():
            before, self.done = read_json(file, _state, 'remove it, or give another --folder')
            if before != robot:
                raise RobodynError(f'{path} belongs to another arm or other parameters '
                                   f'({" ".join(before)}): give another --folder', path=str(path))

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextmanager
    def locked(self) -> Iterator[None]:
        """
        Keep other processes from using the folder, in a `with` block.

        Raises
        ------
        RobodynError
            Another process uses it.

        """
        handle = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RobodynError(f'another commissioning runs in {self.path}: end it, or give '
                                   'another --folder', path=str(self.path)) from error
            yield
        finally:
            os.close(handle)

    def complete(self, name: str, result: dict, moved: bool = True) -> None:
        """Record the result of a step, and the date; nothing is written before the arm moved."""
        self.done[name] = {**result, 'date': time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}
        if moved or (self.path / _STATE).exists():
            self._write()

    def forget_from(self, name: str, order: list[str]) -> None:
        """Discard the results of a step and of those after it."""
        for each in order[order.index(name):]:
            self.done.pop(each, None)
        self._write()

    def _write(self) -> None:
        text = json.dumps({'robot': self._robot, 'done': self.done}, indent=1)
        new = self.path / f'{_STATE}.new'
        new.write_text(text + '\n', encoding='utf-8')
        new.replace(self.path / _STATE)  # never half a state


def _state(found: Any) -> tuple[list[str], dict[str, dict]]:
    """Return the robot and the results in the content of a state."""
    if not isinstance(found, dict):
        raise ValueError(f'it is {shown(found)}, not the state of a commissioning')
    robot, done = found['robot'], found['done']
    if not (isinstance(robot, list) and all(isinstance(each, str) for each in robot)):
        raise ValueError(f'robot is {shown(robot)}, not a list of texts')
    if not isinstance(done, dict):
        raise ValueError(f'done is {shown(done)}, not the results of steps')
    for step, result in done.items():
        if not isinstance(result, dict) or not isinstance(result.get('parameters', {}), dict):
            raise ValueError(f'{shown(step)} has {shown(result)}, not the result of a step')
        # of a file in the folder, which is read
        if not isinstance(name := result.get('urdf_file', ''), str) or Path(name).name != name:
            raise ValueError(f'{shown(step)} has the URDF {shown(name)}, which is not the name '
                             'of a file in the folder')
    return robot, done
