"""The command `robodyn commission`: an arm that its URDF does not describe tracks afterwards."""

from dataclasses import replace
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from robodyn_ros.cli import commission as command
from robodyn_ros.cli.main import FAILURE, INTERRUPTED, main, USER_MISTAKE
from robodyn_ros.cli.options import next_line
from robodyn_ros.commissioning import steps
from robodyn_ros.commissioning.dry_run import true_urdf, Truth
from robodyn_ros.commissioning.folder import Folder
from robodyn_ros.commissioning.measures import (
    lag, measure, Measures, natural_frequency, step_points)
from robodyn_ros.commissioning.motions import approached, compared, excitation
from robodyn_ros.commissioning.steps import Step, STEPS
from robodyn_ros.commissioning.work import Work
from robodyn_ros.control import Settings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.identification.recording import load, Run, save
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.nodes.controller.parameters import PARAMETERS
from robodyn_ros.settings import with_values
from robodyn_ros.share import share_path
from robodyn_ros.simulation.motion import plan_motion
import yaml

ARM = share_path('urdf', 'robodyn6.urdf')


def test_a_mujoco_arm_with_rotors_friction_and_wrong_masses(tmp_path, monkeypatch, capsys):
    """An arm that the project did not write: its loop is measured, then it is identified."""
    pytest.importorskip('mujoco')
    pytest.importorskip('cmeel', reason='example-robot-data')
    from lockstep_arm import LockstepArm
    from mujoco_arm import MujocoPlant, urdf_text
    text, made = urdf_text('ur5'), []

    def arm(robot, dynamics, _folder, _tick, seed):
        start = plan_motion(dynamics, 3.0, 0.3).start
        made.append(MujocoPlant(text, dynamics.model, seed, start))
        return LockstepArm(robot, made[-1], delay=1)

    monkeypatch.setattr(command, 'SimulatedArm', arm)
    urdf, folder = tmp_path / 'arm.urdf', tmp_path / 'state'
    urdf.write_text(text)
    options = ['commission', str(urdf), '--dry-run', '--yes', '--folder', str(folder)]
    assert main([*options, '--duration', '10', '--search', '1']) == 0
    said = capsys.readouterr().out
    assert said.rstrip().endswith('  ' + next_line(folder / 'arm.yaml'))
    done = Folder(folder, [*Robot(urdf).options(), '--dry-run', '0']).done
    assert list(done) == [step.name for step in STEPS]
    before, after = (max(done[name]['rms']) for name in ('before', 'after'))
    assert before > 3.0 * after and after < 1.0
    hits = [abs(value - true) <= 2.0 * margin for kind in ('viscous', 'coulomb')
            for (value, margin), true in zip(done['identify2']['joints'][kind],
                                             getattr(made[0], kind))]
    assert np.mean(hits) >= 0.8
    # what is written is what the controller takes
    written = (folder / 'arm.yaml').read_text()
    assert re.search(r'excite2.csv, identified \d{4}-\d\d-\d\d \d\d:\d\d UTC', written)
    assert 'armature: half of the 95 % interval is [' in written and 'from a delay of' in written
    values, = yaml.safe_load(written).values()
    values = _flat(values['ros__parameters'])
    model = RobotModel.from_urdf(values.pop('urdf_file'))
    values.pop('gravity')
    settings = with_values(Settings(), {
        key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
    np.testing.assert_allclose(settings.friction.coulomb, made[0].coulomb, rtol=0.1)
    true = RobotModel.from_urdf(made[0].true_text(text))
    assert model.joint_names == true.joint_names
    assert abs(model.mass.sum() - true.mass.sum()) < 0.3 * true.mass.sum()
    report = (folder / 'report.html').read_text()
    assert 'Tracking error' in report and 'What the data does not determine' in report
    assert 'The controller is started before' not in said
    # nothing is left to do
    assert main(options) == 0
    assert capsys.readouterr().out.count('done before') == len(STEPS)


def _flat(tree, prefix=''):
    return {name: value for key, each in tree.items() for name, value in (
        _flat(each, f'{prefix}{key}.') if isinstance(each, dict) else {f'{prefix}{key}': each}
    ).items()}


class Fake:
    """An arm that does nothing, and remembers what it was asked."""

    def __init__(self, *_arguments):
        self.asked, self.holds = [], True

    def hold(self):
        self.asked.append('hold')
        return self.holds

    def stop(self):
        self.asked.append('stop')


@pytest.fixture
def commission(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command with steps of its own; exit code and output."""
    arms, calls = [], []
    monkeypatch.setattr(command, 'SimulatedArm', lambda *given: arms.append(Fake()) or arms[-1])
    monkeypatch.setattr(command, 'write_report', lambda _work, path: path)

    def step(name, error=None):
        def act(_work):
            calls.append(name)
            if error and calls.count(name) == 1:
                raise error
            return [f'{name} says'], {'value': 1.0}
        return Step(name, f'Text of {name}.', True, act)

    def run(steps, *options, answers=()):
        monkeypatch.setattr(command, 'STEPS', steps)
        monkeypatch.setattr(command, '_NAMES', [each.name for each in steps])
        left = iter(answers)

        def answer(question):
            print(question)
            for each in left:
                if each == 'Ctrl-C':
                    raise KeyboardInterrupt
                return each
            raise EOFError

        monkeypatch.setattr('builtins.input', answer)
        calls.clear()
        code = main(['commission', str(ARM), '--dry-run', '--folder', str(tmp_path / 'state'),
                     *options])
        return code, ''.join(capsys.readouterr()), list(calls)

    return SimpleNamespace(run=run, step=step, arms=arms)


def test_an_interruption_holds_the_arm_and_is_resumed(commission, tmp_path):
    step = commission.step
    steps = [step('preflight'), step('live', KeyboardInterrupt()), step('activation')]
    code, said, calls = commission.run(steps, '--yes')
    assert code == INTERRUPTED and calls == ['preflight', 'live']
    assert commission.arms[-1].asked == ['hold', 'stop'] and 'resumes with this step' in said
    assert said.count('interrupted\n') == 2  # of the step, and of the command
    steps[1] = step('live', StateError('the driver is silent'))
    code, said, calls = commission.run(steps, '--yes')
    assert code == FAILURE and calls == ['live'] and 'the driver is silent' in said
    assert '1/3 preflight: done before' in said
    steps[1] = step('live')
    code, said, calls = commission.run(steps, '--yes')
    assert code == 0 and calls == ['live', 'activation']
    line, path = said.rstrip().rsplit('\n', 1)[-1].strip(), tmp_path / 'state' / 'arm.yaml'
    assert 'activation says' in said and line == next_line(path)
    code, _, calls = commission.run(steps, '--yes', '--repeat', 'live')
    assert code == 0 and calls == ['live', 'activation']


def test_every_step_says_what_it_does_and_asks(commission):
    steps = [commission.step('preflight'), commission.step('live'), commission.step('float')]
    code, said, calls = commission.run(steps, answers=['y', '', 'perhaps', 'Y', '', 'q'])
    assert code == FAILURE and calls == ['preflight', 'live']
    assert 'Text of float.' in said and 'stopped; the same command resumes here' in said
    code, _, calls = commission.run(steps, answers=['y'])
    assert code == 0 and calls == ['float']
    # without an answer, nothing moves
    assert commission.run(steps, '--repeat', 'live')[0::2] == (FAILURE, [])


def test_the_controller_ends_only_when_the_arm_is_supported(commission):
    def start(work):
        work.started = True
        return [], {}

    steps = [Step('preflight', 'Text.', True, start), commission.step('live')]
    asked = []

    def answers(*given):
        for each in given:
            asked.append(list(commission.arms[-1].asked))
            yield each

    # stopped at a question, a failure, and the end
    commission.run(steps, answers=answers('y', 'q', '', 'y'))
    assert asked == [[], [], ['hold'], ['hold']] and commission.arms[-1].asked == ['hold', 'stop']
    asked.clear()
    steps[1] = commission.step('live', OSError(28, 'No space left on device'))
    code, said, _ = commission.run(steps, '--repeat', 'preflight', answers=answers('y', 'y', 'y'))
    assert code == FAILURE and 'state: No space left' in said and asked[-1] == ['hold']
    asked.clear()
    steps[1] = commission.step('live')
    code, _, _ = commission.run(steps, '--repeat', 'preflight', answers=answers('y', 'y', 'y'))
    assert code == 0 and asked == [[], [], []]


def test_a_repeated_interruption_does_not_end_the_controller(commission):
    def start(work):
        work.started = True
        return [], {}

    steps = [Step('preflight', 'Text.', True, start), commission.step('live', KeyboardInterrupt())]
    left = iter(['y', 'y', 'Ctrl-C', '', 'Ctrl-C', 'y', 'not asked for'])
    code, said, _ = commission.run(steps, answers=left)
    assert code == INTERRUPTED and next(left) == 'not asked for'
    assert said.count('The arm holds where it is. Let the brakes in') == 4


def test_it_is_not_claimed_that_an_arm_without_controller_is_held(commission):
    def start(work):
        work.started, work.arm.holds = True, False
        return [], {}

    def fault(_work):
        raise StateError('the controller ended')

    steps = [Step('preflight', 'Text.', True, start), Step('live', 'Text.', True, fault)]
    _, said, _ = commission.run(steps, answers=['y', 'y', 'y'])
    assert 'The arm is not held. Let the brakes in or support it' in said
    assert 'The arm holds' not in said


def test_a_motion_is_shown_before_consent_is_asked_for(commission):
    shown = []

    def plan(work):
        shown.append(dict(work.plans))
        return SimpleNamespace(lines=['joint1 from 0 to 1'])

    steps = [commission.step('preflight')._replace(plan=plan)]
    code, said, calls = commission.run(steps, answers=['q'])
    assert code == FAILURE and calls == [] and shown == [{}]
    assert said.index('joint1 from 0 to 1') < said.index('Go on?')


def test_a_step_that_moves_nothing_does_not_ask_and_leaves_nothing(commission, tmp_path):
    steps = [commission.step('preflight')._replace(moves=False), commission.step('live')]
    code, said, calls = commission.run(steps, answers=['q'])
    assert (code, calls) == (FAILURE, ['preflight']) and said.count('Go on?') == 1
    assert not (tmp_path / 'state').exists()
    # what was found without motion is kept with the first motion
    assert commission.run(steps, answers=['y'])[0::2] == (0, ['preflight', 'live'])
    assert commission.run(steps)[0::2] == (0, [])


def test_a_real_arm_keeps_its_tolerances_until_friction_is_known(tmp_path):
    started = []
    arm = SimpleNamespace(start=lambda _urdf, values: started.append(values))
    robot = Robot(ARM)
    work = Work(robot, Dynamics(robot.load()), arm, Folder(tmp_path, []))
    work.restart()
    assert 'constraints.trajectory' not in started[0]


def test_two_commissionings_do_not_share_a_folder(commission, tmp_path):
    steps = [commission.step('preflight')]
    with Folder(tmp_path / 'state', []).locked():
        code, said, calls = commission.run(steps, '--yes')
    assert code == USER_MISTAKE and calls == [] and 'another commissioning runs in' in said
    assert commission.run(steps, '--yes')[0] == 0


@pytest.fixture
def work(tmp_path):
    robot = Robot(ARM)
    return Work(robot, Dynamics(robot.load()), Fake(), Folder(tmp_path, []), search=0.0)


def test_motions_stay_within_the_ranges(work):
    work.ranges = ['joint1:0.2:0.9', 'joint3:-1:0']
    for plan in (compared(work), excitation(work, 0.2)):
        _, q, qd, _ = plan.points
        assert 0.2 <= q[:, 0].min() < q[:, 0].max() <= 0.9
        assert -1.0 <= q[:, 2].min() < q[:, 2].max() <= 0.0
        assert (np.abs(qd) <= work.model.velocity_limit).all()
        assert '--range restricts a joint' in plan.lines[-1]


def test_an_arm_outside_the_ranges_does_not_approach(work):
    work.ranges = ['joint1:0.2:0.9']
    plan, q = compared(work), np.zeros(6)
    work.arm.watch = lambda _seconds: SimpleNamespace(position=[q])
    with pytest.raises(StateError, match="'joint1' is at 0, outside its range from 0.2 to 0.9"):
        approached(work, plan)
    q[0] = 0.5
    times, positions, *_ = approached(work, plan)
    assert times[0] >= 3.0 and len(positions) == len(plan.points[1])
    # it is shown with the approach, if the controller runs
    work.started, q[1] = True, -1.9
    lines = compared(work).lines
    row = next(line.split() for line in lines if line.startswith('joint2'))
    assert float(row[1]) == pytest.approx(-1.9) and 'with a straight approach' in lines[-1]


def test_rest_after_the_motion_is_not_identified(work, monkeypatch):
    from robodyn_ros.commissioning import identification_step as learning
    moving, given = (np.arange(400) >= 50) & (np.arange(400) < 150), []

    def identify(_dynamics, recording, *_, **__):
        given.append(recording)
        raise StateError('enough')

    monkeypatch.setattr(learning, 'identify', identify)
    rows = np.cumsum(0.01 * moving)[:, None] * np.ones(6)
    run = Run(0.01 * np.arange(400), rows, rows, rows, rows, rows, 0.0, '')
    with pytest.raises(StateError, match='enough'):
        learning.IdentificationStep(work.robot, work.model, work.dynamics, work.friction,
                                    work.tick).identify(run, work.folder)
    assert np.ptp(given[0].position_time) == pytest.approx(1.0, abs=0.011)


def test_an_identification_that_fails_names_the_excitation_to_repeat(work, monkeypatch):
    monkeypatch.setattr(steps, 'load', lambda *_: None)

    def fail(*_):
        raise RobodynError('only 25 independent equations are left',
                           report=['joint  residual', '------'])

    monkeypatch.setattr(steps.IdentificationStep, 'identify', fail)
    with pytest.raises(StateError, match='25 independent.*--repeat excite1, with a longer') as got:
        steps.identify(work, 'excite1')
    assert got.value.evidence['report'] == ['joint  residual', '------']


def test_the_table_of_an_identification_that_fails_is_printed_as_one(commission):
    failure = StateError('the identification failed', report=['joint   residual', '', 'FAIL  a'])
    _, said, _ = commission.run([commission.step('live', failure)], '--yes')
    assert 'joint   residual\n\nFAIL  a\nthe identification failed\n' in said


def test_a_simulated_arm_with_a_locked_joint(tmp_path):
    robot = Robot(ARM, locked=('joint6:0.3',))
    dynamics = Dynamics(robot.load())
    truth = Truth.draw(dynamics, 0, locked=True)
    path = tmp_path / 'true.urdf'
    path.write_text(true_urdf(robot, dynamics, truth))
    model = RobotModel.from_urdf(path, **robot.selection())
    np.testing.assert_allclose(model.friction, truth.coulomb)
    np.testing.assert_allclose(model.mass, dynamics.model.mass)
    np.testing.assert_array_equal(truth.masses, 1.0)


def test_the_motion_after_is_that_before(work):
    first = compared(work)
    work.speed = 0.1
    assert not np.allclose(compared(work).points[1], first.points[1])
    work.speed = 0.3
    compared(work)
    work.folder.complete('before', {})
    work.speed = 0.1
    for a, b in zip(first.points, compared(work).points):
        np.testing.assert_allclose(a, b)
    low = first.points[1][:, 1].min()
    work.ranges = [f'joint2:{low + 0.01}:3']
    with pytest.raises(StateError, match='leaves --range.*--repeat before'):
        compared(work)


def test_what_is_given_is_written(tmp_path, monkeypatch, capsys):
    path, arms = tmp_path / 'given.yaml', []
    path.write_text('/**:\n  ros__parameters:\n    urdf_file: other.urdf\n'
                    '    command_joints: [joint2, joint1]\n    natural_frequency: [5.0]\n')

    def arm(robot, model, folder, tick, **given):
        arms.append(given)
        return Fake()

    monkeypatch.setitem(sys.modules, 'robodyn_ros.commissioning.ros_arm',
                        SimpleNamespace(RosArm=arm))
    made = []
    monkeypatch.setattr(command, 'STEPS', [Step(
        'preflight', 'Text.', True, lambda work: made.append(work) or ([], {}))])
    monkeypatch.setattr(command, 'write_report', lambda _work, path: path)
    monkeypatch.setattr('builtins.input', lambda _question: 'y')
    monkeypatch.chdir(tmp_path)
    Folder(tmp_path / 'dry_run', []).complete('preflight', {})  # has a folder of its own
    options = ['commission', str(ARM), '--params', str(path)]
    assert main([*options, '--driver-compensates-gravity']) == 0
    assert arms[0]['gravity_in_driver'] and not made[0].found()
    values, = yaml.safe_load((tmp_path / 'commission' / 'arm.yaml').read_text()).values()
    values = values['ros__parameters']
    assert values['driver_compensates_gravity'] and values['urdf_file'] == str(ARM)
    assert values['command_joints'] == ['joint2', 'joint1']
    # the names are those of parameters
    assert set(made[0].values()) <= {row.name for row in PARAMETERS}
    # neither is forgotten when it is resumed
    monkeypatch.setattr('builtins.input', lambda _question: 'no')
    assert main(options) == USER_MISTAKE
    assert 'belongs to another arm or other parameters' in capsys.readouterr().err


@pytest.mark.parametrize('texts', [(), ('', 'perhaps', 'q')])
def test_who_carries_the_arm_is_asked(tmp_path, capsys, answers, texts):
    asked = answers(*texts)
    assert main(['commission', str(ARM), '--folder', str(tmp_path / 'new')]) == USER_MISTAKE
    assert 'Does the driver add the gravity torque itself' in asked[0]
    assert len(asked) == len(texts) + 1
    assert 'who carries the arm is not known' in capsys.readouterr().err
    assert not (tmp_path / 'new').exists()


def test_what_cannot_be_is_refused(tmp_path, capsys):
    assert main(['commission', str(ARM), '--yes', '--folder', str(tmp_path)]) == USER_MISTAKE
    assert '--yes moves an arm without asking' in capsys.readouterr().err
    assert main(['commission', str(ARM), '--dry-run', '--driver-compensates-gravity',
                 '--folder', str(tmp_path)]) == USER_MISTAKE
    assert 'leave out --driver-compensates-gravity' in capsys.readouterr().err
    Folder(tmp_path, ['--urdf', 'a']).complete('preflight', {})
    with pytest.raises(RobodynError, match='belongs to another arm or'):
        Folder(tmp_path, ['--urdf', 'b'])


@pytest.mark.parametrize('state, words', [
    ('{', 'Expecting property name'), ('[]', r'it is \[\], not the state'),
    ('null', 'it is None'), ('[' * 100_000, 'recursion'), ('{}', "'robot' is missing"),
    ('{"robot": 1, "done": {}}', 'not a list of texts'),
    ('{"robot": [], "done": []}', 'not the results of steps'),
    ('{"robot": [], "done": {"gains": {"parameters": 3}}}', 'not the result of a step'),
    ('{"robot": [], "done": {"live": null}}', "'live' has None"),
    ('{"robot": [], "done": {"identify1": {"urdf_file": "../a"}}}', 'not the name of a file')])
def test_a_state_that_is_no_use_is_refused(tmp_path, state, words):
    (tmp_path / 'state.json').write_text(state)
    with pytest.raises(RobodynError, match='state.json cannot be read .*' + words):
        Folder(tmp_path, [])


@pytest.mark.parametrize('text', ['', 'time\n', 'time,a\n1,2\n', 'a\n1,2\n3\n', '\0\xff'])
def test_a_recording_of_a_step_that_is_no_use_is_refused(tmp_path, text):
    (tmp_path / 'run.csv').write_text(text, encoding='latin-1')
    with pytest.raises(RobodynError, match='run.csv is not the recording of a step'):
        load(tmp_path / 'run.csv', 2)


@pytest.mark.parametrize('text', ['{', '[]', 'null', '[[0, 1], [[0]], [[0]], [[0]]]', '[1, 2]'])
def test_a_motion_that_is_no_use_is_refused(work, tmp_path, text):
    work.folder.complete('before', {})
    (tmp_path / 'motion.json').write_text(text)
    with pytest.raises(RobodynError, match='motion.json cannot be read .* --repeat before'):
        compared(work)


def synthetic(delay=0.006, noise=1e-3, period=0.002, stuck=()):
    """Return runs at rest and of small steps of an arm that follows exactly."""
    model, rng = RobotModel.from_urdf(ARM), np.random.default_rng(0)
    start = 0.5 * (np.maximum(model.lower, -1.0) + np.minimum(model.upper, 1.0))
    at, positions, _, _ = step_points(model, start)
    times = np.arange(0.0, at[-1], period)
    # cosines from point to point
    k = np.clip(np.searchsorted(at, times, 'right') - 1, 0, len(at) - 2)
    part = np.clip((times - at[k]) / (at[k + 1] - at[k]), 0.0, 1.0)[:, None]
    reference = positions[k] + 0.5 * (1 - np.cos(np.pi * part)) * (positions[k + 1] - positions[k])
    velocity = np.gradient(reference, times, axis=0)
    torque = np.gradient(velocity, times, axis=0)
    effort = np.column_stack([np.interp(times - delay, times, each) for each in torque.T])
    position = reference.copy()
    position[:, list(stuck)] = start[list(stuck)]
    velocity = velocity + noise * rng.normal(size=velocity.shape)
    run = Run(times, reference, position, velocity, effort, torque, 0.001, '')
    rest = Run(*(np.repeat(each[:1], 500, axis=0) for each in run[:6]), 0.0, '')
    rest = rest._replace(times=times[:500], velocity=noise * rng.normal(size=(500, model.nv)))
    return rest, run


def test_small_steps_stay_within_narrow_ranges():
    model = RobotModel.from_urdf(ARM)
    start, half = 0.1 * np.ones(model.nv), np.array([1.0, 0.04, 0.01, 1.0, 1.0, 1.0])
    model = replace(model, lower=start - half, upper=start + 0.9 * half)
    _, positions, _, _ = step_points(model, start)
    assert (positions >= model.lower).all() and (positions <= model.upper).all()
    np.testing.assert_allclose(np.ptp(positions, axis=0), np.minimum(half, 0.05))


def test_delay_noise_and_sticking_are_measured():
    found = measure(*synthetic(stuck=(2,)))
    assert found.delay == pytest.approx(0.006, abs=5e-4)
    assert found.period == pytest.approx(0.002)
    np.testing.assert_allclose(found.velocity_noise, 1e-3, rtol=0.15)
    assert found.sticking[2] == 1.0 and found.sticking[[0, 1, 3, 4, 5]].max() < 0.05
    np.testing.assert_allclose(found.velocity_ratio[[0, 1, 3, 4, 5]], 1.0, atol=0.02)


@pytest.mark.parametrize('late', [0.0, 0.004])
def test_rough_positions_and_uneven_stamps_do_not_make_velocities_late(late):
    rest, run = synthetic(stuck=(2,))
    velocity = np.column_stack([np.interp(run.times - late, run.times, each)
                                for each in run.velocity.T])
    uneven = run.times + np.random.default_rng(1).uniform(0.0, 1.9e-3, len(run.times))
    found = measure(rest, run._replace(position=np.round(run.position / 1e-4) * 1e-4,
                                       velocity=velocity, times=uneven))
    assert found.velocity_lag == pytest.approx(late, abs=1e-3)
    np.testing.assert_allclose(found.velocity_ratio[[0, 1, 3, 4, 5]], 1.0, atol=0.02)


def test_noise_that_is_absent_at_rest_is_measured_in_motion():
    """As of velocities that a driver derives from quantised positions."""
    rest, run = synthetic(noise=0.0)
    np.testing.assert_allclose(measure(rest, run).velocity_noise, 0.0, atol=2e-3)
    count = np.round(run.position / 1e-3)
    rough = 1e-3 * np.gradient(count, run.times, axis=0)
    found = measure(rest._replace(velocity=0.0 * rest.velocity), run._replace(velocity=rough))
    moves = np.abs(np.gradient(run.reference, run.times, axis=0)) > 0.03
    true = [np.std((rough - run.velocity)[moves[:, j], j]) for j in range(run.position.shape[1])]
    assert (found.velocity_noise > 0.5 * np.array(true)).all()
    assert (found.velocity_noise < 2.0 * np.array(true)).all()


def test_signals_without_a_change_have_no_delay():
    times = np.linspace(0.0, 1.0, 100)
    assert np.isnan(lag(times, np.ones((100, 2)), np.ones((100, 2))))


def measures(delay=0.004, noise=0.0):
    return Measures(delay, 0.002, 0.002, np.zeros(2), np.full(2, noise), np.ones(2), 0.0,
                    np.zeros(2))


def test_gains_follow_from_delay_and_noise():
    inertia, limit = np.array([1.0, 0.1]), np.array([100.0, np.inf])
    # kd T = 0.4, between 60 and 45 degrees of phase margin
    np.testing.assert_allclose(natural_frequency(measures(), inertia, limit), 50.0)
    np.testing.assert_allclose(natural_frequency(measures(1e-5), inertia, limit), 60.0)
    np.testing.assert_allclose(natural_frequency(measures(1.0), inertia, limit), 5.0)
    # a hundredth of the effort limit: 2 wn I sigma = 1 N m
    np.testing.assert_allclose(natural_frequency(measures(noise=0.05), inertia, limit),
                               [10.0, 50.0])


def test_a_run_becomes_a_table_and_is_read_again(tmp_path):
    _, run = synthetic()
    names = RobotModel.from_urdf(ARM).joint_names
    save(run, names, tmp_path / 'run.csv')
    again = load(tmp_path / 'run.csv', len(names))
    for a, b in zip(run[:6], again[:6]):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
    moving = run.moving()
    assert moving.times[0] < 0.6 and np.ptp(moving.reference, axis=0).min() > 0.0
    assert len(run.after(1.0).times) == np.count_nonzero(run.times >= 1.0)
