"""An arm whose sensors lie, under a controller that receives its states; without ROS."""

from functools import lru_cache
from pathlib import Path
import sys

from closed_loop import ARM, BENT
from design import settings_of
import numpy as np
from robodyn_ros.control import ArmController
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import with_slots
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import FaultSchedule, parse_fault, Plant, Sensors, SensorSettings
from robodyn_ros.simulation.reports import FaultyReports, StateReport
from robodyn_ros.trajectory import TrajectoryPoint

STEP = 5e-4        # s, of the arm
SPRINT = 500.0     # rad/s^2 with which a motor turns its own rotor
TURN = 2.0 * np.pi
_COPIED = 5e-5     # s between copies of a state
_EPOCH, _BEGIN = 1.7e9, 100.0  # s, between the clocks and at the start
_PANDA = 'cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf'
_LOCKED = {'robodyn7': {}, 'panda': {'panda_finger_joint1': 0.0}}
POSES = {'robodyn7': BENT, 'panda': np.array([0.0, -0.4, 0.2, -1.9, 0.3, 1.8, 0.5])}


def path_of(robot):
    """Return the URDF of a robot; None where the examples are not installed."""
    places = [ARM] if robot == 'robodyn7' else [Path(place) / _PANDA for place in sys.path]
    return next((each for each in places if each.is_file()), None)


@lru_cache(maxsize=None)
def dynamics_of(robot, continuous=()):
    """Return the dynamics of a robot, with some of its joints made continuous."""
    text = path_of(robot).read_text(encoding='utf-8')
    for joint in continuous:
        text = text.replace(f'<joint name="{joint}" type="revolute">',
                            f'<joint name="{joint}" type="continuous">')
    return Dynamics(with_slots(RobotModel.from_urdf(text, locked=_LOCKED[robot])))


class LyingArm:
    """
    A closed loop, from activation on.

    Parameters
    ----------
    robot : str
        A key of `POSES`.
    faults : sequence of str
        What goes wrong, and when: as a simulator takes it.
    rate : float
        States per second.
    jitter : float
        Part of the period over which the time of a state is spread.
    sensors : dict
        Of `SensorSettings`.
    lag : float
        Time constant of a filter of the velocity in the driver, s.
    twice : bool
        Whether each state is reported twice, the second time with a new stamp.
    copies : int
        How often each state is received, 50 us apart, each time with a new stamp.
    starved : float
        Longest pause of the controller in s; one of twenty states begins one. Of the states that
        come meanwhile the newest is received, after it.
    continuous : tuple of str
        Joints whose position is one angle.
    pose : (nv,), optional
        Where the arm is at first.
    sprint : float
        Acceleration with which a motor turns its own rotor, rad/s^2; infinite: no rotors.
    gains, plant : dict
        Of the controller, and physics of the joints.
    effort : float
        Factor of the efforts that are reported; not a number: none are.
    cycle : dict
        Of `Settings`.
    **plausible
        Of `PlausibilitySettings`.

    """

    def __init__(self, robot='robodyn7', faults=(), rate=500.0, jitter=0.0, sensors=None, lag=0.0,
                 twice=False, copies=1, starved=0.0, continuous=(), pose=None, sprint=SPRINT,
                 gains=None, plant=None, effort=1.0, floating=False, cycle=None, **plausible):
        dynamics = dynamics_of(robot, continuous)
        self.model = model = dynamics.model
        armature = model.effort_limit / sprint
        self.control = ArmController(dynamics, settings_of(
            **{'mode': 'gravity_compensation' if floating else 'computed_torque',
               'armature': armature, 'friction_scale': 0.0,
               'constraints__stopped_velocity_tolerance': 0.0, **(gains or {}), **plausible,
               **(cycle or {})}))
        self.plant = Plant(model, STEP, armature=armature,
                           **{'friction': 0.0, 'damping': 0.0, **(plant or {})})
        self.plant.reset(POSES[robot] if pose is None else pose, brakes=True)
        names = model.joint_names
        self._sensors = Sensors(model.nv, SensorSettings(**(sensors or {})))
        self._schedule = FaultSchedule(parse_fault(each, names) for each in faults)
        self._faulty, self._effort = FaultyReports(), effort
        self._lag, self._twice, self._filtered = lag, twice, None
        self._wraps = np.isin(names, continuous)
        self.period, self._jitter = 1.0 / rate, jitter
        self._random = np.random.default_rng(0)
        self._copies, self._starved, self._pause = copies, starved, 0.0
        self._steps = self._states = 0
        self.torque, self.log = None, []
        for _ in range(2):
            self._receive(permitted=False)
            self._steps += 1
        seen = self.control.status.states
        self.control.activate(self.now - float(seen.offset), np.array(seen.q), np.array(seen.qd),
                              self.now)
        self.torque = self.control.gravity_torque()
        self.plant.release()

    @property
    def time(self):
        """Seconds since the start."""
        return self._steps * STEP

    @property
    def now(self):
        """Time of the local clock, s."""
        return _BEGIN + self.time

    @property
    def seen(self):
        """Memory of the plausibility of states."""
        return self.control.status.states.plausibility

    # --- the loop ---------------------------------------------------------------------------

    def run(self, seconds):
        """Go on for a while."""
        due, plant, wait = self._due(), self.plant, self.control.cycle.wait
        states, log = self.control.status.states, self.log
        for _ in range(round(seconds / STEP)):
            assert plant.step(self.torque), plant.fault
            self._steps += 1
            time = self.time
            if time >= due and time >= self._pause:
                self._receive()
                self._states = max(self._states, int(time / self.period) + 1)
                due = self._due()
                if self._starved and self._random.random() < 0.05:
                    self._pause = time + self._random.uniform(0.0, self._starved)
            elif time >= self._pause:
                torque = wait(_BEGIN + time)
                self.torque = self.torque if torque is None else torque.copy()
            log.append((time, plant.q.copy(), plant.qd.copy(), self.torque,
                        float(states.kind)))
        return self

    def _due(self):
        late = self._jitter * self._random.uniform(-0.5, 0.5)
        return (self._states - 1 + late) * self.period - 1e-9

    def _receive(self, permitted=True):
        self._states += 1
        for k, report in enumerate(each for each in self._reports() for _ in range(self._copies)):
            state = self.control.host.state
            state.q[:], state.qd[:], state.effort[:] = (
                report.position, report.velocity, report.effort)
            late = 1e-4 * (k // self._copies) + _COPIED * (k % self._copies)
            torque = self.control.receive(
                self.now + late, 1e-9 * report.stamp + _COPIED * (k % self._copies) + _EPOCH,
                self.now + late + _EPOCH, permitted)
            self.torque = self.torque if torque is None else torque.copy()

    def _reports(self):
        """Return what is reported now."""
        sensors, plant = self._sensors, self.plant
        if not (self._twice and self._states % 2 == 0) and not sensors.measure(
                self.time, plant.q, plant.qd, plant.applied):
            return []
        if not self._twice or self._states % 2:
            velocity = sensors.velocity
            if self._lag and self._filtered is not None:
                share = -np.expm1(-self.period / self._lag)
                velocity = self._filtered + share * (velocity - self._filtered)
            self._filtered = velocity.copy()
        q = sensors.position.copy()
        if self._wraps.any():
            q = np.where(self._wraps, (q + np.pi) % TURN - np.pi, q)
        report = StateReport(self.model.joint_names, q, self._filtered.copy(),
                             self._effort * sensors.effort, round(1e9 * self.now))
        self._schedule.update(self.time)
        return self._faulty.apply(self.time, report, self._schedule.active)

    def go(self, seconds, share=0.6):
        """Move from rest to rest, on the side with more room; return why not, '' if it does."""
        model, q = self.model, self.plant.q
        # along a quintic the fastest is 15/8 of the mean
        way = share * model.velocity_limit * seconds * 8.0 / 15.0
        low, high = np.maximum(model.lower, q - 3.0), np.minimum(model.upper, q + 3.0)
        return self.follow(q + np.where(high - q > q - low, np.minimum(way, 0.8 * (high - q)),
                                        -np.minimum(way, 0.8 * (q - low))), seconds)

    def follow(self, goal, seconds):
        """Move to a goal from rest to rest; return why not, '' if it does."""
        zero = np.zeros(len(goal))
        try:
            self.control.follow(float(self.control.host.memory.last_time), self.model.joint_names,
                                [TrajectoryPoint(goal, zero, zero, (), seconds)])
        except RobodynError as error:
            return str(error)
        return ''

    # --- figures ----------------------------------------------------------------------------

    def column(self, index, last=np.inf):
        """Return one quantity of the log, of the last seconds."""
        return np.array([row[index] for row in self.log if row[0] >= self.time - last])

    @property
    def speed(self):
        """Largest part of a velocity limit."""
        return float((np.abs(self.column(2)) / self.model.velocity_limit).max())

    @property
    def beyond(self):
        """Farthest way beyond a position limit, rad."""
        q = self.column(1)
        return float(np.maximum(q - self.model.upper, self.model.lower - q).max())

    @property
    def torque_step(self):
        """Largest step of torque, as part of what the rate limit allows between two states."""
        rate = self.control.bounds.rate * self.period * (1.0 + self._jitter)
        return float((np.abs(np.diff(self.column(3), axis=0)) / rate).max())

    def swing(self, seconds=0.5):
        """Return the largest speed of the last seconds, rad/s."""
        return float(np.abs(self.column(2, seconds)).max())
