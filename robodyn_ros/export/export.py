"""From a robot model to the files of its export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_ros import __version__
from robodyn_ros.control import ArmController, with_slots
from robodyn_ros.control.compiled import REQUIRED
from robodyn_ros.control.shared_block import SharedLayout
from robodyn_ros.control.steps.laws import NAMES
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.export import c_files, templates
from robodyn_ros.export.c_function import CFunction, operation_count
from robodyn_ros.export.control_cycle import default_controller, ExportedCycle
from robodyn_ros.export.dynamics_functions import dynamics_functions
from robodyn_ros.export.example import example
from robodyn_ros.export.ros2_control_package import package_files
from robodyn_ros.export.syntax import comment, identifier
from robodyn_ros.export.templates import LIBM
from robodyn_ros.model import RobotModel

CYCLE = 'cycle'
DEFAULT_FUNCTIONS = (CYCLE, 'inverse_dynamics', 'gravity', 'mass_matrix', 'forward_dynamics',
                     'forward_kinematics')


@dataclass(frozen=True, eq=False)
class Export:
    """
    What is exported of a robot.

    Parameters
    ----------
    model : RobotModel
        The robot; every link that moves gets room for a payload.
    functions : sequence of str
        'cycle', and methods of `Dynamics`, see `dynamics_functions`.
    laws : sequence of str
        Laws of the cycle, besides gravity compensation and computed torque.
    prefix : str
        Begins all names in C; '': the robot's name.
    controller : ArmController, optional
        Of this robot, not used yet; its gains and settings become those of the first program.

    Raises
    ------
    ParameterError
        A function, link or law that does not exist; with the first use of `dynamics`, `cycle`.

    """

    model: RobotModel
    functions: Sequence[str] = DEFAULT_FUNCTIONS
    laws: Sequence[str] = ()
    prefix: str = ''
    controller: ArmController | None = None

    @cached_property
    def name(self) -> str:
        """Return what begins all names in C."""
        return identifier(self.prefix or self.model.name).lower()

    @cached_property
    def arm(self) -> Dynamics:
        """Return the dynamics, with room for payloads if they are made here."""
        return (Dynamics(with_slots(self.model)) if self.controller is None
                else self.controller.dynamics)

    @property
    def loads(self) -> list[float]:
        """Return gravity and payloads of the model, as the functions take them."""
        model = self.arm.model
        return [*model.gravity.tolist(), *np.ravel(model.payload_parameters).tolist()]

    @cached_property
    def dynamics(self):
        """Return the functions of the dynamics, with comments."""
        return dynamics_functions(
            self.arm, [each for each in self.functions if each != CYCLE], self.name)

    @cached_property
    def cycle(self) -> ExportedCycle | None:
        """Return the control cycle; None if it is not exported."""
        if CYCLE not in self.functions:
            return None
        return ExportedCycle.of(self.controller or default_controller(self.arm), self.laws,
                                self.name)

    def groups(self) -> dict[str, list[CFunction]]:
        """Return the functions of each source file, by what its name ends with."""
        found = {'dynamics': [each.function for each in self.dynamics]}
        if self.cycle is not None:
            found |= {'laws': self.cycle.laws, 'parts': self.cycle.parts,
                      'cycle': [*self.cycle.turns, self.cycle.cycle, self.cycle.command]}
        return {name: functions for name, functions in found.items() if functions}

    def operations(self) -> dict[str, int]:
        """Return the number of operations of each function."""
        return {function.name: operation_count(function.program)
                for functions in self.groups().values() for function in functions}

    def header_files(self) -> dict[str, str]:
        """Return the header, and the file with the constants, as texts by name."""
        name, model = self.name, self.model
        about = [f'{comment(model.name)}: written by robodyn export {__version__}; do not '
                 'edit.', 'SI units; arrays in the order of the joints, matrices row by row.',
                 'Nothing here allocates memory, keeps a state of its own or calls itself; of '
                 'the C library', f'it takes {", ".join(LIBM)}.']
        inner = [] if self.cycle is None else [*self.cycle.laws, *self.cycle.parts]
        return {
            f'{name}.h': c_files.header(name, about, list(map(comment, model.joint_names)),
                                        len(self.loads), self.dynamics, self.cycle),
            f'{name}_internal.h': c_files.internal_header(name, inner),
            f'{name}_data.c': c_files.data(name, self.loads, self.cycle)}

    def public(self) -> list[str]:
        """Return the names of the functions of the header."""
        return [*(each.function.name for each in self.dynamics),
                *([] if self.cycle is None else
                  [each.name for each in self.groups()['cycle']])]

    def c_sources(self) -> dict[str, str]:
        """Return headers and sources in C, as texts by name."""
        return {**self.header_files(), **{
            f'{self.name}_{group}.c': c_files.source(self.name, _ABOUT[group], functions)
            for group, functions in self.groups().items()}}

    def ros2_control_files(self) -> dict[str, str]:
        """
        Return all files of a package with a controller of ros2_control, as texts by path.

        Raises ParameterError if the cycle is not exported.
        """
        if self.cycle is None:
            raise ParameterError('a controller of ros2_control needs the function cycle',
                                 value=self.functions)
        laws = (*REQUIRED, *self.laws)
        layout = SharedLayout.of(self.cycle.compiled, self.model.joint_names,
                                 [each for each in NAMES if each in laws])
        return package_files(self.name, self.model, layout, self.c_sources())

    def c_files(self) -> dict[str, str]:
        """Return all files of a project in C, as texts by name."""
        name, files = self.name, self.c_sources()
        sources = [each for each in files if each.endswith('.c')]
        files['main.c'] = example(self)
        files['CMakeLists.txt'] = templates.filled('c/CMakeLists.txt', {
            'NAME': name, 'SOURCES': ' '.join(sources)})
        return files


_ABOUT = {'dynamics': 'Dynamics.', 'laws': 'Laws of the control cycle: terms of the torque.',
          'parts': 'Parts of the control cycle.', 'cycle': 'The control cycle.'}
