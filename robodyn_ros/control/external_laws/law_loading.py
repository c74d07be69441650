"""Loading of an own law by its name."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
import inspect

from robodyn_ros.control.external_laws.compiled_law import CompiledLaw
from robodyn_ros.control.external_laws.own_law import error_text, OwnLawRunner, source_of
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import near_matches, ParameterError

GROUP = 'robodyn_ros.control_laws'


def load_own_law(name: str, dynamics: Dynamics, deadline: float) -> CompiledLaw | OwnLawRunner:
    """
    Return an own law, constructed for a robot and tested.

    Parameters
    ----------
    name : str
        `module:function` for a law over scalars, which is compiled; `module:Class` for one in
        Python; or the name of an entry point in the group `robodyn_ros.control_laws`.
    dynamics : Dynamics
        The robot.
    deadline : float
        Largest duration of a call in s.

    Raises
    ------
    ParameterError
        There is no such law, it cannot be constructed, or a trial failed; with the remedy.

    """
    kind = _from_module(name) if ':' in name else _registered(name)
    if inspect.isfunction(kind):
        return _compiled(name, kind, dynamics)
    if not callable(kind) or not callable(getattr(kind, 'terms', None)):
        raise _refused(name, 'it has no method terms(self, state, reference): see '
                       'docs/own_law.md')
    return OwnLawRunner(name, _made(name, kind, dynamics), dynamics, deadline)


def _compiled(name: str, law, dynamics: Dynamics) -> CompiledLaw:
    try:
        inspect.signature(law).bind(None, None)
    except TypeError as error:
        raise _refused(name, f'its arguments are not arm and x ({error}): write '
                       'def law(arm, x)') from error
    return CompiledLaw(name, law, dynamics)


def _made(name: str, kind, dynamics: Dynamics):
    try:
        inspect.signature(kind).bind(dynamics)
    except TypeError as error:
        raise _refused(name, f'the argument of its constructor is not the dynamics ({error}): '
                       'write def __init__(self, dynamics)') from error
    try:
        return kind(dynamics)
    except (Exception, SystemExit) as error:
        text = error_text(error, source_of(kind))
        raise _refused(name, f'its constructor failed: {text}') from error


def _from_module(name: str):
    path, _, attribute = name.partition(':')
    try:
        module = import_module(path)
    except ModuleNotFoundError as error:
        where = f'there is no module {error.name!r}' if error.name else str(error)
        raise _refused(name, f'{where}: install its package for this Python, or add its folder '
                       'to PYTHONPATH') from error
    except (Exception, SystemExit) as error:
        raise _refused(name, f'its module cannot be imported: {error_text(error, "")}') from error
    if not hasattr(module, attribute):
        known = [each for each, _ in inspect.getmembers(
            module, lambda value: inspect.isclass(value) or inspect.isfunction(value))]
        raise _refused(name, f'module {path} has no {attribute!r}: '
                       f'{near_matches(attribute, known)}')
    return getattr(module, attribute)


def _registered(name: str):
    known = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        raise _refused(name, f'no law of that name is registered in the group {GROUP}: '
                       f'{near_matches(name, known)}; or write module:Class')
    try:
        return known[name].load()
    except (Exception, SystemExit) as error:
        text = error_text(error, '')
        raise _refused(name, f'{known[name].value} cannot be loaded: {text}') from error


def _refused(name: str, why: str) -> ParameterError:
    return ParameterError(f'own_law {name!r}: {why}', parameter='own_law', value=name)
