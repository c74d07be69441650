"""Content of a JSON file of an earlier run, to which anything may have happened since."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
from typing import Any, TypeVar

from robodyn_ros.exceptions import RobodynError, shown

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
