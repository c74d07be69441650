"""
Accuracy and speed of the momentum observer on a simulated arm with known external forces.

    python benchmark/contact.py [--motions 100]

Seven joints with rotors under computed torque. Cases with friction have dry friction of 2 % of the
effort limits and viscous friction of 1 % per rad/s. Figures are parts of the effort limit, the
largest of all joints.
"""
import argparse

from checkout import ROOT
import numpy as np

from robodyn_ros import Dynamics, RobodynError, RobotModel
from robodyn_ros.control import ArmController, Mode, Settings
from robodyn_ros.control.settings import (
    CollisionSettings, FrictionSettings, ObserverSettings)
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.mismatch import mismatched
from robodyn_ros.trajectory import TrajectoryPoint

MODEL = RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf')
LIMIT = np.array(MODEL.effort_limit)
BENT = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.6, -0.1])
COULOMB, VISCOUS, ARMATURE = 0.02 * LIMIT, 0.01 * LIMIT, 2e-3 * LIMIT
THRESHOLD = 0.05   # part of the effort limits, as in docs/contact.md
BANDWIDTH = 30.0   # rad/s
FAST = 0.9         # part of the velocity limits
TIP = 'tool0'


class Trial:
    """
    A simulated arm under control, with the estimates of the observer.

    Parameters
    ----------
    period : float
        Time between states, s.
    mass, friction : float
        Ratios of the arm's mass and friction to the model of the controller; `friction` 0: none
        in both.
    threshold : float
        Collision threshold, as a part of the effort limits.
    **settings
        Other `Settings`.

    """

    def __init__(self, period=1e-3, mass=1.0, friction=0.0, threshold=THRESHOLD, **settings):
        self.period, self.now = period, 0.0
        known = bool(friction)
        self.dynamics = Dynamics(MODEL)
        self.control = ArmController(self.dynamics, Settings(
            armature=ARMATURE, friction=FrictionSettings(known * VISCOUS, known * COULOMB),
            collision=CollisionSettings(threshold=threshold * LIMIT, reaction='report'),
            **settings))
        self.plant = Plant(mismatched(MODEL, mass), 1e-3, friction=friction * COULOMB,
                           damping=friction * VISCOUS, armature=ARMATURE)
        self.plant.reset(BENT)
        self.control.activate(0.0, self.plant.q, self.plant.qd)
        self.observation = self.control.observation
        self.run(1.0)

    def cycle(self):
        """Run one control cycle, and simulate one period."""
        torque = self.control.update(self.now, self.plant.q, self.plant.qd).copy()
        for _ in range(round(self.period / self.plant.step_size)):
            self.plant.step(torque)
        self.now += self.period

    def run(self, seconds):
        """Return the estimated torque of each cycle, as parts of the effort limits; (n, nv)."""
        rows = []
        for _ in range(round(seconds / self.period)):
            self.cycle()
            rows.append(self.observation.torque / LIMIT)
        return np.array(rows)

    def start_motion(self, goal):
        """Start a motion at the velocity or torque limits; return its duration in s."""
        distance = np.abs(goal - self.control.reference.q)
        duration = (15.0 / 8.0 * distance / (FAST * MODEL.velocity_limit)).max()
        while True:
            try:
                zero = np.zeros(MODEL.nv)
                return self.control.follow(self.now, MODEL.joint_names, [
                    TrajectoryPoint(goal, zero, zero, (), duration)])
            except RobodynError:
                duration *= 1.2

    def move(self, goal):
        """Move to a goal; return the estimated torque meanwhile."""
        return self.run(self.start_motion(goal) + 0.1)


def goals(count, seed=1):
    """Return goals far from each other."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(MODEL.lower, -1.6), np.minimum(MODEL.upper, 1.6)
    return rng.uniform(0.8 * low, 0.8 * high, (count, MODEL.nv))


def time_constant(period, bandwidth):
    """Return the time constant of a step response, times the bandwidth."""
    trial = Trial(period, observer=ObserverSettings(bandwidth))
    # a constant torque at each joint, independent of the pose
    trial.plant.external[:] = 0.02 * LIMIT
    response = trial.run(3.0 / bandwidth)[:, 0] / 0.02
    t = period * np.arange(len(response))
    part = (response > 0.05) & (response < 0.95)
    return -bandwidth / np.polyfit(t[part], np.log(1.0 - response[part]), 1)[0]


def bias(period, **arm):
    """Return the largest residual at rest, and in fast motion."""
    trial = Trial(period, **arm)
    rest = np.abs(trial.run(0.5)).max()
    return rest, max(np.abs(trial.move(goal)).max() for goal in goals(5))


def false_alarms(motions, **arm):
    """Return the number of alarms, and the largest residual."""
    trial = Trial(**arm)
    worst = max(np.abs(trial.move(goal)).max() for goal in goals(motions, seed=2))
    return trial.observation.collisions, worst


def detection(force, seed, **arm):
    """Return the time from a push at the tip in fast motion to the alarm, in s; NaN if none."""
    trial = Trial(**arm)
    goal = goals(1, seed)[0]
    trial.run(0.5 * trial.start_motion(goal))
    before, start = trial.observation.collisions, trial.now
    velocity = (trial.dynamics.jacobian(trial.plant.q, TIP) @ trial.plant.qd)[:3]
    trial.plant.push(TIP, [*(-force * velocity / np.linalg.norm(velocity)), 0.0, 0.0, 0.0])
    while trial.observation.collisions == before and trial.now < start + 0.5:
        trial.cycle()
    return trial.now - start if trial.observation.collisions > before else np.nan


def wrench_error(**arm):
    """Return the largest error of the tip's force and moment, as parts of their size."""
    trial, errors = Trial(**arm), []
    rng = np.random.default_rng(3)
    for _ in range(5):
        force, moment = 10.0 * rng.normal(size=3), 1.0 * rng.normal(size=3)
        trial.plant.push(TIP, [*force, *moment])
        trial.run(1.0)
        found = trial.observation.wrench()
        errors.append((np.linalg.norm(found[:3] - force) / np.linalg.norm(force),
                       np.linalg.norm(found[3:] - moment) / np.linalg.norm(moment)))
    return np.max(errors, axis=0)


def contact_force(stiffness, **arm):
    """
    Return the force of the tip on a wall: largest in the first 0.2 s, and 2 s after the motion, N.

    The goal is 5 cm behind the wall, which is in the middle of a motion of 1 s. stiffness: of the
    wall, in N/m.
    """
    trial = Trial(threshold=100.0, **arm)
    dynamics, start = trial.dynamics, trial.plant.q.copy()
    way = dynamics.jacobian(start, TIP)[:3].T @ [0.0, 0.0, -1.0]
    goal = start + 0.1 * way / (way @ way)

    def tip(q):
        return dynamics.forward_kinematics(q, TIP)[:3, 3]

    normal = tip(goal) - tip(start)
    normal /= np.linalg.norm(normal)
    wall, zero, forces = tip(0.5 * (start + goal)), np.zeros(MODEL.nv), []
    point = TrajectoryPoint(goal, zero, zero, (), 1.0)
    trial.control.follow(trial.now, MODEL.joint_names, [point])
    while trial.control.mode is not Mode.HOLD or len(forces) < 3.0 / trial.period:
        depth = normal @ (tip(trial.plant.q) - wall)
        speed = normal @ dynamics.jacobian(trial.plant.q, TIP)[:3] @ trial.plant.qd
        force = max(stiffness * depth + 2.0 * np.sqrt(stiffness) * speed, 0.0) * (depth > 0.0)
        trial.plant.push(TIP, [*(-force * normal), 0.0, 0.0, 0.0])
        trial.cycle()
        forces.append(force)
    first = int(np.flatnonzero(forces)[0])
    return max(forces[first:first + round(0.2 / trial.period)]), forces[-1]


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--motions', type=int, default=100)
    motions = parser.parse_args().motions
    for period in (1e-3, 5e-3):
        for bandwidth in (BANDWIDTH, 100.0):
            print(f'{1.0 / period:5.0f} Hz, bandwidth {bandwidth:3.0f} rad/s: time constant '
                  f'{time_constant(period, bandwidth):.3f} / bandwidth')
    arms = {'perfect model': {}, 'friction 1.5 times': {'friction': 1.5},
            'mass 1.05 times': {'mass': 1.05}, 'both': {'mass': 1.05, 'friction': 1.5}}
    for name, arm in arms.items():
        for period in (1e-3, 5e-3):
            rest, motion = bias(period, **arm)
            print(f'{name:20} {1.0 / period:5.0f} Hz: at rest {rest:.1e}, in motion {motion:.1e}')
    for name, arm in arms.items():
        alarms, worst = false_alarms(motions, **arm)
        print(f'{name:20} {alarms} alarms in {motions} motions, largest residual {worst:.1e}')
    for force in (20.0, 40.0, 80.0):
        times = [detection(force, seed, friction=1.5, mass=1.05) for seed in range(20)]
        detected = np.isfinite(times)
        middle = 1e3 * np.median(np.array(times)[detected]) if detected.any() else np.nan
        print(f'{force:4.0f} N at the tip: {detected.sum()} of 20 detected, median {middle:.0f} '
              f'ms, longest {1e3 * np.max(times, where=detected, initial=0.0):.0f} ms')
    for name, arm in arms.items():
        force, moment = wrench_error(**arm)
        print(f'{name:20} wrench at the tip: force within {force:.1e}, moment within {moment:.1e}')
    for stiffness in (1e3, 1e4, 1e5):
        for name, arm in arms.items():
            for limit in (0.0, 0.1):
                hit, press = contact_force(stiffness, disturbance_limit=limit, **arm)
                print(f'{name:20} wall of {1e-3 * stiffness:.0f} N/mm, compensation within '
                      f'{limit:.0%}: {hit:.0f} N at first, {press:.0f} N at rest')


if __name__ == '__main__':
    main()
