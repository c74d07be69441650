"""Exceptions of robodyn_ros: one family, with the names and values of each error as evidence."""
import difflib
import errno
from itertools import islice
import os
from typing import Any, Iterable

# Bounds of the comparison of names: a file of unknown origin may have many, and long ones.
_COMPARED = 500      # number of names compared
_CHARACTERS = 60     # characters compared of each name
_LONGEST = 10_000    # largest length of an error message


class RobodynError(ValueError):
    """
    Base of every error that bad input can cause.

    Parameters
    ----------
    message : str
        Error with names, values and the remedy; stored as one `printable` line.
    **evidence
        Names and values of the message, stored in the attribute ``evidence``.

    """

    def __init__(self, message: str, /, **evidence: Any) -> None:
        super().__init__(printable(message, _LONGEST))
        self.evidence: dict[str, Any] = evidence


class ModelError(RobodynError):
    """The URDF, or a selection or change of the robot model, is invalid."""


class KernelError(RobodynError):
    """Machine code for a robot could not be generated, compiled or loaded."""


class ArgumentError(RobodynError):
    """An argument of a library call has a wrong type, shape or value."""


class TrajectoryError(RobodynError):
    """A trajectory cannot be followed as it was given."""


class StateError(RobodynError):
    """The state of the arm or the controller does not permit the request."""


class ParameterError(RobodynError):
    """A parameter is missing, unknown or outside its range."""


def printable(text: str, width: int = 1000) -> str:
    """
    Return a text of unknown origin as one line for a log, a message or a terminal.

    Text from messages, files and other processes must pass through this function.

    Parameters
    ----------
    text : str
        May contain control characters, line ends and lone surrogates; they are escaped as in a
        Python string literal.
    width : int
        Largest length of the result; longer text is cut and ends in dots.

    """
    line = text[:width + 1]
    if not line.isprintable():
        line = ''.join(each if each.isprintable() else
                       each.encode('unicode_escape').decode('ascii') for each in line)
    return line if len(line) <= width else line[:width - 3] + '...'


def shown(value: object, width: int = 60) -> str:
    """Return the repr of a value, `printable` and at most `width` characters long."""
    try:
        text = repr(value)
    except Exception:  # too many digits, too deep a list, or an error in the class's __repr__
        text = f'<{type(value).__name__} that cannot be shown>'
    return printable(text, width)


def lacking(error: BaseException) -> str:
    """
    Return what the system, not this package, lacks according to an error, with the remedy.

    Returns
    -------
    str
        A sentence; empty if the error is about something else.

    """
    if isinstance(error, RobodynError):
        return ''
    text, code = printable(str(error), 300), getattr(error, 'errno', None)
    # ROS reports errors of the system as text
    if code in (errno.EMFILE, errno.ENFILE) or os.strerror(errno.EMFILE) in str(error):
        return ('this process may open no more files: raise the limit, as by `ulimit -n 1024`, or '
                'LimitNOFILE of the service')
    if isinstance(error, MemoryError) or code == errno.ENOMEM:
        return 'there is no memory left for this process: free some, or raise its limit'
    if 'create log directory' in text:
        return (f'ROS cannot write its logs ({text}): set ROS_LOG_DIR to a folder that can be '
                'written')
    if isinstance(error, Warning):
        return (f'a warning counts as an error ({text}): leave out -W error and PYTHONWARNINGS, '
                'which libraries of others do not bear')
    return ''


def near_matches(name: object, known: Iterable[str], most: int = 12) -> str:
    """
    Return the known names most similar to an unknown one, or the list of known names.

    Parameters
    ----------
    name : object
        The name that was not found.
    known : iterable of str
        The names to choose from.
    most : int
        Number of names listed if none is similar.

    Returns
    -------
    str
        Sentence for the end of an error message.

    """
    names = list(known)
    if not names:
        return 'there are none'
    if close := _near(name, names):
        return 'did you mean ' + ' or '.join(map(shown, close)) + '?'
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return 'known are: ' + ', '.join(map(plain, names[:most])) + more


def has_near_match(name: object, known: Iterable[str]) -> bool:
    """Return whether a name is likely a misspelt one of the known names."""
    return bool(_near(name, known))


def _near(name: object, known: Iterable[str]) -> list[str]:
    lowered = {each[:_CHARACTERS].lower(): each for each in islice(known, _COMPARED)}
    return [lowered[match] for match in difflib.get_close_matches(
        str(name)[:_CHARACTERS].lower(), lowered, n=3, cutoff=0.6)]


def plain(name: str) -> str:
    """Return a printable and short name as it is, any other as `shown`."""
    return name if name.isprintable() and len(name) <= _CHARACTERS else shown(name)


def sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends with a punctuation mark already."""
    return text if text.endswith(('.', '?', '!')) else text + '.'
