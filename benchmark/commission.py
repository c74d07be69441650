"""
Commissioning of MuJoCo arms that differ from their URDFs: tracking errors and intervals.

    python benchmark/commission.py ARM SEED [SEED ...] [--scaled] [--output commission.jsonl]
    python benchmark/commission.py --table commission.jsonl

In lockstep, without ROS. Arms, or paths of URDFs, and what differs are in test/mujoco_arm.py;
scaled: rotors and friction in proportion to the effort limits. A line per run is appended to the
output; `--table` summarises them as Markdown.
"""
import argparse
from importlib import import_module
import json
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
import time

from checkout import ROOT
import numpy as np

from robodyn_ros.commissioning.folder import Folder
from robodyn_ros.commissioning.steps import STEPS
from robodyn_ros.commissioning.work import Work
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.simulation.motion import plan_motion

sys.path.insert(0, str(ROOT / 'test'))
lockstep, plants = import_module('lockstep_arm'), import_module('mujoco_arm')

DELAY = 1  # further periods until a torque acts
KINDS = {'viscous': 'viscous', 'coulomb': 'Coulomb', 'armature': 'rotors',
         'base': 'base parameters'}


def commission(name, seed, folder, scaled=False):
    """Commission an arm; return the figures."""
    text = plants.urdf_text(name)
    (folder / 'arm.urdf').write_text(text)
    robot = Robot(folder / 'arm.urdf')
    dynamics = Dynamics(robot.load())
    plant = plants.MujocoPlant(text, dynamics.model, seed, plan_motion(dynamics, 3.0, 0.3).start,
                               plants.scaled(dynamics.model, seed) if scaled else None)
    arm = lockstep.LockstepArm(robot, plant, DELAY)
    work = Work(robot, dynamics, arm, Folder(folder / 'state', []), search=5.0)
    begin = time.time()
    for step in STEPS:
        work.folder.complete(step.name, step.act(work)[1])
    done = work.folder.done
    found, hits = done['identify2'], {}
    for kind in list(KINDS)[:3]:
        hits[kind] = [abs(value - true) <= margin
                      for (value, margin), true in zip(found['joints'][kind],
                                                       getattr(plant, kind)) if margin]
    true = Dynamics(RobotModel.from_urdf(plant.true_text(text))).parameters
    base = dynamics.base_parameters(tolerance=1e-6).projection @ true
    hits['base'] = [abs(each.value - number) <= each.margin
                    for each, number in zip(found['base'], base)]
    return {'arm': name, 'seed': seed, 'before': done['before']['rms'],
            'after': done['after']['rms'], 'wn': done['gains']['parameters']['natural_frequency'],
            'held_back': found['held_back'], 'urdf': found['urdf'],
            'hits': {kind: [int(sum(each)), len(each)] for kind, each in hits.items()},
            'arm_time': arm.now, 'time': time.time() - begin}


def table(rows):
    """Return the summary as lines of Markdown."""
    lines = ['| arm | runs | worst joint before (mrad RMS) | after | below 1 mrad | in their '
             f'intervals: {" | ".join(KINDS.values())} | arm time (s) |', '|' + '---|' * 10]
    for name in dict.fromkeys(row['arm'] for row in rows):
        own = [row for row in rows if row['arm'] == name and 'after' in row]
        failed = sum(row['arm'] == name and 'after' not in row for row in rows)
        if not own:
            continue
        before, after = (np.array([max(row[key]) for row in own]) for key in ('before', 'after'))
        hits = [np.sum([row['hits'][kind] for row in own], axis=0) for kind in KINDS]
        lines.append(
            f'| {name} | {len(own)}{f" + {failed} refused" if failed else ""} | '
            f'{np.median(before):.0f} ({before.max():.0f}) | '
            f'{np.median(after):.2f} ({after.max():.2f}) | {np.sum(after < 1.0)} of '
            f'{len(own) + failed} | {" | ".join(f"{a} of {b}" for a, b in hits)} | '
            f'{np.mean([row["arm_time"] for row in own]):.0f} |')
    return lines


def main():
    """Run, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('arm', nargs='?', help=f'{", ".join(plants.ARMS)}, or a URDF')
    parser.add_argument('seeds', nargs='*', type=int)
    parser.add_argument('--output', type=Path, default=Path('commission.jsonl'))
    parser.add_argument('--scaled', action='store_true')
    parser.add_argument('--table', type=Path)
    options = parser.parse_args()
    if options.table:
        rows = [json.loads(line) for line in options.table.read_text().splitlines()]
        print('\n'.join(table(rows)))
        return
    for seed in options.seeds:
        with TemporaryDirectory() as folder:
            try:
                row = commission(options.arm, seed, Path(folder), options.scaled)
            except (RobodynError, AssertionError) as error:
                row = {'arm': options.arm, 'seed': seed, 'error': str(error)}
        with options.output.open('a') as file:
            file.write(json.dumps(row) + '\n')
        print(options.arm, seed, row.get('error') or (
            f'before {max(row["before"]):.1f}, after {max(row["after"]):.2f} mrad, '
            f'{row["time"]:.0f} s'), row.get('hits'), flush=True)


if __name__ == '__main__':
    main()
