"""Compiled runs of drawn plants: as a row of the map of margins, as on floats, by seed alone."""
from dataclasses import replace
from pathlib import Path

from margins_map import margins
import numpy as np
import pytest
from robodyn_ros.control.arm.loop_response import moved_inertia
from robodyn_ros.control.rollout_measurement import RolloutMeasurement
from robodyn_ros.model.robot import Robot
from robodyn_ros.montecarlo import measured
from robodyn_ros.montecarlo.cases import COMPILED
from robodyn_ros.montecarlo.plans import activated, noise_of, plan_of
from robodyn_ros.montecarlo.plants import DrawnPlant, LATEST, SOFTEST, SPRING_DAMPING, STIFFEST
from robodyn_ros.montecarlo.runs import run_seeds
from robodyn_ros.montecarlo.scenario import plant_of, scenario, seeds_of
from robodyn_ros.montecarlo.study import Job, prepare_faults
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.fault_loop import fault_numbers
from robodyn_ros.simulation.joints import JointPhysics
from robodyn_ros.trajectory import check_trajectory, TrajectoryPoint
from steps_on_floats import compare_steps

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
NOTHING = next(case for case in COMPILED if case.name == 'nothing')
ROTORS = np.array(margins.ROTORS['robodyn7'])
RIGID = DrawnPlant(0.02, np.zeros(7), 'link', 0.7 * ROTORS)
ELASTIC = DrawnPlant(0.004, np.full(7, 7000.0), 'motor', ROTORS)


@pytest.fixture(scope='module')
def study():
    return prepare_faults(Job.with_faults(Robot(ARM), drawn=True))


class Row(margins.Rigid):
    """The plant of a row, with the step of the compiled loop."""

    def __init__(self, study, plant):
        self.step = study.plant.step_size
        self._plant = Plant(study.model, self.step, armature=plant.armature,
                            stiffness=plant.stiffness, spring_damping=SPRING_DAMPING)
        self._plant.reset(margins.start(study.model))
        self._motor, self._begun = plant.encoder == 'motor', False

    def advance(self, torque):
        plant = self._plant
        if self._begun:  # at first brakes hold the arm
            plant.step(torque)
        self._begun = True
        fastest = np.where(abs(plant.qd + plant.gap_rate) > abs(plant.qd),
                           plant.qd + plant.gap_rate, plant.qd)
        return (plant.q + self._motor * plant.gap, plant.qd + self._motor * plant.gap_rate,
                fastest)


def row_of(study, plant, measures, monkeypatch):
    """Return speeds before a fault and at the end, and the measured loop, of a row of the map."""
    made = []

    def controller(dynamics, _settings):
        made.append(margins.ArmController.__wrapped__(dynamics, study.control.settings))
        return made[0]

    controller.__wrapped__ = margins.ArmController
    monkeypatch.setattr(margins, 'ArmController', controller)
    before, _, end, moved, fault = margins.run(
        study.model, study.control.dynamics, Row(study, plant), 500, plant.delay,
        measured=measures)
    assert moved and not fault
    return before, end, made[0].design.loop


def compiled_row(study, plant, measures=True):
    """Return the same of a compiled run."""
    model, dt = study.model, study.plant.step_size
    run = replace(
        scenario(study, 0, NOTHING), plant=plant, noise=np.zeros(2), resolution=0.0,
        inertias=study.plant.dynamics.parameters.ravel(), motion=replace(
            study.motions[0], positions=np.tile(margins.start(model), (2, 1))),
        joints=JointPhysics.from_model(
            model, study.inertia_at_joints @ study.plant.dynamics.parameters.ravel(),
            armature=plant.armature, stiffness=plant.stiffness,
            spring_damping=SPRING_DAMPING).constants(dt))
    plan = plan_of(study, run)
    # a prompt host, and no measured effort
    for name, value in (('usual_delays', 0.0), ('start', -1.0), ('end', np.inf),
                        ('effort', np.nan)):
        plan.numbers[fault_numbers.place(model.nv, name)] = value
    runs, rows = activated(study, [plan])
    measurement, step = RolloutMeasurement(study.control, 1), 0
    moves = np.inf if measures else 0.7
    while step * dt < moves + 2.3:
        if moves < np.inf and not rows and step * dt > moves:
            study.controller.follow(runs.programs[0], runs.memories[0],
                                    lambda start: path(study, start), rows)
        runs = study.loop.single_step(runs, noise_of(study, [plan], 1), rows, step)
        if measures:
            measurement.update(runs.memories, runs.programs)
        step += 1
        if measurement.designs[0].loop is not None:
            moves = min(moves, step * dt + 0.7)
    found = measured.calm(study, study.loop.single_record(0, step // 50 * 50))
    assert not study.controller.fault_code(runs.memories[0])
    return found.before, found.end, measurement.designs[0].loop


def path(study, start):
    model = study.model
    goal = np.clip(start.q + 0.2, model.lower + 0.01, model.upper - 0.01)
    return check_trajectory(model, model.joint_names, [TrajectoryPoint(
        goal, 0.0 * goal, 0.0 * goal, (), 1.2)], start)


@pytest.mark.parametrize('plant', [RIGID, ELASTIC], ids=['rigid', 'elastic'])
def test_a_compiled_run_is_a_row_of_the_map_of_margins(study, plant, monkeypatch):
    before, end, _ = row_of(study, plant, False, monkeypatch)
    ours, our_end, _ = compiled_row(study, plant, False)
    assert before > 0.1 and ours == pytest.approx(before, rel=0.01)
    assert our_end == pytest.approx(end, abs=0.002)


def test_a_measured_loop_is_that_of_the_map_of_margins(study, monkeypatch):
    """The doublets begin a state apart, and gains follow from what each shows."""
    before, end, loop = row_of(study, RIGID, True, monkeypatch)
    ours, our_end, our_loop = compiled_row(study, RIGID)
    assert before > 0.1 and ours == pytest.approx(before, rel=0.02)
    assert our_end == pytest.approx(end, abs=0.002)
    np.testing.assert_array_equal(our_loop.known, loop.known)
    np.testing.assert_allclose(our_loop.delay, loop.delay, rtol=0.0, atol=2e-4)
    for one, other in zip(our_loop.responses, loop.responses):
        # a measurement ends with a standard deviation of ln J below 0.12
        assert abs(np.log(one.inertia / other.inertia)) < 0.12


def test_the_measured_loop_is_that_of_the_plant(study):
    """Of a rigid arm: delay and half an interval, and the rotors that its model lacks."""
    *_, loop = compiled_row(study, RIGID)
    np.testing.assert_allclose(loop.delay, RIGID.delay + 0.5 * study.plant.step_size, atol=1e-3)
    np.testing.assert_allclose(loop.missing[4:], RIGID.armature[4:], rtol=0.15)


def test_a_rotor_that_oscillates_faster_than_estimates_follow_is_overspeed(study):
    """At 80 Hz its velocity contradicts its positions; the estimate in its place shows little."""
    plan = plan_of(study, scenario(study, measured._seed_of(466), NOTHING))
    runs, _ = measured.measure(study, [plan])
    assert "joint 'joint1' moves at" in study.controller.fault(runs.memories[0])
    record = study.loop.single_record(0, measured.LASTS)
    assert int(np.argmax(record.faulted)) * study.plant.step_size < 1.0


def test_joints_that_swing_in_a_soft_hold_are_measured_and_held(study):
    """Wrists with three times the likely rotor, which a little wrong gravity moves."""
    numbers = 234, 300, 361, 411, 440, 491, 512, 547
    plans = [plan_of(study, scenario(study, measured._seed_of(each), NOTHING))
             for each in numbers]
    _, designs = measured.measure(study, plans)
    for row, (plan, design) in enumerate(zip(plans, designs)):
        run, hold = plan.scenario, study.loop.single_record(row, measured.LASTS)
        true = moved_inertia(study.plant.dynamics.mass_matrix(run.motion.start)
                             + np.diag(run.armature), np.zeros(7), np.ones(7))
        found = np.array([each.inertia for each in design.loop.responses])
        np.testing.assert_allclose(found[4:], true[4:], rtol=0.15, err_msg=str(run.number))
        delays = np.array([each.delay for each in design.loop.responses])
        np.testing.assert_allclose(delays, run.plant.delay, atol=2e-3)
        assert measured.calm(study, hold).before < 0.2
        assert measured.calm(study, hold).end < 1e-3


def test_plants_are_drawn_from_all_that_is_asked_for(study):
    plants = [DrawnPlant.of(study.model, number) for number in range(400)]
    assert 0.0 <= min(p.delay for p in plants) < 0.05 * LATEST
    assert 0.95 * LATEST < max(p.delay for p in plants) <= LATEST
    elastic = [p for p in plants if p.stiffness.any()]
    assert 160 < len(elastic) < 240
    assert SOFTEST <= min(p.stiffness.min() for p in elastic) < 1.1 * SOFTEST
    assert 0.9 * STIFFEST < max(p.stiffness.max() for p in elastic) <= STIFFEST
    assert 160 < sum(p.encoder == 'motor' for p in plants) < 240
    likely = study.model.effort_limit / 500.0
    factors = np.array([p.armature for p in plants]) / likely
    assert factors.min() < 0.05 and 2.9 < factors[:, :4].max() <= 3.0


def test_wrists_with_rotors_and_masses_that_the_model_lacks_rest(study):
    """Learned weight made them sway, as fast as if they had friction and at most one rotor."""
    seeds = seeds_of([NOTHING], 0, 12)
    chosen = [seeds[k] for k in (1, 3, 5, 9, 11)]
    assert not any(DrawnPlant.of(study.model, plant_of(seed)).stiffness.any() for seed in chosen)
    for each in run_seeds(study, chosen):
        assert not each.failed and not each.fault


@pytest.mark.parametrize('plant', [33, 65, 86, 150, 324, 363, 399])
def test_elastic_joints_that_swing_are_calmed_before_and_after_a_fault(study, plant):
    """Each was far above its limits: by damping, a collision, a changed source of velocities."""
    run, = run_seeds(study, [seeds_of([NOTHING], 0, plant + 1)[-1]])
    assert not run.failed


def test_springs_carry_the_weight_at_the_begin(study):
    """The first state that the controller sees is the one at rest."""
    plans = [plan_of(study, scenario(study, seed)) for seed in seeds_of([NOTHING], 0, 15)]
    runs, _ = activated(study, plans)
    before = study.loop.record(study.loop.run_chunk(runs, noise_of(study, plans), []), 14)
    assert DrawnPlant.of(study.model, 14).encoder == 'motor'
    rest = before.torque[:4]
    np.testing.assert_allclose(rest, np.broadcast_to(rest[0], rest.shape), atol=0.1)


def test_runs_of_drawn_plants_depend_on_their_seeds_alone(study):
    """A plant that is measured alone, and a run beside others that end earlier."""
    seeds = seeds_of([NOTHING], 0, 3)
    together = run_seeds(study, seeds)
    assert [plant_of(seed) for seed in seeds] == [0, 1, 2]
    measured.measured.cache_clear()
    for seed, one in zip(seeds, together):
        assert run_seeds(study, [seed]) == [one]


def test_steps_of_drawn_plants_are_those_of_the_readable_code(study):
    """With states that are late, and encoders on the motors of elastic joints."""
    number = next(k for k in range(99) if (plant := DrawnPlant.of(study.model, k)).encoder
                  == 'motor' and plant.stiffness.any() and plant.delay > 0.01)
    run = scenario(study, seeds_of([NOTHING], 0, number + 1)[-1])
    compare_steps(study, run, (52, 99, 117))
