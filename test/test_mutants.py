"""Errors that are put into the package, drawn or written by hand: tests notice them."""

from dataclasses import dataclass

import pytest
from tools import mutants
from tools.mutants import Laboratory, main, Mutant, mutants_of, mutated, relevant_tests

SOURCE = """
LIMIT = 2.0

@cached(3.0)
def share(x: float | None, low=-1.0) -> int | str:
    return when(x > low, minimum(x, LIMIT) + 1.0, no(x))
"""


def test_errors_are_those_of_the_code_and_not_of_its_annotations():
    found = {(each.function, each.kind): 0 for each in mutants_of('a.py', SOURCE)}
    assert set(found) == {('', 'number'), ('share', 'branch'), ('share', 'compare'),
                          ('share', 'call'), ('share', 'operator'), ('share', 'number'),
                          ('share', 'sign')}
    assert not any('|' in mutated(each, SOURCE)[1] for each in mutants_of('a.py', SOURCE))


@pytest.mark.parametrize('kind, text', [
    ('compare', 'x > low  ->  x < low'), ('operator', 'minimum(x, LIMIT) - 1.0'),
    ('call', 'minimum(x, LIMIT)  ->  maximum(x, LIMIT)'), ('sign', '-1.0  ->  1.0')])
def test_an_error_is_at_one_place_and_found_again_after_lines_have_moved(kind, text):
    mutant = Mutant('a.py', 'share', 0, kind)
    source, printed = mutated(mutant, SOURCE)
    assert text in printed and printed.partition('  ->  ')[2] in source
    assert mutated(mutant, f'import math\n\n\n{SOURCE}')[1] == printed
    with pytest.raises(LookupError):
        mutated(Mutant('a.py', 'share', 9, kind), SOURCE)


def test_every_file_that_is_drawn_from_has_tests():
    for mutant in mutants.drawn(seed=1, count=10**6, only=''):
        assert relevant_tests(mutant.file), mutant.file
    assert mutants.drawn(1, 5, 'safety') == mutants.drawn(1, 5, 'safety')


@pytest.mark.slow
def test_what_was_noticed_must_be_noticed_again(tmp_path, capsys):
    kept = tmp_path / 'noticed.csv'
    assert main(['--only', 'safety/guard_state', '--count', '3', '--output', str(kept)]) == 0
    rows = mutants.read(kept)
    assert len(rows) == 3 and any(row[4] == 'noticed' for row in rows)
    assert main(['--again', str(kept)]) == 0
    assert ' 0 survived' in capsys.readouterr().out


# --- errors of a hand-written dynamics: signs, frames, axes, order, and what was left out --------

REFERENCE = 'test_dynamics_reference.py::test_planar_systems_equal_their_closed_forms'
PROPERTIES = 'test_dynamics_properties.py'
TILTED = f'{PROPERTIES}::test_tilted_mounting_equals_tilted_gravity'
WRENCHES = f'{PROPERTIES}::test_wrench_by_the_environment_relieves_the_motors'
LAGRANGE = f'{PROPERTIES}::test_velocity_terms_are_those_of_lagrange'


@dataclass(frozen=True)
class Error:
    """In `file`, which has `old` exactly once, `new` in its place; seen by these tests."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


QUICK = (
    Error('gravity upside down', 'dynamics/algorithms/rnea.py',
          'motion = accelerations(tree, poses, qd, qdd, neg(runtime[GRAVITY]))',
          'motion = accelerations(tree, poses, qd, qdd, runtime[GRAVITY])', (REFERENCE,)),
    Error('joints in the order of their names', 'model/build.py',
          'index = {name: position for position, name in enumerate(found)}',
          'index = {name: position for position, name in enumerate(sorted(found))}',
          ('test_model_selection.py', 'test_model_robot.py')),
)
SLOW = (
    Error('gravity of the earth for all', 'dynamics/algorithms/rnea.py',
          'motion = accelerations(tree, poses, qd, qdd, neg(runtime[GRAVITY]))',
          'motion = accelerations(tree, poses, qd, qdd, (0.0, 0.0, 9.81))', (REFERENCE,)),
    Error('frame transposed', 'dynamics/algorithms/kinematics.py',
          'R = matmul(R, joint_rotation(tree.axis[i], position))',
          'R = matmul(transpose(R), joint_rotation(tree.axis[i], position))', (TILTED,)),
    Error('axis not of length one', 'model/joints.py',
          'return snap(axis / np.linalg.norm(axis))', 'return snap(axis)',
          ('test_model_robot.py',)),
    Error('wrench of the robot instead of on it', 'dynamics/dynamics.py',
          '_added(tau, -loads, out=tau)', '_added(tau, loads, out=tau)', (WRENCHES,)),
    Error('joint turns backwards', 'dynamics/algorithms/kinematics.py', '+ s * skew(axis)[i][j]',
          '- s * skew(axis)[i][j]', (REFERENCE,)),
    Error('half the Coriolis acceleration of a slide', 'dynamics/algorithms/motion.py',
          'scale(2.0, cross(w, zqd))', 'cross(w, zqd)', (REFERENCE,)),
    Error('no gyroscopic moment', 'dynamics/algorithms/rnea.py',
          'add(add(apply(J, dw), cross(w, apply(J, w))), cross(h, a))',
          'add(apply(J, dw), cross(h, a))', (LAGRANGE,)),
    Error('moment without its lever', 'dynamics/algorithms/rnea.py',
          'return force, add(apply(R, moment), cross(r, force))',
          'return force, apply(R, moment)', (REFERENCE,)),
    Error('mass matrix of bodies moved the wrong way', 'dynamics/algorithms/inertia.py',
          'matsub(congruence(R, J), symmetric(shift))',
          'matadd(congruence(R, J), symmetric(shift))', (REFERENCE,)),
    Error('velocity products from the parent only', 'dynamics/algorithms/motion.py',
          'dw = add(add(dw, cross(w, zqd)), zqdd)', 'dw = add(dw, zqdd)', (LAGRANGE,)),
    Error('mimic joint without its offset', 'dynamics/algorithms/kinematics.py',
          'tree.multiplier[i] * q[tree.coordinate[i]] + tree.offset[i]',
          'tree.multiplier[i] * q[tree.coordinate[i]]',
          ('test_dynamics_oracles.py::test_forces_and_energies[pinocchio-tied6-5]',)),
    Error('mimic joint gives no force back', 'dynamics/algorithms/kinematics.py',
          'total[c] = total[c] + tree.multiplier[i] * joint_values[i]',
          'total[c] = total[c] + joint_values[i]', (PROPERTIES,)),
    Error('payload mirrored', 'dynamics/algorithms/inertia.py',
          'payload = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))',
          'payload = ((xx, -xy, xz), (-xy, yy, yz), (xz, yz, zz))', (PROPERTIES,)),
    Error('angular rows first', 'dynamics/algorithms/kinematics.py',
          'enumerate((*linear, *angular))', 'enumerate((*angular, *linear))', (PROPERTIES,)),
    Error('link in axes of its body', 'dynamics/algorithms/kinematics.py',
          'return matmul(R, frame.rotation), add(r, apply(R, frame.translation))',
          'return matmul(R, frame.rotation), add(r, frame.translation)', (PROPERTIES,)),
    Error('articulated inertia moved the wrong way', 'dynamics/algorithms/aba.py',
          'return symmetric(A), matadd(H, PK), K', 'return symmetric(A), matsub(H, PK), K',
          (f'{PROPERTIES}::test_forward_dynamics_of_a_large_tree',)),
    Error('potential energy upside down', 'dynamics/algorithms/energy.py',
          'return -dot(runtime[GRAVITY], first_moments',
          'return dot(runtime[GRAVITY], first_moments',
          (f'{PROPERTIES}::test_gravity_is_the_slope_of_the_potential_energy',)),
    Error('Christoffel symbols without the points', 'dynamics/algorithms/coriolis.py',
          'fields = [(motion_cross(v, s), s[0]) for',
          'fields = [(motion_cross(v, s), ZERO) for',
          ('test_dynamics_analysis.py',)),
    Error('derivative forgets what carries the joint', 'dynamics/algorithms/derivatives.py',
          'scale(2.0, rate[0]))', 'rate[0])', ('test_dynamics_analysis.py',)),
    Error('products of inertia with the wrong sign', 'dynamics/algorithms/regressor.py',
          'G[0][1] + G[1][0], G[0][2]', '-G[0][1] - G[1][0], G[0][2]',
          ('test_dynamics_analysis.py',)),
    Error('roll and pitch exchanged', 'model/frame.py', '(sr, cr), (sp, cp), (sy, cy) = (',
          '(sp, cp), (sr, cr), (sy, cy) = (', ('test_model_oracle.py',)),
    Error('inertia turned the wrong way', 'model/inertia.py',
          'rotated = r @ np.asarray(inertia, dtype=float) @ r.T',
          'rotated = r.T @ np.asarray(inertia, dtype=float) @ r', ('test_model_inertia.py',)),
    Error('payload about the wrong point', 'model/payload.py',
          'j = parallel_axis(rotate_inertia(self.inertia, frame.rotation), self.mass, com)',
          'j = rotate_inertia(self.inertia, frame.rotation)', (PROPERTIES,)),
    Error('a lane of the batch twice', 'dynamics/jit/loops.py',
          "[f'  %u{lane} = add i64 %row, {lane}',", "[f'  %u{lane} = add i64 %row, {lane & 2}',",
          ('test_dynamics_backends.py',)),
    Error('quadrant of the sine', 'dynamics/jit/sines.py',
          "f'  %q1 = add {integers} %q, {whole(1)}'", "f'  %q1 = add {integers} %q, {whole(0)}'",
          (REFERENCE,)),
)
ERRORS = (*QUICK, *(pytest.param(error, marks=pytest.mark.slow) for error in SLOW))


@pytest.fixture(scope='module')
def laboratory(tmp_path_factory):
    return Laboratory(tmp_path_factory.mktemp('mutants'))


@pytest.mark.slow
def test_the_copy_without_an_error_passes_all(laboratory):
    laboratory.check(sorted({test for error in (*QUICK, *SLOW) for test in error.tests}))


@pytest.mark.parametrize('error', ERRORS, ids=lambda error: error.name)
def test_an_error_is_seen(laboratory, error):
    if any('pinocchio' in test or 'oracle' in test for test in error.tests):
        pytest.importorskip('pinocchio')
    sound = (laboratory.package / error.file).read_text(encoding='utf-8')
    assert sound.count(error.old) == 1, (
        f'{error.file} has {sound.count(error.old)} times, and not once: {error.old}')
    noticed = laboratory.run_with(error.file, sound.replace(error.old, error.new), error.tests)
    assert noticed.startswith(tuple(error.tests)), f'{error.name}: {noticed or "not noticed"}'
