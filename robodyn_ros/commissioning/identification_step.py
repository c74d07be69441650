"""Identification of a run, as a step of the commissioning."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from robodyn_ros.commissioning.folder import Folder
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.identification.dry_friction import DryFriction
from robodyn_ros.identification.estimate import Estimate
from robodyn_ros.identification.identified import identify
from robodyn_ros.identification.recording import Run
from robodyn_ros.identification.report import described, report
from robodyn_ros.identification.results import check_not_locked, identified_urdf, parameters
from robodyn_ros.identification.verdict import validation_failures
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot

URDF, PICTURE = 'better.urdf', 'identification.png'


class IdentificationStep:
    """
    Identification of friction, rotors and, without locked joints, masses.

    Parameters
    ----------
    robot : Robot
    model : RobotModel
    dynamics : Dynamics
        Dynamics of the URDF, which is the prior.
    friction : DryFriction
        Dry friction to look for.
    tick : callable
        Called with the progress.

    """

    def __init__(self, robot: Robot, model: RobotModel, dynamics: Dynamics,
                 friction: DryFriction, tick: Callable[[str], None]):
        self._robot, self._model, self._dynamics = robot, model, dynamics
        self._friction, self._tick = friction, tick

    def identify(self, run: Run, folder: Folder) -> tuple[list[str], dict]:
        """
        Identify, write the better URDF and a picture; return lines and numbers.

        Raises
        ------
        StateError
            The result does not explain the part of the recording that is held back.

        """
        run = run.moving()  # rest at its end would be all that is held back
        effort = run.effort if np.isfinite(run.effort).any() else run.torque
        recording = run._replace(effort=effort).recording(self._model.joint_names)
        groups = ['friction', 'armature', *(['inertia'] if self.finds_inertia() else [])]
        data, found, remark = identify(self._dynamics, recording, groups, dry=self._friction,
                                       tick=self._tick)
        text = [*described(data, recording), *([remark] if remark else []), '',
                *report(self._model, found, dry=data.dry, listed='the report names them')]
        if validation_failures(self._model.joint_names, found):
            raise StateError('the identification failed', report=text)
        result = {'parameters': parameters(found, data.dry), 'joints': found.joints,
                  'unexcited': found.unexcited, 'base': found.base,
                  'held_back': found.held_back.tolist(), 'urdf': found.urdf.tolist(),
                  'delay': found.delay}
        if 'inertia' in groups:
            result['urdf_file'] = URDF
            (folder / URDF).write_text(identified_urdf(
                self._robot.urdf, self._model, found.arm.phi), encoding='utf-8')
        self._draw(found, folder)
        return text, result

    def finds_inertia(self) -> bool:
        """Return whether masses can be written into a URDF: no movable joint is locked."""
        try:
            check_not_locked(self._robot.urdf, self._model)
        except ParameterError:
            return False
        return True

    def _draw(self, found: Estimate, folder: Folder) -> None:
        if find_spec('matplotlib') is not None:
            from robodyn_ros.identification.report import plot
            plot(self._model, found, folder / PICTURE)
