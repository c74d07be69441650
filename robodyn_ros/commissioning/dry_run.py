"""A simulated arm that differs from its URDF at random, behind the simulator node."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.identification.results import identified_urdf
from robodyn_ros.model.robot import Robot
from robodyn_ros.nodes.children import Children
from robodyn_ros.nodes.domain import isolate
from robodyn_ros.simulation.motion import plan_motion

STEP = 0.002  # s
_MASS, _ROTOR = 0.1, (0.02, 0.08)   # relative; kg m^2 or kg
_FRICTION = (0.01, 0.03)            # of the effort limit
_LARGEST = 100.0                    # N m or N, effort limit of which friction is a part


class Truth(NamedTuple):
    """
    Parameters of the simulated arm.

    Attributes
    ----------
    masses : (nb,) array
        Factors of mass and inertia.
    armature, viscous, coulomb : (nv,) array

    """

    masses: NDArray
    armature: NDArray
    viscous: NDArray
    coulomb: NDArray

    @classmethod
    def draw(cls, dynamics: Dynamics, seed: int, locked: bool = False) -> Truth:
        """Return the parameters of a seed; with locked joints, the masses of the URDF."""
        rng, model = np.random.default_rng(seed), dynamics.model
        size = np.minimum(model.effort_limit, _LARGEST)
        mass = 0.0 if locked else _MASS
        return cls(rng.uniform(1.0 - mass, 1.0 + mass, model.nb),
                   rng.uniform(*_ROTOR, model.nv), rng.uniform(*_FRICTION, model.nv) * size,
                   rng.uniform(*_FRICTION, model.nv) * size)


class SimulatedArm:
    """
    Implements `arm.Arm` with simulator and controller in lockstep, on a ROS domain of its own.

    Parameters
    ----------
    robot : Robot
    dynamics : Dynamics
        Dynamics of its URDF.
    folder : Path
        Folder for URDF, parameters and logs.
    tick : callable
        Called many times per second while waiting.
    seed : int
        Seed of the differences from the URDF.

    """

    def __init__(self, robot: Robot, dynamics: Dynamics, folder: Path, tick: Callable[[], None],
                 seed: int):
        isolate()
        from robodyn_ros.commissioning.ros_arm import RosArm  # needs ROS
        self._robot, self._dynamics, self._folder = robot, dynamics, folder
        self._seed, self._children, self._tick = seed, Children(), tick
        self._arm = RosArm(robot, dynamics.model, folder, self._poll, lockstep=True)
        self.check_live, self.change, self.loop = (
            self._arm.check_live, self._arm.change, self._arm.loop)
        self.execute, self.watch, self.hold = (
            self._arm.execute, self._arm.watch, self._arm.hold)

    def start(self, urdf: Path, values) -> None:
        """Start simulator and controller anew, and wait until the arm is held."""
        self.stop()  # a simulator in lockstep waits for one controller
        self._start_simulator()
        # in lockstep no loop is measured, and none is late; errors are large until rotors and
        # friction are known
        self._arm.start(urdf, {'constraints.trajectory': [0.0], 'loop_delay': 0.0, **values})

    def stop(self) -> None:
        """End both; the brakes of the next simulated arm hold it where it begins."""
        self._arm.stop()
        self._children.stop()

    def _poll(self) -> None:
        self._children.check()
        self._tick()

    def _start_simulator(self) -> None:
        model = self._dynamics.model
        truth = Truth.draw(self._dynamics, self._seed, bool(self._robot.locked))
        path = self._folder / 'dry_run.urdf'
        path.write_text(true_urdf(self._robot, self._dynamics, truth), encoding='utf-8')
        (self._folder / 'dry_run.json').write_text(json.dumps(
            {key: value.tolist() for key, value in truth._asdict().items()}), encoding='utf-8')
        start = plan_motion(self._dynamics, 3.0, 0.3).start
        values = {**Robot(path, self._robot.base, self._robot.tip, self._robot.locked,
                          self._robot.gravity).parameters(),
                  'step': STEP, 'lockstep': True, 'armature': truth.armature.tolist(),
                  'initial_positions': [f'{name}:{q!r}' for name, q in zip(
                      model.joint_names, start.tolist())]}
        arguments = ['--ros-args']
        for key, value in values.items():
            arguments += ['-p', f'{key}:={json.dumps(value)}']
        self._children.start('simulator', 'robodyn_ros.nodes.simulator.node', arguments,
                             self._folder / 'simulator.log')


def true_urdf(robot: Robot, dynamics: Dynamics, truth: Truth) -> str:
    """Return the URDF with the masses and the friction of the simulated arm."""
    model = dynamics.model
    if robot.locked:  # bodies on both sides of a joint are one: their masses stay
        root = ElementTree.parse(robot.urdf).getroot()
    else:
        phi = dynamics.parameters.reshape(-1, 10) * truth.masses[:, None]
        root = ElementTree.fromstring(identified_urdf(robot.urdf, model, phi.ravel()))
    for joint in root.findall('joint'):
        if joint.get('name') not in model.joint_names:
            continue
        j = model.joint_names.index(joint.get('name'))
        for old in joint.findall('dynamics'):
            joint.remove(old)
        ElementTree.SubElement(joint, 'dynamics', damping=repr(float(truth.viscous[j])),
                               friction=repr(float(truth.coulomb[j])))
    return ElementTree.tostring(root, encoding='unicode')
