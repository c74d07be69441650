"""
Errors put into a copy of the package, one at a time: the tests must see every one of them.

Each mutant is a text that the source has exactly once, what stands there instead, and the tests
that must fail. A mutant that no test notices is a hole in the tests, not in the package.
"""

from dataclasses import dataclass
import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest
import robodyn_ros

PACKAGE, TESTS = Path(robodyn_ros.__file__).parent, Path(__file__).parent
FAILED = 1  # of pytest: tests ran, and some failed
REFERENCE = 'test_dynamics_reference.py::test_planar_systems_equal_their_closed_forms'
PROPERTIES = 'test_dynamics_properties.py'
TILTED = f'{PROPERTIES}::test_tilted_mounting_equals_tilted_gravity'
WRENCHES = f'{PROPERTIES}::test_wrench_by_the_environment_relieves_the_motors'
LAGRANGE = f'{PROPERTIES}::test_velocity_terms_are_those_of_lagrange'
COMMAND = """
import sys
sys.path.insert(0, sys.argv[1])
import robodyn_ros
assert robodyn_ros.__file__.startswith(sys.argv[1]), robodyn_ros.__file__
import pytest
sys.exit(pytest.main(sys.argv[2:]))
"""


@dataclass(frozen=True)
class Mutant:
    """An error: in `file`, `new` in place of `old`; seen by these tests."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


# The errors of a hand-written dynamics: signs, frames, axes, order, and what was left out.
QUICK = (
    Mutant('gravity upside down', 'dynamics/algorithms/rnea.py',
           'motion = accelerations(tree, poses, qd, qdd, neg(runtime[GRAVITY]))',
           'motion = accelerations(tree, poses, qd, qdd, runtime[GRAVITY])', (REFERENCE,)),
    Mutant('gravity of the earth for all', 'dynamics/algorithms/rnea.py',
           'motion = accelerations(tree, poses, qd, qdd, neg(runtime[GRAVITY]))',
           'motion = accelerations(tree, poses, qd, qdd, (0.0, 0.0, 9.81))', (REFERENCE,)),
    Mutant('frame transposed', 'dynamics/algorithms/kinematics.py',
           'R = matmul(R, joint_rotation(tree.axis[i], position))',
           'R = matmul(transpose(R), joint_rotation(tree.axis[i], position))', (TILTED,)),
    Mutant('axis not of length one', 'model/joints.py',
           'return snap(axis / np.linalg.norm(axis))', 'return snap(axis)',
           ('test_model_robot.py',)),
    Mutant('joints in the order of their names', 'model/build.py',
           'index = {name: position for position, name in enumerate(found)}',
           'index = {name: position for position, name in enumerate(sorted(found))}',
           ('test_model_selection.py', 'test_model_robot.py')),
    Mutant('wrench of the robot instead of on it', 'dynamics/dynamics.py',
           '_added(tau, -loads, out=tau)', '_added(tau, loads, out=tau)', (WRENCHES,)),
)
SLOW = (
    Mutant('joint turns backwards', 'dynamics/algorithms/kinematics.py', '+ s * skew(axis)[i][j]',
           '- s * skew(axis)[i][j]', (REFERENCE,)),
    Mutant('half the Coriolis acceleration of a slide', 'dynamics/algorithms/motion.py',
           'scale(2.0, cross(w, zqd))', 'cross(w, zqd)', (REFERENCE,)),
    Mutant('no gyroscopic moment', 'dynamics/algorithms/rnea.py',
           'add(add(apply(J, dw), cross(w, apply(J, w))), cross(h, a))',
           'add(apply(J, dw), cross(h, a))', (LAGRANGE,)),
    Mutant('moment without its lever', 'dynamics/algorithms/rnea.py',
           'return force, add(apply(R, moment), cross(r, force))',
           'return force, apply(R, moment)', (REFERENCE,)),
    Mutant('mass matrix of bodies moved the wrong way', 'dynamics/algorithms/inertia.py',
           'matsub(congruence(R, J), symmetric(shift))',
           'matadd(congruence(R, J), symmetric(shift))', (REFERENCE,)),
    Mutant('velocity products from the parent only', 'dynamics/algorithms/motion.py',
           'dw = add(add(dw, cross(w, zqd)), zqdd)', 'dw = add(dw, zqdd)', (LAGRANGE,)),
    Mutant('mimic joint without its offset', 'dynamics/algorithms/kinematics.py',
           'tree.multiplier[i] * q[tree.coordinate[i]] + tree.offset[i]',
           'tree.multiplier[i] * q[tree.coordinate[i]]',
           ('test_dynamics_pinocchio.py::test_joint_torques[tied6-5]',)),
    Mutant('mimic joint gives no force back', 'dynamics/algorithms/kinematics.py',
           'total[c] = total[c] + tree.multiplier[i] * joint_values[i]',
           'total[c] = total[c] + joint_values[i]', (PROPERTIES,)),
    Mutant('payload mirrored', 'dynamics/algorithms/inertia.py',
           'payload = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))',
           'payload = ((xx, -xy, xz), (-xy, yy, yz), (xz, yz, zz))', (PROPERTIES,)),
    Mutant('angular rows first', 'dynamics/algorithms/kinematics.py',
           'enumerate((*linear, *angular))', 'enumerate((*angular, *linear))', (PROPERTIES,)),
    Mutant('link in axes of its body', 'dynamics/algorithms/kinematics.py',
           'return matmul(R, frame.rotation), add(r, apply(R, frame.translation))',
           'return matmul(R, frame.rotation), add(r, frame.translation)', (PROPERTIES,)),
    Mutant('articulated inertia moved the wrong way', 'dynamics/algorithms/aba.py',
           'return symmetric(A), matadd(H, PK), K', 'return symmetric(A), matsub(H, PK), K',
           (f'{PROPERTIES}::test_forward_dynamics_of_a_large_tree',)),
    Mutant('potential energy upside down', 'dynamics/algorithms/energy.py',
           'return -dot(runtime[GRAVITY], first_moments',
           'return dot(runtime[GRAVITY], first_moments',
           (f'{PROPERTIES}::test_gravity_is_the_slope_of_the_potential_energy',)),
    Mutant('Christoffel symbols without the points', 'dynamics/algorithms/coriolis.py',
           'fields = [(motion_cross(v, s), s[0]) for',
           'fields = [(motion_cross(v, s), ZERO) for',
           ('test_dynamics_analysis.py',)),
    Mutant('derivative forgets what carries the joint', 'dynamics/algorithms/derivatives.py',
           'scale(2.0, rate[0]))', 'rate[0])', ('test_dynamics_analysis.py',)),
    Mutant('products of inertia with the wrong sign', 'dynamics/algorithms/regressor.py',
           'G[0][1] + G[1][0], G[0][2]', '-G[0][1] - G[1][0], G[0][2]',
           ('test_dynamics_analysis.py',)),
    Mutant('roll and pitch exchanged', 'model/frame.py', '(sr, cr), (sp, cp), (sy, cy) = (',
           '(sp, cp), (sr, cr), (sy, cy) = (', ('test_model_oracle.py',)),
    Mutant('inertia turned the wrong way', 'model/inertia.py',
           'rotated = r @ np.asarray(inertia, dtype=float) @ r.T',
           'rotated = r.T @ np.asarray(inertia, dtype=float) @ r', ('test_model_inertia.py',)),
    Mutant('payload about the wrong point', 'model/payload.py',
           'j = parallel_axis(rotate_inertia(self.inertia, frame.rotation), self.mass, com)',
           'j = rotate_inertia(self.inertia, frame.rotation)', (PROPERTIES,)),
    Mutant('a lane of the batch twice', 'dynamics/jit/loops.py',
           "[f'  %u{lane} = add i64 %row, {lane}',", "[f'  %u{lane} = add i64 %row, {lane & 2}',",
           ('test_dynamics_backends.py',)),
    Mutant('quadrant of the sine', 'dynamics/jit/sines.py',
           "f'  %q1 = add {integers} %q, {whole(1)}'", "f'  %q1 = add {integers} %q, {whole(0)}'",
           (REFERENCE,)),
)
MUTANTS = (*QUICK, *(pytest.param(mutant, marks=pytest.mark.slow) for mutant in SLOW))


@pytest.fixture(scope='module')
def copied(tmp_path_factory):
    """Return the folder of a copy of the package; a cache of machine code is beside it."""
    folder = tmp_path_factory.mktemp('mutants') / 'source'
    shutil.copytree(PACKAGE, folder / PACKAGE.name,
                    ignore=shutil.ignore_patterns('__pycache__'))
    (folder.parent / 'pytest.ini').write_text('[pytest]\nmarkers =\n    slow: takes long\n')
    return folder


def outcome(copied, tests):
    """Run tests on the copy until one fails; return what pytest returns, and what it prints."""
    # all share one cache of machine code: that of the sound package must not serve a mutant
    environment = {**os.environ, 'ROBODYN_CACHE_DIR': str(copied.parent / 'cache'),
                   'PYTHONDONTWRITEBYTECODE': '1'}
    options = ['-q', '-x', '-c', str(copied.parent / 'pytest.ini'), '-p', 'no:cacheprovider',
               '-p', 'no:launch_testing', '-p', 'no:launch_ros', '-m', 'not slow']
    run = subprocess.run(
        [sys.executable, '-c', COMMAND, str(copied), *options, *(str(TESTS / t) for t in tests)],
        cwd=copied, env=environment, capture_output=True, text=True, timeout=300)
    return run.returncode, run.stdout[-4000:] + run.stderr[-2000:]


def test_the_copy_without_an_error_passes(copied):
    code, printed = outcome(copied, sorted({test for mutant in QUICK for test in mutant.tests}))
    assert code == 0, printed


@pytest.mark.slow
def test_the_copy_without_an_error_passes_all(copied):
    code, printed = outcome(copied, sorted({test for mutant in SLOW for test in mutant.tests}))
    assert code == 0, printed


@pytest.mark.parametrize('mutant', MUTANTS, ids=lambda mutant: mutant.name)
def test_an_error_is_seen(copied, mutant):
    if any('pinocchio' in test or 'oracle' in test for test in mutant.tests):
        pytest.importorskip('pinocchio')
    file = copied / PACKAGE.name / mutant.file
    sound = file.read_text()
    assert sound.count(mutant.old) == 1, (
        f'{mutant.file} has {sound.count(mutant.old)} times, and not once: {mutant.old}')
    file.write_text(sound.replace(mutant.old, mutant.new))
    try:
        code, printed = outcome(copied, mutant.tests)
    finally:
        file.write_text(sound)
    assert code == FAILED, f'nothing noticed {mutant.name!r}\n{printed}'
