"""What the steps of a commissioning share: the arm, the folder, and the parameters so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from robodyn_ros.commissioning.folder import Folder
from robodyn_ros.commissioning.measures import loop_delay
from robodyn_ros.commissioning.ranges import restricted
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.files import parameter_file
from robodyn_ros.identification.dry_friction import DryFriction
from robodyn_ros.identification.recording import Run
from robodyn_ros.identification.results import JOINT_PARAMETERS
from robodyn_ros.inspection.live import LiveResult
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.text import number

# values of parameters of the controller by name
Values = Mapping[str, object]

RESULT = 'arm.yaml'
# while the masses are wrong, what is unknown is compensated
OBSERVED = {'ki': [0.0], 'disturbance_observer': True}
_LEARNED = ('identify1', 'identify2', 'gains', 'after')  # steps with parameters


@dataclass(eq=False)
class Work:
    """
    A commissioning in progress.

    Attributes
    ----------
    robot : Robot
        Selection of the robot, with its URDF as given.
    dynamics : Dynamics
        Its dynamics.
    arm : Arm
    folder : Folder
    tick : callable
        Called with the progress of long computations.
    friction : DryFriction
        Dry friction to look for.
    speed, duration : float
        Part of the velocity limits, and s, of the motion that is compared.
    pace : float
        Factor on the velocities of the excitations.
    excitation, search : float
        Duration of an excitation and of the search for it, in s.
    seed : int
        Seed of the excitations.
    given : mapping
        Further parameters of the controller; those that are found take precedence.
    ranges : sequence of str
        Positions between which joints move, see `ranges.restricted`.
    plans : dict of str to object
        Planned motions of the steps that were announced, by name of the step.
    started : bool
        Whether the controller runs.

    """

    robot: Robot
    dynamics: Dynamics
    arm: Arm
    folder: Folder
    tick: Callable[[str], None] = lambda text: None
    friction: DryFriction = DryFriction('smooth')
    speed: float = 0.3
    duration: float = 3.0
    pace: float = 1.0
    excitation: float = 20.0
    search: float = 10.0
    seed: int = 0
    given: Values = field(default_factory=dict)
    ranges: Sequence[str] = ()
    plans: dict[str, Any] = field(default_factory=dict)
    started: bool = False

    @property
    def model(self) -> RobotModel:
        """Return the model of the URDF."""
        return self.dynamics.model

    def values(self) -> dict[str, object]:
        """Return the parameters of the controller: those given, and those found so far."""
        return {**self.given, **self.found()}

    def found(self) -> dict[str, object]:
        """Return the parameters of the controller found so far; all can be set while it runs."""
        found: dict[str, object] = {}
        if 'before' in self.folder.done:
            found.update(OBSERVED)
        for name in _LEARNED:
            found.update(self.folder.done.get(name, {}).get('parameters', {}))
        return found

    def identified_robot(self) -> Robot:
        """Return the robot with the URDF that was identified last, if any."""
        done = self.folder.done
        name = done.get('identify2', done.get('identify1', {})).get('urdf_file')
        return replace(self.robot, urdf=self.folder / name) if name else self.robot

    def best_dynamics(self) -> Dynamics:
        """Return the dynamics with the masses that were identified last, if any."""
        robot = self.identified_robot()
        return self.dynamics if robot is self.robot else Dynamics(robot.load())

    def restart(self) -> None:
        """Start the controller with all that was found so far; the present one hands over."""
        robot = self.identified_robot() if 'gains' in self.folder.done else self.robot
        self.arm.start(robot.urdf, self.values())
        self.started = True

    def ensure_started(self) -> None:
        """Start the controller unless it runs: after a resumption."""
        if not self.started:
            self.restart()

    def within_ranges(self, dynamics: Dynamics) -> Dynamics:
        """Return dynamics whose position limits are those of `ranges`."""
        return Dynamics(restricted(dynamics.model, self.ranges)) if self.ranges else dynamics

    def write_result(self) -> Path:
        """Write the parameters for the controller; return the path."""
        robot, path = self.identified_robot(), self.folder / RESULT
        values = {**robot.parameters(), **self.values()}
        order = sorted(values, key=lambda name: '.' not in name)
        path.write_text(parameter_file({name: values[name] for name in order}, self._sources()),
                        encoding='utf-8')
        return path

    def _sources(self) -> list[str]:
        """Return where and when the parameters were measured, and their intervals."""
        done = self.folder.done
        lines = [f'From robodyn commission of {self.robot.urdf.absolute()}; see report.html',
                 f'Joints: {", ".join(self.model.joint_names)}']
        if found := done.get('identify2'):
            lines.append('Friction, rotors and masses: excite2.csv, identified '
                         + found.get('date', ''))
            lines += [f'{name}: half of the 95 % interval is ['
                      + ', '.join(f'{margin:.2g}' for _, margin in found['joints'][kind]) + ']'
                      for kind, name in JOINT_PARAMETERS.items() if kind in found['joints']]
        if 'gains' in done and (measured := done.get('steps')):
            lines.append('natural_frequency: from a delay of '
                         f'{number(1e3 * loop_delay(measured))} ms, measured '
                         + measured.get('date', ''))
        if after := done.get('after'):
            lines.append(f'RMS error of the worst joint (mrad|mm): '
                         f'{number(max(done["before"]["rms"]))} before, '
                         f'{number(max(after["rms"]))} with these parameters, '
                         + after.get('date', ''))
        return lines


class Arm(Protocol):
    """Interface of an arm with its controller."""

    def check_live(self, dynamics: Dynamics) -> LiveResult | None:
        """Return the findings of the live check; None for an arm in simulated time."""

    def start(self, urdf: Path, values: Values) -> None:
        """
        Start the controller with a URDF and parameters, and wait until it holds the arm.

        A controller that runs holds the arm until the new one is ready to take over.

        Raises
        ------
        RobodynError
            The activation was refused; with the reason.

        """

    def loop(self) -> list[str]:
        """Return what the controller found when it measured the loop, as lines."""

    def change(self, values: Values) -> None:
        """Set parameters of the running controller."""

    def execute(self, points: tuple[NDArray, ...]) -> Run:
        """
        Execute times, positions, velocities and accelerations, and record; raise if refused.

        The first point is where the arm has come to rest after an approach.
        """

    def watch(self, seconds: float, floats: bool = False) -> Run:
        """Record the resting arm, or the floating one, for a time in s; then it holds."""

    def hold(self) -> bool:
        """Decelerate and hold; return whether a controller holds the arm."""

    def stop(self) -> None:
        """End the controller."""
