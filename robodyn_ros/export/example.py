"""The example of an exported robot: `main.c`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.export import templates
from robodyn_ros.export.dynamics_functions import LOADS
from robodyn_ros.export.layout import array_lines
from robodyn_ros.export.syntax import macro
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import usable_range

if TYPE_CHECKING:
    from robodyn_ros.export.export import Export

_STEP = 0.2    # rad or m, of the motion
_ROOM = 0.25   # part of the way to a limit that it may take
_MARGIN = 0.1  # rad or m from a limit where it begins
_CALL = 'static void call_{0}(void)\n{{\n{1}\n}}\n'


def example(export: Export) -> str:
    """Return a program that uses what is exported, and measures the time per call."""
    name, joints = export.name, macro(export.name, 'JOINTS')
    start, goal = motion(export.model)
    arrays = {key: '\n'.join(array_lines(f'static const double {key.lower()}[{joints}]',
                                         values.tolist()))
              for key, values in {'START': start, 'GOAL': goal}.items()}
    calls = {}
    for function in (each.function for each in export.dynamics):
        given = [f'{name}_{LOADS}' if each.name == LOADS else each.name
                 for each in function.inputs if hasattr(each, 'name')]
        calls[function.name] = f'    {function.name}({", ".join([*given, "result"])});'
    parts = {'simulated'} if 'forward_dynamics' in export.functions else set()
    if export.cycle is not None:
        parts.add('cycle')
        calls[f'{name}_cycle'] = '    state.now += STEP;\n    run_cycle();'
    return templates.filled('c/main.c', {
        'NAME': name, 'PREFIX': f'{macro(name, "")}_', 'JOINTS': joints, **arrays,
        'RESULT': str(max((each.function.outputs[0].size for each in export.dynamics),
                          default=1)),
        'CALLS': '\n'.join(_CALL.format(*each) for each in calls.items()),
        'MEASURES': '\n'.join(f'    measure("{each}", call_{each});' for each in calls)}, parts)


def motion(model: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Return positions inside the limits from which, and to which, the example moves."""
    lower, upper = usable_range(model)
    inner = np.minimum(_MARGIN, 0.25 * (upper - lower))
    start = np.clip(0.0, lower + inner, upper - inner)
    goal = start + np.minimum(_STEP, _ROOM * (upper - start))
    return start, goal
