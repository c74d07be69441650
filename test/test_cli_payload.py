"""The command `robodyn payload`: mass and centre within their intervals, despite friction."""

import json

from lockstep_arm import LockstepArm
import numpy as np
import pytest

from robodyn_ros.cli import payload as command
from robodyn_ros.cli.main import FAILURE, main, USER_MISTAKE
from robodyn_ros.commissioning.ranges import restricted
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.files import CONTROLLER as NODE
from robodyn_ros.identification.passes import pass_points, stroke
from robodyn_ros.identification.static_payload import (
    choose_poses, estimate_payload, moment_columns, Pass)
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.share import share_path
from robodyn_ros.simulation import mismatched, Plant
from robodyn_ros.simulation.motion import plan_motion

ARM, LINK = share_path('urdf', 'robodyn6.urdf'), 'tool0'
MODEL = RobotModel.from_urdf(ARM)
MASS, COM = 1.4, np.array([0.03, -0.02, 0.09])
FRICTION = np.array([6.0, 6.0, 4.0, 1.0, 0.8, 0.5])


class SimulatedPlant:
    """The package's plant with friction that the model does not have, and noisy efforts."""

    period = 0.002

    def __init__(self, model):
        self._plant = Plant(model, self.period, friction=FRICTION, armature=0.02)
        self._plant.reset(plan_motion(Dynamics(MODEL), 3.0, 0.3).start)
        self._plant.step(self._plant.dynamics.gravity(self._plant.q))
        self._rng = np.random.default_rng(0)

    def read(self):
        noise = 0.05 * self._rng.normal(size=MODEL.nv)
        return self._plant.q.copy(), self._plant.qd.copy(), self._plant.applied + noise

    def step(self, torque):
        assert self._plant.step(torque), self._plant.fault


class Running(LockstepArm):
    """An arm whose controller knows rotors, and friction to within a tenth."""

    def __init__(self, model):
        super().__init__(Robot(ARM), SimulatedPlant(model))
        self.start(ARM, {'disturbance_observer': True, 'armature': [0.02] * MODEL.nv,
                         'friction.coulomb': (0.9 * FRICTION).tolist()})
        self.published = []

    def publish_payload(self, payload):
        self.published.append(payload)

    def close(self):
        pass


@pytest.fixture
def measure(monkeypatch, tmp_path, capsys):
    """Return a function that measures an arm by the command: code, output, arm."""
    def run(model, *options):
        arms = []
        monkeypatch.setattr(command, 'make_arm', lambda *_: arms.append(Running(model)) or arms[0])
        consent = () if '--ask' in options else ('--yes', '--at-the-stop')
        code = main(['payload', str(ARM), '--link', LINK, *consent,
                     *(each for each in options if each != '--ask')])
        return code, ''.join(capsys.readouterr()), arms and arms[0]
    return run


def held(model):
    return model.with_payload(LINK, MASS, COM, 0.004 * np.eye(3))


def test_mass_and_centre_are_found_despite_friction(measure, tmp_path):
    path = tmp_path / 'tool.yaml'
    code, said, arm = measure(held(MODEL), '--output', str(path))
    assert code == 0, said
    found, = arm.published
    assert found.link == LINK and found.mass == pytest.approx(MASS, abs=0.03)
    np.testing.assert_allclose(found.com, COM, atol=5e-3)
    assert f'/{NODE}/payload' in path.read_text() and 'm: 1.' in path.read_text()


def test_wrong_masses_cancel_with_a_measurement_without_payload(measure, tmp_path):
    heavy = mismatched(MODEL, dict(zip(MODEL.body_names, np.linspace(0.9, 1.15, MODEL.nb))))
    empty = tmp_path / 'empty.json'
    code, said, arm = measure(heavy, '--save', str(empty), '--poses', '8')
    assert code == 0 and 'payload of tool0' in said
    assert not arm.published  # errors of the URDF are no payload
    code, said, arm = measure(held(heavy), '--without', str(empty), '--poses', '8')
    assert code == 0, said
    assert arm.published[0].mass == pytest.approx(MASS, abs=0.04)
    np.testing.assert_allclose(arm.published[0].com, COM, atol=8e-3)


def test_without_a_payload_none_is_reported(measure):
    code, said, arm = measure(MODEL, '--poses', '8')
    assert code == FAILURE and 'none: the mass is not significant' in said
    assert not arm.published


def test_intervals_contain_the_truth_nine_times_of_ten():
    dynamics, rng, hits = Dynamics(MODEL), np.random.default_rng(1), []
    poses = choose_poses(dynamics, LINK, 16, float(stroke(MODEL).max()))
    loaded = Dynamics(held(MODEL))
    for _ in range(60):
        offset = 0.3 * rng.normal(size=MODEL.nv)
        passes = [Pass(q, loaded.gravity(q) + offset + 0.2 * rng.normal(size=MODEL.nv))
                  for q in poses]
        found = estimate_payload(dynamics, LINK, passes)
        hits += [abs(found.mass - MASS) <= found.mass_margin,
                 *(np.abs(found.com - COM) <= found.com_margin)]
        assert found.mass_margin < 0.2 * MASS
    assert 0.88 <= np.mean(hits) <= 0.99


def test_columns_are_the_gravity_of_a_payload():
    dynamics = Dynamics(MODEL)
    q = choose_poses(dynamics, LINK, 5, 0.06)
    expected = Dynamics(held(MODEL)).gravity(q) - dynamics.gravity(q)
    np.testing.assert_allclose(moment_columns(dynamics, LINK, q) @ [MASS, *(MASS * COM)],
                               expected, atol=1e-9)


def test_chosen_poses_tell_more_than_drawn_ones():
    dynamics = Dynamics(MODEL)
    chosen = choose_poses(dynamics, LINK, 8, 0.06)
    drawn = choose_poses(dynamics, LINK, 200, 0.06)
    assert (chosen >= MODEL.lower + 0.06).all() and (chosen <= MODEL.upper - 0.06).all()

    def deviation(q):
        columns = moment_columns(dynamics, LINK, q)
        columns = columns - columns.mean(axis=0)  # what is constant may be an offset
        A = columns.reshape(-1, 4)
        return np.sqrt(np.linalg.inv(A.T @ A)[0, 0])

    rng = np.random.default_rng(0)
    others = [deviation(rng.permutation(drawn)[:8]) for _ in range(30)]
    assert deviation(chosen) < np.median(others)


def test_the_motion_is_shown_and_restricted_and_asks_for_consent(measure, monkeypatch):
    asked = []
    monkeypatch.setattr('builtins.input', lambda question: asked.append(question) or 'q')
    monkeypatch.setattr(Running, 'execute', lambda *_: pytest.fail('it moves'))
    start = plan_motion(Dynamics(MODEL), 3.0, 0.3).start[1]
    low, high = start - 0.5, start + 0.5
    code, said, _ = measure(MODEL, '--poses', '8', '--range', f'joint2:{low}:{high}', '--ask')
    assert code == FAILURE and len(asked) == 1 and 'The arm will move' in asked[0]
    row = next(line.split() for line in said.splitlines() if line.startswith('joint2'))
    assert low - 0.01 <= float(row[1]) < float(row[2]) <= high + 0.01
    code, said, _ = measure(MODEL, '--range', f'joint2:{start + 0.2}:{start + 1.0}', '--ask')
    assert code == USER_MISTAKE and "joint 'joint2' is at" in said and len(asked) == 1


def test_passes_stay_within_narrow_ranges():
    model = restricted(MODEL, ['joint2:0.3:0.35', 'joint4:-0.5:1'])
    poses = choose_poses(Dynamics(model), LINK, 6, float(stroke(model).max()))
    _, positions, *_ = pass_points(model, np.zeros(6), poses)
    assert (positions >= model.lower).all() and (positions <= model.upper).all()
    assert np.ptp(positions, axis=0).min() > 0.02
    np.testing.assert_array_equal(stroke(MODEL), 0.1)


def test_passes_through_other_poses_are_refused_before_the_arm_moves(measure, tmp_path):
    path, dynamics = tmp_path / 'empty.json', Dynamics(MODEL)
    poses = choose_poses(dynamics, LINK, 8, float(stroke(MODEL).max()), seed=1)
    path.write_text(json.dumps([[q.tolist(), dynamics.gravity(q).tolist()] for q in poses]))
    for options in (['--poses', '8'], ['--poses', '6', '--seed', '1']):
        code, said, arm = measure(MODEL, '--without', str(path), *options)
        assert code == USER_MISTAKE and 'is of other poses' in said and not arm


def test_mistakes_are_explained(measure, tmp_path, capsys):
    dynamics = Dynamics(MODEL)
    with pytest.raises(ArgumentError, match='at least 4'):
        estimate_payload(dynamics, LINK, [Pass(np.zeros(6), np.zeros(6))] * 3)
    with pytest.raises(ArgumentError, match='immovable base'):
        moment_columns(dynamics, 'base_link', np.zeros((1, 6)))
    path = tmp_path / 'other.json'
    path.write_text(json.dumps([[[0.0], [0.0]]] * 4))
    code, said, _ = measure(MODEL, '--without', str(path))
    assert code == USER_MISTAKE and 'another number of joints' in said
    for text in ('{', 'null', '3', '[[]]', '[[1]]', '[{}]'):
        path.write_text(text)
        code, said, _ = measure(MODEL, '--without', str(path))
        assert code == USER_MISTAKE and 'give a file that was written by --save' in said
