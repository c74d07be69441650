"""Text of unknown origin in errors: one line, of bounded length, that every terminal can show."""

import errno
import os

from hypothesis import given, strategies
import pytest
from robodyn_ros.exceptions import lacking, ParameterError, printable, RobodynError, shown

ANY = strategies.text(strategies.characters(), max_size=300)  # with lone surrogates


@given(ANY, strategies.integers(5, 400))
def test_any_text_becomes_one_line_that_can_be_encoded(text, width):
    line = printable(text, width)
    assert line.isprintable() and len(line) <= width
    line.encode('utf-8')
    if text.isprintable() and len(text) <= width:
        assert line == text
    assert str(RobodynError(text)) == printable(text, 10_000)


@pytest.mark.parametrize('text, line', [
    ('shoulder', 'shoulder'), ('肘 é', '肘 é'), ('a\nb\x1b[2J', r'a\nb\x1b[2J'),
    ('\ud800', r'\ud800'), ('\u202eabc', r'\u202eabc'), ('x' * 99, 'x' * 37 + '...'),
    ('\n' * 99, r'\n' * 18 + '\\...')])
def test_what_is_escaped_and_what_is_cut(text, line):
    assert printable(text, 40) == line


class Odd:
    """Cannot be shown."""

    def __repr__(self):
        raise RecursionError


@pytest.mark.parametrize('value, line', [
    ('a\n', r"'a\n'"), (10 ** 5000, '<int that cannot be shown>'),
    (Odd(), '<Odd that cannot be shown>'), ([1.0, 2.0], '[1.0, 2.0]')],
    ids=['text', 'digits', 'error', 'list'])
def test_a_value_is_shown_whatever_it_is(value, line):
    assert shown(value) == line


def test_an_error_keeps_its_evidence_as_it_was():
    error = ParameterError('name is \n\ud800', name='\n\ud800')
    assert str(error) == r'name is \n\ud800' and error.evidence['name'] == '\n\ud800'


@pytest.mark.parametrize('error, words', [
    (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), '`ulimit -n 1024`'),
    (RuntimeError('a library: Too many open files, at a.c:96'), '`ulimit -n 1024`'),
    (MemoryError(), 'no memory left'), (OSError(errno.ENOMEM, 'no'), 'no memory left'),
    (RuntimeError("Failed to create log directory '/proc/.ros/log': 2"), 'set ROS_LOG_DIR'),
    (DeprecationWarning("module 're' is old"), 'leave out -W error')])
def test_what_the_system_lacks_is_named(error, words):
    assert words in lacking(error)


@pytest.mark.parametrize('error', [
    ValueError('a'), RobodynError('create log directory'), OSError(errno.ENOENT, 'no'),
    KeyError()])
def test_other_errors_are_not_of_the_system(error):
    assert not lacking(error)
