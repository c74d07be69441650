"""The cycle as one function: the same on floats and in machine code, whatever comes."""

from itertools import count
import math
from pathlib import Path

import numpy as np
import pytest
from design import settings_of, with_settings
from random_trees import Mixture, random_tree
from robodyn_ros.control import ArmController, with_slots
from robodyn_ros.control.arm.design import Design
from robodyn_ros.control.arm.program_writer import write_gains
from robodyn_ros.control.arm.trajectory_table import Paths
from robodyn_ros.control.blocks import Memory, Program
from robodyn_ros.control.steps import external_law, laws, modes
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.safety.acceptance import (
    BETWEEN, DUE, FROM_STATE, RECEIVED, REQUESTS, SILENT, WAITING)
from robodyn_ros.trajectory import Reference, Tolerances, Trajectory

URDF = Path(__file__).resolve().parents[1] / 'urdf'
CHAIN = Mixture(branching=0.0, prismatic=0.2, fixed=0.2, empty=0.0)
LARGEST = 60.0  # N m, of the effort limits
EVERY = 10      # call of a function is made on floats as well
STRANGE = (math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e300, 1e6, -1e7)
REQUEST_KINDS = (modes.TO_REST, modes.TO_FLOAT, modes.TO_TAKE_OVER, modes.TO_RESUME,
                 modes.TO_REACH, modes.TO_DEACTIVATE)


class RandomWalk:
    """Random walk of a cycle through states, requests and programs."""

    def __init__(self, urdf, seed):
        self.random = np.random.default_rng(seed)
        self.model = with_slots(RobotModel.from_urdf(urdf))
        self.n = self.model.nv
        self.control = ArmController(
            Dynamics(self.model), settings_of(
                natural_frequency=self.random.uniform(5.0, 30.0), ki=50.0, armature=0.1,
                effort_limit=np.minimum(self.model.effort_limit, LARGEST), activation_time=0.01,
                collision__threshold=np.full(self.n, 20.0), collision__reaction='stop'))
        self.host, self.paths = self.control.host, Paths(self.control.host)
        self.host.compiled.prepare(*laws.NAMES)
        self.functions = [[self._checked(each) for each in table]
                          for table in self.host.compiled.functions.values()]
        self.now, self.q = 0.0, self.random.normal(0.0, 0.4, self.n)
        self.modes, self.codes = set(), set()
        self._request(modes.TO_TAKE_OVER)

    def _checked(self, function):
        """Return machine code as a function over lists, compared with floats now and then."""
        calls = count()

        def call(*inputs):
            result = function(*inputs)
            if next(calls) % EVERY == 0:
                size = np.abs(result[np.isfinite(result)]).max(initial=LARGEST)
                np.testing.assert_allclose(function.interpret(*inputs), result, rtol=1e-9,
                                           atol=1e-12 * size)
            return result.tolist()
        return call

    def _request(self, kind):
        self.host.program.motion.kind[()] = kind
        self.host.program.motion.request += 1.0

    def step(self):
        """Draw a change, a kind of cycle and a state; return floats and machine code."""
        host, random = self.host, self.random
        if random.random() < 0.3:
            self._change()
        self.now += random.choice([1e-3] * 6 + [2e-2, 2e-2, 0.0, 0.3, -0.01])
        kind = random.choice([FROM_STATE] * 6 + [RECEIVED] * 3 + [
            BETWEEN, SILENT, REQUESTS, WAITING, DUE])
        state, m = host.state, host.memory
        self.q = np.clip(self.q + random.normal(0.0, 1e-3, self.n), -3.0, 3.0)
        state.kind[()], state.now[()] = kind, self.now
        state.q[:], state.qd[:] = self.q, random.normal(0.0, 0.2, self.n)
        state.arrival[()] = self.now + random.choice([0.0, 1e-4])
        state.stamp[()] = random.choice([0.0, self.now, self.now, self.now - 2e-3])
        state.clock[()] = self.now + random.choice([1e-4, 1e-4, 0.1, 5.0])
        state.permitted[()] = random.random() < 0.9
        state.effort[:] = random.choice([math.nan, 1.0]) * m.sent
        if random.random() < 0.05:
            host.program.motion.reset += random.integers(2)
            row = (state.q, state.qd, state.effort)[random.integers(3)]
            row[random.integers(self.n)] = random.choice(STRANGE)
        floats = host.compiled.function.interpret(
            *self.functions, host.bound.segments, *host.values.values())
        compiled = host.run(kind, self.now).copy(), host.values['memory'].copy()
        self.modes.add(int(m.motion.mode))
        self.codes |= {int(m.motion.message.code), int(m.motion.fault.code)}
        return floats, compiled

    def _change(self):
        random, p = self.random, self.host.program
        if self.host.memory.motion.mode == modes.HOLD and random.random() < 0.3:
            p.motion.reset += 1.0
            choice = random.choice([5, 9])
        else:
            choice = random.integers(11)
        if choice < 3:
            self._request(random.choice(REQUEST_KINDS))
            p.motion.code[()], p.motion.disables[()] = modes.REQUESTED, random.integers(3)
            p.motion.floats[()] = random.integers(2)
            p.motion.pose.target[:] = [*np.eye(3).ravel(), *random.normal(0.0, 0.5, 3)]
        elif choice == 3:
            p.motion.fault += random.integers(2)
            p.motion.fault_code[()] = modes.REQUESTED + 1.0
            p.motion.shutdown.number += random.integers(2)
            p.motion.shutdown.releases[()] = p.motion.shutdown.release[()] = 0.2
        elif choice == 4:
            p.motion.reset += 1.0
        elif choice == 5:
            self._follow()
        elif choice == 6:
            design = Design.make(self.control.dynamics, with_settings(
                self.control.settings, natural_frequency=random.uniform(5.0, 30.0)))
            write_gains(p, design, str(random.choice(laws.NAMES[1:])))
            p.switch += 1.0
            p.springs += 1.0
        elif choice == 7:
            p.loads.target[:3] = random.normal(0.0, 5.0, 3)
            p.loads.duration[()] = random.choice([0.0, 0.05])
            p.loads.change += 1.0
        elif choice == 8:
            for wrench in (p.external, p.target):
                wrench.wrench[:] = random.normal(0.0, 3.0, wrench.wrench.size)
                wrench.end[:] = self.now + random.choice([-1.0, 0.02])
        elif choice == 9:
            p.external_law.request += 1.0
            p.external_law.choice[()] = random.choice(
                [external_law.NONE, external_law.LINEAR, external_law.LINEAR])
            p.external_law.until[()] = self.now + 0.2
            p.external_law.position[:] = self.q
            p.external_law.gain[:] = random.normal(0.0, 5.0, p.external_law.gain.size)
        else:
            p.acceptance.takeover_count += random.integers(2)
            p.acceptance.slack[()] = random.choice([math.inf, 1e-3, 0.1])
            p.acceptance.continuous[:] = random.integers(2, size=self.n)
            p.limits.effort[:] = random.uniform(0.3, 1.0, self.n) * self.control.bounds.usable
            p.collision.reaction[()] = random.integers(3)
            p.reflection.number += 1.0
            p.reflection.torque[:], p.reflection.end[()] = 1.0, self.now + 0.1
            p.reflection.gain[:], p.reflection.limit[:] = 0.5, 5.0

    def _follow(self):
        m, random = self.host.memory, self.random
        reference = Reference(*(np.array(row) for row in (
            m.motion.reference.q, m.motion.reference.qd, m.motion.reference.qdd,
            m.motion.reference.effort)))
        goal = reference.q + random.normal(0.0, 1e-3, self.n)
        if not np.isfinite(goal).all():  # taken over where it is not: there is no way from there
            return
        trajectory = Trajectory.from_points([0.004], [goal], [0.0 * goal], [0.0 * goal],
                                            start=reference)
        tolerances = Tolerances.from_defaults(
            self.n, random.choice([0.0, 0.0, 1e-4]), random.choice([0.0, 1.0, 1e-4]), 0.02, 0.0)
        self.paths.put(trajectory, float(m.last_time) + random.choice([0.0, 0.01]), tolerances)
        self._request(modes.TO_FOLLOW)


def assert_same(floats, compiled, bound, dimensions):
    (torque, memory), (fast, after) = floats, compiled
    assert np.isfinite(fast).all()
    np.testing.assert_allclose(torque, fast, rtol=0.0, atol=1e-12 * bound)

    def same(a, b):
        return (a == b) | (abs(a - b) <= 1e-9 * np.maximum(bound, abs(a))) | (a != a) & (b != b)

    with np.errstate(invalid='ignore'):  # of two infinities
        if not same(memory, after).all():
            pytest.fail('\n'.join(blocks.differences(Memory, memory, after, dimensions, same)))


def compare_on_walk(urdf, seed, steps):
    """Compare floats with machine code on the way; return modes and codes that were met."""
    walk = RandomWalk(urdf, seed)
    for _ in range(steps):
        assert_same(*walk.step(), LARGEST, walk.host.compiled.dimensions)
    return walk.modes, walk.codes


def test_floats_and_machine_code_agree_in_all_modes():
    reached, codes = set(), set()
    for seed in range(4):
        more = compare_on_walk(URDF / 'reference' / 'two_link_payload.urdf', seed, 320)
        reached, codes = reached | more[0], codes | more[1]
    assert reached == {int(each) for each in (
        modes.INACTIVE, modes.HOLD, modes.FLOAT, modes.TRACK, modes.STOP, modes.REACH,
        modes.LINEAR, modes.CARRY)}
    assert codes >= {int(each) for each in (
        modes.SILENT, modes.AT_GOAL, modes.INTERRUPTED, modes.UNUSABLE, modes.REQUESTED)}


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(10))
def test_floats_and_machine_code_agree_on_seven_joints(seed):
    compare_on_walk(URDF / 'robodyn7.urdf', seed, 1000)


@pytest.mark.slow
@pytest.mark.parametrize('joints', [1, 3, 4, 8, 12])
def test_floats_and_machine_code_agree_on_any_number_of_joints(joints):
    compare_on_walk(random_tree(5, joints, CHAIN), 1, 200)


# --- blocks -------------------------------------------------------------------------------------

DIMENSIONS = {'joints': 2, 'bodies': 2, 'wrenches': 12, 'runtime': 13, 'motion': 12, 'terms': 24,
              'task': 6, 'pose': 12, 'feedback': 8, 'pseudo_inertia': 16, 'report': 20,
              'samples': 64, 'edges': 6}


@pytest.mark.parametrize('cls', [Memory, Program])
def test_every_number_has_a_name_of_its_own_a_unit_and_a_meaning(cls):
    entries = blocks.entries(cls, DIMENSIONS)
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(names)
    assert [entry.begin for entry in entries[1:]] == [e.begin + e.size for e in entries[:-1]]
    for entry in entries:
        assert entry.meaning[0].isupper() and entry.meaning.endswith('.'), entry


def test_views_are_the_numbers_themselves():
    numbers = np.arange(float(blocks.size(Memory, DIMENSIONS)))
    view = blocks.views(Memory, numbers, DIMENSIONS)
    scalars = blocks.unpack(Memory, numbers.tolist(), DIMENSIONS)
    assert view.motion.stop.elapsed == scalars.motion.stop.elapsed
    assert list(view.sent) == scalars.sent
    view.motion.stop.elapsed[()] = -1.0
    view.sent[1] = -2.0
    entries = {entry.name: entry.begin for entry in blocks.entries(Memory, DIMENSIONS)}
    assert numbers[entries['motion.stop.elapsed']] == -1.0
    assert numbers[entries['sent'] + 1] == -2.0


def test_differences_and_explanations_name_the_fields():
    a = np.zeros(blocks.size(Memory, DIMENSIONS))
    b = a.copy()
    blocks.views(Memory, b, DIMENSIONS).motion.reference.q[1] = 0.5
    assert blocks.differences(Memory, a, b, DIMENSIONS) == [
        'motion.reference.q[1]: 0 and 0.5 rad']
    assert 'motion.reference.q = 0, 0.5 rad  # Position.' in blocks.explain(
        Memory, b, DIMENSIONS)


def test_a_block_takes_as_many_scalars_as_it_has():
    with pytest.raises(ArgumentError, match='scalars for the'):
        blocks.unpack(Memory, [0.0] * 3, DIMENSIONS)
