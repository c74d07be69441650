"""Own law over scalars: loaded by its name, traced once, called like a built-in law."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
import inspect
from pathlib import Path
import traceback
from typing import Any

from robodyn_ros.control.laws.arm import Arm
from robodyn_ros.control.steps import laws, modes
from robodyn_ros.control.terms import ABSURD_TORQUE, Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit.flags import all_of, when
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.trace import absolute
from robodyn_ros.exceptions import KernelError, near_matches, ParameterError

TERMS = {term.name.lower(): term for term in Term if term < Term.LIMIT}
GROUP = 'robodyn_ros.control_laws'


class OwnLaw:
    """
    A function `law(arm, x)` as the law of mode own_law.

    It takes scalars and returns a mapping from `Term`, or the name of a term, to a list with one
    scalar per joint, like the laws of `control.laws`. Branches on scalars are written with
    `dynamics.jit.flags`. Friction, gravity and external wrenches are compensated only if it
    returns them.

    Parameters
    ----------
    name : str
        Name for messages.
    law : callable
        `arm` is the robot (`control.laws.arm.Arm`); `x` has q, qd, q_ref, qd_ref, qdd_ref, effort,
        external, and all `Gains` by name, lists with one scalar per joint.
    dynamics : Dynamics
        The robot.

    Attributes
    ----------
    name : str

    Raises
    ------
    ParameterError
        It cannot be traced; the message names file and line.

    """

    def __init__(self, name: str, law: Callable, dynamics: Dynamics):
        self.name, self._law, self._dynamics = name, law, dynamics

    def function(self, dimensions: dict[str, int]) -> Function:
        """
        Return the compiled law, with the signature of a law of the cycle.

        Parameters
        ----------
        dimensions : dict of str to int
            Lengths that the blocks of the cycle name.

        """
        tree, n = self._dynamics.tree, dimensions['joints']

        def body(runtime, arrays, gains, *_):
            x = laws.quantities(arrays, gains, dimensions)
            rows = self._rows(self._law(Arm(tree, runtime, x.armature, x.gravity_scale), x), n)
            good = all_of([absolute(each) < ABSURD_TORQUE for row in rows for each in row])
            return [*rows, [0.0] * n, when(good, 0.0, modes.OWN_LAW),
                    *[0.0] * (laws.REPORT - 1)]

        function = self._dynamics.function(
            lambda _tree, *given: body(*given), dict(zip(laws.INPUTS, laws.sizes(dimensions))),
            {'terms': laws.output_size(dimensions)})
        try:
            function.prepare()
        except (Exception, SystemExit) as error:
            if isinstance(error, KernelError):
                reason = str(error)
            else:
                reason = error_text(error, self._law)
            raise ParameterError(f'own law {self.name}: {reason}', law=self.name) from error
        return function

    def _rows(self, terms, n: int) -> list[list]:
        rows = [[0.0] * n for _ in TERMS]
        if not terms:
            raise ParameterError('it returns no terms: the arm would fall; return gravity at '
                                 'least')
        for key, values in dict(terms).items():
            term: Any = TERMS.get(key) if isinstance(key, str) else key
            if term not in TERMS.values():
                raise ParameterError(f'there is no term {key!r}: {near_matches(str(key), TERMS)}')
            if len(values) != n:
                raise ParameterError(f'term {term.name.lower()!r} has {len(values)} numbers; give '
                                     f'one per joint, {n}')
            rows[term] = list(values)
        return rows


def error_text(error: BaseException, law: Any = None) -> str:
    """Return the error with its line: the innermost one in the file of the law, or its `def`."""
    places = [(each.filename, each.lineno, each.name)
              for each in traceback.extract_tb(error.__traceback__)]
    code = getattr(law, '__code__', None)  # of a function
    if code is not None:
        start = (code.co_filename, code.co_firstlineno, code.co_name)
        places = [start, *(each for each in places if each[0] == code.co_filename)]
    file, line, name = places[-1]
    return f'{type(error).__name__}: {error} ({Path(file).name}, line {line}, in {name})'


# --- loading by name -----------------------------------------------------------------------------

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
