"""Files of the user: what is read may be anything, and what is written is tried beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
import json
from pathlib import Path
from typing import Any, TypeVar

from robodyn_ros.exceptions import ParameterError, printable, RobodynError, shown

CONTROLLER = 'computed_torque_controller'  # node of the parameters that are written
_LINE = 5000  # largest length of a line
_Made = TypeVar('_Made')


def read_json(path: Path, use: Callable[[Any], _Made], remedy: str) -> _Made:
    """
    Return what is made of the content of a file.

    Parameters
    ----------
    path : Path
        File, in UTF-8.
    use : callable
        Called with the content, of any JSON type; any error of it means that the content is not
        what it should be.
    remedy : str
        What to do then, the end of the message.

    Raises
    ------
    RobodynError
        It cannot be read, is not JSON, or is no use.

    """
    try:
        return use(json.loads(path.read_text(encoding='utf-8')))
    except OSError as error:
        problem = error.strerror
    except KeyError as error:
        problem = f'{error} is missing'
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
        problem = shown(str(error), 200)[1:-1]
    raise RobodynError(f'{path} cannot be read ({problem}): {remedy}', path=str(path))


def read_yaml(path: Path, what: str) -> Any:
    """
    Return the content of a file.

    Raises
    ------
    RobodynError
        It cannot be read, or is not YAML; with its line, and `what` it should be.

    """
    import yaml
    try:
        return yaml.load(path.read_text(encoding='utf-8'),
                         getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
    except OSError as error:
        problem = f'cannot be read: {error.strerror}'
    except yaml.MarkedYAMLError as error:
        line = '' if error.problem_mark is None else f'line {error.problem_mark.line + 1}: '
        problem = f'is not YAML: {line}{error.problem}'
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = f'is not YAML: {error}'
    raise RobodynError(f'{path} {problem}; give {what}', path=str(path))


def read_parameters(path: Path) -> dict[str, object]:
    """Return the parameters of the first node of a file, by name; raise `ParameterError`."""
    what = 'the parameters of the controller, such as config/robodyn7_controller.yaml'
    try:
        return flat(next(iter(read_yaml(path, what).values()))['ros__parameters'])
    except (AttributeError, KeyError, TypeError, StopIteration) as error:
        raise ParameterError(f'{path} is not a parameter file of a node, which has '
                             f'`ros__parameters:` below the name of the node; give {what}',
                             path=str(path)) from error


def flat(tree: dict, prefix: str = '') -> dict[str, object]:
    """Return the values of nested mappings by their names, with dots."""
    return {name: value for key, each in tree.items() for name, value in (
        flat(each, f'{prefix}{key}.') if isinstance(each, dict) else {f'{prefix}{key}': each}
    ).items()}


def parameter_file(values: Mapping[str, object], head: Sequence[str]) -> str:
    """Return the text of a ROS 2 parameter file; names with dots are nested."""
    none = '' if values else ' {}'
    lines = [*(f'# {printable(line, _LINE)}'.rstrip() for line in head), f'/**/{CONTROLLER}:',
             f'  ros__parameters:{none}']
    group = ''
    for name, value in values.items():
        above, _, own = name.rpartition('.')
        if above and above != group:
            lines.append(f'    {above}:')
        group = above
        lines.append(f'    {"  " if above else ""}{own}: {as_yaml(value)}')
    return '\n'.join(lines) + '\n'


def as_yaml(value: object) -> str:
    """Return a number, text or list as ROS reads it."""
    if isinstance(value, list):
        return f'[{", ".join(map(as_yaml, value))}]'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    # with a dot, as ROS would read an integer otherwise
    mantissa, e, exponent = f'{value:.6g}'.partition('e')
    return (mantissa if '.' in mantissa else f'{mantissa}.0') + e + exponent


def check_writable(path: Path | None) -> None:
    """Make the folder of a file; raise `OSError` if the file cannot be written there."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open('ab'):
        pass
    if new:
        path.unlink()


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make a folder; remove it after a `with` block that has written nothing into it."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for each in new:
            if any(each.iterdir()):
                break
            each.rmdir()
