"""Errors that are drawn and put into the package: what they are, and that tests notice them."""

import pytest
from tools import mutants
from tools.mutants import main, Mutant, mutants_of, mutated, relevant_tests

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
