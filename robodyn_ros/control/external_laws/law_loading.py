"""Loading of an own law by its name."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
import inspect

from robodyn_ros.control.external_laws.own_law import error_text, OwnLaw
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import near_matches, ParameterError

GROUP = 'robodyn_ros.control_laws'


def load_own_law(name: str, dynamics: Dynamics) -> OwnLaw:
    """
    Return an own law for a robot.

    Parameters
    ----------
    name : str
        `module:function`, or the name of an entry point in the group `robodyn_ros.control_laws`.
    dynamics : Dynamics
        The robot.

    Raises
    ------
    ParameterError
        There is no such law, or it is no function of arm and x; with the remedy.

    """
    law = _from_module(name) if ':' in name else _registered(name)
    if not inspect.isfunction(law):
        raise _refused(name, 'it is no function: write def law(arm, x), see docs/own_law.md')
    try:
        inspect.signature(law).bind(None, None)
    except TypeError as error:
        raise _refused(name, f'its arguments are not arm and x ({error}): write '
                       'def law(arm, x)') from error
    return OwnLaw(name, law, dynamics)


def _from_module(name: str):
    path, _, attribute = name.partition(':')
    try:
        module = import_module(path)
    except ModuleNotFoundError as error:
        where = f'there is no module {error.name!r}' if error.name else str(error)
        raise _refused(name, f'{where}: install its package for this Python, or add its folder '
                       'to PYTHONPATH') from error
    except (Exception, SystemExit) as error:
        raise _refused(name, f'its module cannot be imported: {error_text(error)}') from error
    if not hasattr(module, attribute):
        known = [each for each, _ in inspect.getmembers(module, inspect.isfunction)]
        raise _refused(name, f'module {path} has no {attribute!r}: '
                       f'{near_matches(attribute, known)}')
    return getattr(module, attribute)


def _registered(name: str):
    known = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        raise _refused(name, f'no law of that name is registered in the group {GROUP}: '
                       f'{near_matches(name, known)}; or write module:function')
    try:
        return known[name].load()
    except (Exception, SystemExit) as error:
        text = error_text(error)
        raise _refused(name, f'{known[name].value} cannot be loaded: {text}') from error


def _refused(name: str, why: str) -> ParameterError:
    return ParameterError(f'own_law {name!r}: {why}', parameter='own_law', value=name)
