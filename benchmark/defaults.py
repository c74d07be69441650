"""
Tracking of MuJoCo arms that differ from their URDFs, before and after the loop is measured.

    python benchmark/defaults.py [ARM ...] [--seeds 0 1 2] [--delay 1]

In lockstep at 500 Hz, without ROS: each joint moves by 0.65 rad in 3 s and back, then the arm
holds. No tolerance ends a motion. In the last row the loop is measured before, as the node does.
RMS errors in mrad of both motions and their largest error, and at rest the largest error and the
largest change of position in the last second, of the worst joint; the median of the seeds, then
the largest. The arms, in this order:

- issued: rotors of 0.05 kg m^2, dry friction of 0.4 N m, viscous friction of 0.3 N m s/rad, masses
  within 5 %
- drawn: rotors, friction and masses by seed, see test/mujoco_arm.py
- known: the same, and the controller has its rotors and its friction
- perfect: the arm of the URDF, without noise
"""
import argparse
from importlib import import_module
import sys

from checkout import ROOT
import numpy as np

from robodyn_ros.control import ArmController, Settings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.settings import with_values
from robodyn_ros.trajectory import TrajectoryPoint

sys.path.insert(0, str(ROOT / 'test'))
plants, oracle = import_module('mujoco_arm'), import_module('mujoco_oracle')

ISSUED = {'armature': 0.05, 'coulomb': 0.4, 'viscous': 0.3}
SETTINGS = {
    'law alone': {'feedback_inertia': [0.0], 'disturbance_observer': False},
    'feedback inertia': {'disturbance_observer': False},
    'compensation': {'feedback_inertia': [0.0]},
    'default: both': {}, 'loop measured': {}}
PART, STEP, MEASURED = 3.0, 0.65, 12.0  # s, rad; s in which the loop is measured


def arm(name, kind, seed):
    """Return the dynamics of the model, a plant, and settings that follow from the plant."""
    text = (oracle.bare((ROOT / 'urdf' / 'robodyn7.urdf').read_text()) if name == 'robodyn7'
            else plants.urdf_text(name))
    model = RobotModel.from_urdf(text)
    low, high = (np.clip(each, -3.0, 3.0) for each in (model.lower, model.upper))
    start = 0.5 * (low + high) + 0.05 * (high - low)
    joints, masses = {'issued': (ISSUED, 0.05), 'perfect': (
        {'armature': 0.0, 'coulomb': np.array(model.friction), 'viscous': np.array(model.damping)},
        0.0)}.get(kind, (None, 0.1))
    plant = plants.MujocoPlant(text, model, seed, start, joints, masses)
    known = {} if kind != 'known' else {
        'armature': plant.armature.tolist(), 'friction.coulomb': plant.coulomb.tolist(),
        'friction.viscous': plant.viscous.tolist()}
    return Dynamics(model), plant, start, known


def errors(name, kind, seed, settings, delay, measured):
    """Return RMS of two motions, largest error, error and change at rest (5, nv), in mrad."""
    dynamics, plant, start, known = arm(name, kind, seed)
    model, zero = dynamics.model, np.zeros(dynamics.nv)
    control = ArmController(dynamics, with_values(Settings(), {
        'constraints.trajectory': [0.0], 'constraints.goal': [0.0], **known, **settings}))
    goal = start + np.where(start + STEP + 0.1 < model.upper, STEP, -STEP)
    if kind == 'perfect':
        plant.noise = False
    late, rows, now = [], [], 0.0
    parts = [round(each / plant.period) for each in (
        MEASURED if measured else 1.0, PART, PART, PART)]
    for k in range(sum(parts)):
        q, qd, _ = plant.read()
        if not k:
            control.activate(now, q, qd)
            late = [control.gravity_torque().copy()] * (delay + 1)
            if measured:
                control.loop.begin()
        if k == parts[0]:
            control.follow(now, model.joint_names, [
                TrajectoryPoint(goal, zero, zero, (), PART),
                TrajectoryPoint(start, zero, zero, (), 2.0 * PART)])
        late.append(control.update(now, q, qd).copy())
        control.update_loop(wait=True)
        if control.fault:
            raise SystemExit(f'{name} {kind} {seed} {settings}: {control.fault}')
        rows.append(control.reference.q - q)
        plant.step(late.pop(0))
        now += plant.period
    _, there, back, rest = np.split(1e3 * np.array(rows), np.cumsum(parts)[:-1])
    last = rest[-round(1.0 / plant.period):]
    return np.array([*(np.sqrt((each ** 2).mean(axis=0)) for each in (there, back)),
                     np.abs([*there, *back]).max(axis=0), np.abs(last).max(axis=0),
                     np.ptp(last, axis=0)])


def main():
    """Print a table for each arm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('arms', nargs='*', default=['robodyn7', *plants.ARMS])
    parser.add_argument('--seeds', type=int, nargs='+', default=[0, 1, 2])
    parser.add_argument('--delay', type=int, default=1, help='further periods until torques act')
    parser.add_argument('--joints', action='store_true', help='also RMS of each joint')
    options = parser.parse_args()
    print('| arm | settings | first motion | back | largest | error at rest | change at rest |')
    print('|---|---|---|---|---|---|---|')
    for name in options.arms:
        for kind in ('issued', 'drawn', 'known', 'perfect'):
            for label, settings in SETTINGS.items():
                seeds = options.seeds[:1] if kind == 'perfect' else options.seeds
                found = np.array([errors(name, kind, seed, settings, options.delay,
                                         label == 'loop measured') for seed in seeds])
                worst = found.max(axis=2)
                cells = [f'{np.median(each):.2f} ({each.max():.2f})' for each in worst.T]
                print(f'| {name}, {kind} | {label} | {" | ".join(cells)} |', flush=True)
                if options.joints:
                    print('  ', np.median(found[:, 0], axis=0).round(2).tolist())


if __name__ == '__main__':
    main()
