"""Exceptions of robodyn_ros: one family, each carrying the evidence it was raised on."""
import difflib
from itertools import islice
from typing import Any, Iterable

# How much of the names of a robot is compared: a robot that somebody made up may have many.
_COMPARED = 500      # names
_CHARACTERS = 60     # of each
_LONGEST = 10_000    # characters of an error message


class RobodynError(ValueError):
    """
    Base of every error that bad input can cause.

    Parameters
    ----------
    message : str
        What is wrong, with names and values, and what to do about it; kept as one `printable`
        line.
    **evidence
        The names and values of the message, kept in the attribute ``evidence``.

    """

    def __init__(self, message: str, /, **evidence: Any) -> None:
        super().__init__(printable(message, _LONGEST))
        self.evidence: dict[str, Any] = evidence


class ModelError(RobodynError):
    """The URDF, or what is asked of the robot model, makes no sense."""


class KernelError(RobodynError):
    """Machine code for a robot could not be generated, compiled or loaded."""


class ArgumentError(RobodynError):
    """An argument of a library call has a wrong type, shape or value."""


class TrajectoryError(RobodynError):
    """A trajectory cannot be followed as it was given."""


class StateError(RobodynError):
    """The arm or the controller is not in a state that allows what was asked."""


class ParameterError(RobodynError):
    """A parameter is missing, unknown or outside its range."""


def printable(text: str, width: int = 1000) -> str:
    """
    Return a text of unknown origin as one line for a log, a message or a terminal.

    Every text that came from a message, a file or another process passes through here.

    Parameters
    ----------
    text : str
        May hold control characters, line ends, lone surrogates: they are escaped as in a string
        literal of Python.
    width : int
        Largest length of the result; what is longer ends in dots.

    """
    line = text[:width + 1]
    if not line.isprintable():
        line = ''.join(each if each.isprintable() else
                       each.encode('unicode_escape').decode('ascii') for each in line)
    return line if len(line) <= width else line[:width - 3] + '...'


def shown(value: object, width: int = 60) -> str:
    """Return the repr of a value, `printable` and cut to a length that fits in a message."""
    try:
        text = repr(value)
    except Exception:  # a number of too many digits, a list too deep, whatever a class does
        text = f'<{type(value).__name__} that cannot be shown>'
    return printable(text, width)


def near_matches(name: object, known: Iterable[str], most: int = 12) -> str:
    """
    Say which known names come near to an unknown one, or list the known ones.

    Parameters
    ----------
    name : object
        The name that was not found.
    known : iterable of str
        The names that would have been found.
    most : int
        How many names to list when none comes near.

    Returns
    -------
    str
        A sentence to end an error message with.

    """
    names = list(known)
    if not names:
        return 'there are none'
    lowered = {each[:_CHARACTERS].lower(): each for each in islice(names, _COMPARED)}
    close = difflib.get_close_matches(str(name)[:_CHARACTERS].lower(), lowered, n=3, cutoff=0.5)
    if close:
        return 'did you mean ' + ' or '.join(shown(lowered[match]) for match in close) + '?'
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return 'known are: ' + ', '.join(map(plain, names[:most])) + more


def plain(name: str) -> str:
    """Return a name without quotes if it can stand in a line like that, else as `shown`."""
    return name if name.isprintable() and len(name) <= _CHARACTERS else shown(name)


def sentence(text: str) -> str:
    """Return a text that ends as a sentence does, such as one that may be a question already."""
    return text if text.endswith(('.', '?', '!')) else text + '.'
