"""Scripts of golden logs: requests to a controller, and events at its arm."""

from dataclasses import asdict, dataclass, field, replace
import json
from pathlib import Path

import numpy as np
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel

URDFS = Path(__file__).resolve().parents[2] / 'urdf'
# bent, away from limits and singularities
_START = {'robodyn6': (0.3, 0.2, 0.7, -0.2, 0.9, 0.1),
          'robodyn7': (0.3, 0.5, -0.2, -1.0, 0.4, 0.6, -0.1)}
ROBOTS = tuple(_START)


@dataclass(frozen=True)
class Scenario:
    """
    A script for one controller and its arm; plain data, so that the log can hold it.

    Attributes
    ----------
    seconds : float
        Duration.
    requests : tuple of (float, str, dict)
        Time (s), name and arguments of a request, see `requests`.
    setup : dict
        Of the controller: design values of `make_gains` as gains, fields of `Settings` as
        settings, of `make_task_gains` as task_gains; own_law as module:function.
    arm : dict
        Of the simulated arm, for recording only, see `simulated.Arm`; effort: whether states
        carry the effort of the joints.
    spells : tuple of (float, float, str, dict)
        Begin and end (s) of a defect of the states, or of a push, with its options.
    name : str
        That of the function that makes it.

    """

    seconds: float
    requests: tuple = ()
    setup: dict = field(default_factory=dict)
    arm: dict = field(default_factory=dict)
    spells: tuple = ()
    name: str = ''

    def plain(self):
        """Return it as JSON has it."""
        return json.loads(json.dumps(asdict(self)))

    def is_that_of(self, header):
        """Return whether a log was made by this script; NaN is equal to itself."""
        return json.dumps(header['scenario']) == json.dumps(self.plain())


class Robot:
    """
    An arm by name, with numbers for scripts.

    Attributes
    ----------
    model : RobotModel
    start : (nv,) array
        Where it stands at first.
    rotors : (nv,)
        Inertia of its rotors: without, light wrists are soft.

    """

    def __init__(self, name):
        self.name = name
        self.model = RobotModel.from_urdf(URDFS / f'{name}.urdf')
        self.nv, self.names = self.model.nv, list(self.model.joint_names)
        self.tip, self.wrist = self.model.tip, self.model.body_names[-1]
        self.elbow = self.model.body_names[-4]
        self.limit, self.speed = self.model.effort_limit, self.model.velocity_limit
        self.rotors = rounded(0.002 * self.limit)
        self.start = np.array(_START[name])
        self._dynamics = Dynamics(self.model)

    def away(self, share, seconds, start=None):
        """Return the goal that takes a share of the velocity limits, joints in turn up or down."""
        start = self.start if start is None else start
        turns = np.resize([1.0, -1.0], self.nv)
        return rounded(start + turns * share * self.speed * seconds * 8.0 / 15.0)

    def gravity_torque(self, q=None):
        """Return g(q)."""
        return self._dynamics.gravity(self.start if q is None else np.array(q))

    def gravity_torque_under(self, gravity):
        """Return g(q) at the start as it would be under another gravity."""
        zero = np.zeros(self.nv)
        return Dynamics(replace(self.model, gravity=np.array(gravity))).inverse_dynamics(
            self.start, zero, zero)

    def inertia(self, q=None):
        """Return M(q)."""
        return self._dynamics.mass_matrix(self.start if q is None else np.array(q))

    def pose(self, q=None, link=None):
        """Return the pose of a link, (4, 4)."""
        return self._dynamics.forward_kinematics(self.start if q is None else np.array(q),
                                                 link or self.tip)


def rounded(values, digits=6):
    """Return numbers as a script has them: short, and the same on every machine."""
    return np.round(np.asarray(values, dtype=float), digits).tolist()


def point(goal, seconds, still=True):
    """Return a trajectory point; with velocity and acceleration zero, or positions only."""
    zero = [0.0] * len(goal)
    return {'positions': list(goal), 'velocities': zero if still else [],
            'accelerations': zero if still else [], 'time_from_start': seconds}


def go(goal, seconds):
    """Return the arguments of a motion from rest to rest."""
    return {'points': [point(goal, seconds)]}
