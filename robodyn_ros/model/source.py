"""Reading of a URDF from text, bytes or a file, with bounded size."""
import os
from pathlib import Path
import stat
from typing import TypeVar, Union

from robodyn_ros.exceptions import ModelError, shown

MAX_BYTES = 8 * 1024 * 1024
_LEADING = '\ufeff \t\r\n'  # characters permitted before the first element
_Text = TypeVar('_Text', str, bytes, Union[str, bytes])


def read_source(source: str | bytes | os.PathLike) -> str | bytes:
    """
    Return the XML of a source.

    Parameters
    ----------
    source : str, bytes or path
        Bytes, or a string that starts with ``<``, are the XML itself; any other string, or
        a path object, names a file. One that ends in ``.xacro`` is expanded by the package xacro.

    Raises
    ------
    ModelError
        If there is no such regular file, it is empty, unreadable or larger than 8 MiB, or xacro
        is missing or fails.

    """
    if isinstance(source, (bytes, bytearray)) or (
            isinstance(source, str) and (not source.strip() or _is_xml(source))):
        return read_text(source)
    if not isinstance(source, (str, os.PathLike)):
        raise ModelError(f'a URDF must be given as a path or as XML text, not as '
                         f'{type(source).__name__} {shown(source)}', source=shown(source))
    if os.fsdecode(source).endswith('.xacro'):
        return _checked(_expanded(Path(os.fsdecode(source)).expanduser()), 'the output of xacro')
    return _checked(_read_file(source), f'URDF file {shown(os.fspath(source), 200)}')


def read_text(text: _Text, origin: str = 'the URDF') -> _Text:
    """
    Check and return the XML of a URDF given as text; never read a file.

    Parameters
    ----------
    text : str or bytes
        XML; white space and a byte order mark before the first element are removed.
    origin : str
        Origin of the text, for messages.

    Raises
    ------
    ModelError
        The text is empty, larger than 8 MiB, or a string that does not begin with ``<``.

    """
    if not isinstance(text, str):
        return _checked(bytes(text), origin).lstrip(b' \t\r\n')
    if text.strip() and not _is_xml(text):
        raise ModelError(f'{origin} is not XML, it begins with {shown(text)}; give the text of '
                         'a URDF, for the path of a file nodes have the parameter urdf_file',
                         text=text[:200])
    return _checked(text, origin).lstrip(_LEADING)


def _is_xml(text: str) -> bool:
    return text.lstrip(_LEADING).startswith('<')


def _read_file(source: str | os.PathLike) -> bytes:
    name = shown(os.fspath(source), 200)
    try:
        path = Path(os.fsdecode(source)).expanduser()
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ModelError(f'URDF file {name} is a directory; name a file in it', path=name)
        if not stat.S_ISREG(mode):  # reading a pipe or a device may never end
            raise ModelError(f'URDF file {name} is not a regular file', path=name)
        with open(path, 'rb') as stream:
            return stream.read(MAX_BYTES + 1)
    except ModelError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # no such file, NUL, no home directory
        reason = getattr(error, 'strerror', None) or error
        raise ModelError(
            f'cannot read URDF file {name}: {reason}; a string that does not start with "<" is '
            'taken as the path of a file', path=name) from error


def _expanded(path: Path) -> str:
    """Return the URDF that xacro makes of a file, with the default arguments."""
    name = shown(str(path), 200)
    if path.is_file():
        try:
            import xacro
        except ImportError:
            raise ModelError(f'{name} is xacro source: pip install xacro, or give the output of '
                             f'`xacro {name} > arm.urdf`', path=str(path)) from None
        try:
            return xacro.process_file(str(path)).toxml()
        except Exception as error:  # of many types, and those of what it imports
            raise ModelError(f'xacro fails for {name}: {shown(str(error), 300)}; look at '
                             f'`xacro {name}`, where arguments can be given',
                             path=str(path)) from error
    return str(_read_file(path), 'utf-8', 'replace')


def _checked(text: _Text, what: str) -> _Text:
    if not text.strip():
        raise ModelError(f'{what} is empty; is robot_description set, did xacro succeed?')
    if len(text) > MAX_BYTES:
        raise ModelError(f'{what} is larger than {MAX_BYTES // 2**20} MiB, which no robot needs; '
                         'is this really a URDF?', size=len(text))
    return text
