"""One run: fault, arm, motion and sensors, all from one seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.montecarlo.cases import Case, COMPILED
from robodyn_ros.montecarlo.effects import Draw, InLoop, MOMENTS
from robodyn_ros.montecarlo.plants import DrawnPlant, SPRING_DAMPING
from robodyn_ros.montecarlo.study import BACKLASH, FaultStudy, GROUP
from robodyn_ros.simulation.joints import JointPhysics
from robodyn_ros.simulation.motion import Motion
from robodyn_ros.simulation.spread import draw, Sample

AGAIN = 4             # runs of a fault for each plant that is drawn, and measured once
SEEDS = 1_000_001     # of the simulator
ARMATURE = 0.15      # largest relative error of the armatures
NOISE = (2e-5, 1e-3)  # rad, rad/s of sensors, of every second arm at most
RESOLUTION = 1e-4    # rad, of every second arm at most


@dataclass(frozen=True, eq=False)
class Scenario:
    """
    A run.

    Attributes
    ----------
    seed : int
    case : Case
    draw : Draw
        Time (s after the begin of the motion), joints and size of the fault.
    numbers : dict
        Numbers of the fault, see `fault_numbers.FIELDS`.
    motion : Motion
        Motion during which it begins.
    other : Motion
        Motion to whose end the arm is sent, where there is a new goal.
    joints, inertias : array
        Constants of the arm, see `step.Constants` and `Dynamics.parameters`.
    noise : (2,) array
        Standard deviations of measured positions and velocities.
    resolution : float
        Resolution of measured positions, 0 for none.
    row : int
        First row in the table of recorded delays of the host.
    friction, armature : (nv,) array
        Factors of the friction, and inertia of the rotors, which `joints` include.
    plant : DrawnPlant or None
        Plant that is drawn, if it is not that of the model.
    number : int
        Number of the arm: the seed, or that of the plant.

    """

    seed: int
    case: Case
    draw: Draw
    numbers: Mapping[str, ArrayLike]
    motion: Motion
    other: Motion
    joints: NDArray
    inertias: NDArray
    noise: NDArray
    resolution: float
    row: int
    friction: NDArray
    armature: NDArray
    plant: DrawnPlant | None
    number: int

    @cached_property
    def random(self) -> list[np.random.Generator]:
        """Return the generators of the noise of positions and of velocities, as of `Sensors`."""
        return [np.random.default_rng(each)
                for each in np.random.SeedSequence(self.seed % SEEDS).spawn(4)[:2]]


def case_of(seed: int) -> Case:
    """Return the fault of a seed."""
    return COMPILED[seed % len(COMPILED)]


def plant_of(seed: int) -> int:
    """Return the number of the plant of a seed: the same for some groups of runs in turn."""
    group, place = divmod(seed // len(COMPILED), GROUP)
    return group // AGAIN * GROUP + place


def seeds_of(cases: Sequence[Case], first: int, count: int) -> list[int]:
    """Return the first seeds, from `first` on, that stand for some of the faults."""
    chosen = sorted(COMPILED.index(case) for case in cases)
    begin = first - first % len(COMPILED)
    found: list[int] = []
    while len(found) < count:
        found += [begin + k for k in chosen if begin + k >= first]
        begin += len(COMPILED)
    return found[:count]


def scenario(study: FaultStudy, seed: int, case: Case | None = None, **changes) -> Scenario:
    """
    Return the run of a seed.

    Parameters
    ----------
    study : FaultStudy
        Nominal arm and motions.
    seed : int
        Seed.
    case : Case, optional
        Another fault than that of the seed.
    **changes
        Values of the draw in place of the random ones.

    """
    plant, case = study.plant, case_of(seed) if case is None else case
    arm = plant_of(seed) if study.drawn else seed
    given = Draw.of(case.name, seed, plant.nv, case.duration, case.amount)
    sample = draw(plant, study.job.spread, arm, int(study.drawn))
    random = sample.noise
    number, other = map(int, random.integers(len(study.motions), size=2))
    if study.drawn:  # of those from where the loop was measured, another one
        same = [k for k, each in enumerate(study.motions)
                if np.array_equal(each.start, study.motions[number].start)]
        number = same[seed // len(COMPILED) // GROUP % AGAIN % len(same)]
    # the same share of the choice as in the draw
    begins, share = study.begins[number], (given.moment - MOMENTS[0]) / (MOMENTS[1] - MOMENTS[0])
    moment = float(begins[min(int(share * len(begins)), len(begins) - 1)])
    given = replace(given, **{'moment': moment, **changes})
    noisy, coarse = random.random(2)
    drawn = DrawnPlant.of(plant.model, arm) if study.drawn else None
    rotors = (1.0 + ARMATURE * random.uniform(-1.0, 1.0, plant.nv)) * plant.joints.armature
    armature = rotors if drawn is None else drawn.armature
    backlash = BACKLASH * random.random(plant.nv) * (case.effect == InLoop('backlash'))
    row = int(random.integers(study.delays))
    numbers = case.effect.numbers(given, plant.model, plant.step_size, random)
    joints = _joints(study, sample, armature, backlash,
                     np.zeros(plant.nv) if drawn is None else drawn.stiffness)
    return Scenario(seed, case, given, numbers, study.motions[number], study.motions[other],
                    joints, sample.parameters.ravel(),
                    np.array(NOISE) * random.random() * (noisy < 0.5),
                    RESOLUTION * random.random() * (coarse < 0.5), row, sample.friction, armature,
                    drawn, arm)


def _joints(study: FaultStudy, sample: Sample, armature: NDArray, backlash: NDArray,
            stiffness: NDArray) -> NDArray:
    """Return the constants of an arm, as those of a `Plant` with these inertias."""
    plant, model = study.plant, study.plant.model
    return JointPhysics.from_model(
        model, study.inertia_at_joints @ sample.parameters.ravel(), armature=armature,
        friction=sample.friction * model.friction, damping=sample.friction * model.damping,
        # a joint is either elastic or has backlash, and then a rotor
        backlash=np.where((stiffness > 0.0) | (armature == 0.0), 0.0, backlash),
        stiffness=stiffness, spring_damping=SPRING_DAMPING).constants(plant.step_size)
