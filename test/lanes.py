"""Functions for several states at once, as rollouts compute them."""
import numpy as np
from robodyn_ros.dynamics.jit.flow import Table
from robodyn_ros.dynamics.rollout import Rollout


def in_lanes(made, rows, *given):
    """
    Return the results of a `Function` for many rows, computed by one step of a rollout.

    Parameters
    ----------
    made : Function
        Takes numbers, then tables.
    rows : (N, n) array
        The numbers of each state.
    *given
        Its tables, common to all states; functions become a part of the program.

    """
    rows, kinds = np.asarray(rows, dtype=float), list(made.arguments.values())[1:]
    tables = {f'table{k}': kind for k, kind in enumerate(kinds) if isinstance(kind, Table)}
    size = sum(made.outputs.values())

    def step(_runtime, _state, constants, _inputs, *found):
        found = iter(found)
        return made.body(constants, *(
            next(found) if isinstance(kind, Table) else [each and each.body for each in own]
            for kind, own in zip(kinds, given)))

    run = Rollout(step, (size, rows.shape[1], 0), tables, size, np.zeros(0), None, True, None)
    state, _, _ = run(np.zeros((len(rows), size)), rows, np.zeros((1, 0)), tables=[
        own for kind, own in zip(kinds, given) if isinstance(kind, Table)])
    return state
