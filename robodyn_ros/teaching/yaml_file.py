"""Content of a YAML file of the user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robodyn_ros.exceptions import RobodynError


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
