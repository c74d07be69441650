"""The simulated arm of golden logs, and the timetable of their steps."""

import numpy as np
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads, with_slots
from robodyn_ros.model import Payload
from robodyn_ros.simulation import mismatched, Plant

from golden.log_file import on_grid

# ns of a simulation step; with the jitter below no time falls on a threshold of the controller
TICK = 1_050_000
STATES = 3        # ticks between states
COASTING = 5      # ticks between torques in silence
SLOW = 6          # ticks between states at a fixed rate,
BETWEEN = 2       # and between torques there
_JITTER = 60_000  # ns of largest delay of a step
_SHARED = {}      # dynamics of the arms, with what is compiled


class Arm:
    """
    An arm that differs from its model: 5 % more mass, a link with another centre of mass.

    Parameters
    ----------
    robot : Robot
    start, velocity : (nv,), optional
        Initial state.
    payload : (link, kg, (3,)), optional
        Unmodelled payload with its centre of mass (m).
    brakes : bool
        Whether brakes hold it until they are released.
    **joints
        Physics of the plant's joints, such as `friction`.

    """

    def __init__(self, robot, start=None, velocity=None, payload=None, brakes=False, **joints):
        if robot.name not in _SHARED:
            _SHARED[robot.name] = Dynamics(with_slots(mismatched(
                robot.model, 1.05, {robot.elbow: (0.01, 0.0, -0.01)})))
        dynamics = _SHARED[robot.name]
        loads = Loads(dynamics)
        loads.change({}, robot.model.gravity)
        if payload:
            link, mass, com = payload
            load = Payload(link, mass, np.array(com), 0.002 * np.eye(3))
            loads.change(loads.with_payload(load), robot.model.gravity)
        self.plant = Plant(dynamics.model, 1e-9 * TICK, dynamics, armature=robot.rotors,
                           **joints)
        self.plant.reset(robot.start if start is None else start, brakes)
        if velocity is not None:
            self.plant.qd[:] = velocity
        self.torque = robot.gravity_torque(self.plant.q)

    def step(self):
        """Advance by a tick."""
        if not self.plant.step(self.torque):
            raise RuntimeError(self.plant.fault)

    def measured(self):
        """Return position, velocity and effort of the joints as integers, see `log_file`."""
        return (on_grid(self.plant.q, 'q'), on_grid(self.plant.qd, 'qd'),
                on_grid(self.plant.applied, 'effort'))

    def push(self, link, wrench):
        """Apply a wrench in base axes to a link; None ends it."""
        self.plant.push(link, wrench)


class Timetable:
    """
    Requests and steps of a scenario, tick by tick.

    Parameters
    ----------
    scenario : Scenario

    """

    def __init__(self, scenario):
        self._spells = scenario.spells
        self._requests = sorted(scenario.requests, key=lambda each: each[0])
        self._ticks = round(scenario.seconds * 1e9 / TICK)
        self._noise = np.random.default_rng(1)

    def __iter__(self):
        """Yield time in ns, spells by kind, requests that are due, and the step or None."""
        silent = 0
        for tick in range(self._ticks):
            now = 1e-9 * tick * TICK
            spells = {kind: options for begin, end, kind, options in self._spells
                      if begin <= now < end}
            requests = []
            while self._requests and self._requests[0][0] <= now:
                requests.append(self._requests.pop(0)[1:])
            silent = silent + 1 if 'silence' in spells else 0
            moment = tick * TICK + int(self._noise.integers(_JITTER))
            moment += round(1e9 * spells.get('clock', {}).get('ahead', 0.0))
            yield moment, spells, requests, _step(tick, silent, spells)


def _step(tick, silent, spells):
    if 'pause' in spells:
        return None
    if silent:
        return 'coast' if silent % COASTING == 1 else None
    if 'slow' in spells:
        return None if tick % BETWEEN else 'between' if tick % SLOW else 'update'
    every = spells.get('rare', {'every': STATES})['every']
    return None if tick % every else 'update'


def faulty(state, spells):
    """Return a measured state with the defects of a spell."""
    if 'state' not in spells:
        return state
    joint, quantities = spells['state']['joint'], ('q', 'qd', 'effort')
    state = [array.copy() for array in state]
    for quantity, array in zip(quantities, state):
        if quantity in spells['state']:
            array[joint] = on_grid(spells['state'][quantity], quantity)
    return tuple(state)
