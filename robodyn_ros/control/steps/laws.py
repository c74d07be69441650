"""
The laws as a table of functions of one signature, each compiled separately.

Row 0 is gravity compensation; the others follow a reference. A law takes `INPUTS` and returns the
rows of `SUMMANDS`.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.gains import Gains, TaskGains
from robodyn_ros.control.laws.table import floating_terms, TRACKING, tracking_terms
from robodyn_ros.control.terms import SIZE as REPORT, SUMMANDS
from robodyn_ros.dynamics.jit.blocks import size, unpack
from robodyn_ros.dynamics.jit.flags import any_of, equal, when
from robodyn_ros.dynamics.jit.flow import call
from robodyn_ros.dynamics.jit.nested import flatten

NAMES = ('gravity_compensation', *TRACKING)
ROWS = {name: float(k) for k, name in enumerate(NAMES)}
OWN = float(len(NAMES))  # row of the user's own law
INTEGRATE, SPRING, SHAPE, ADAPT, CARTESIAN = (
    tuple(name for name in TRACKING if getattr(TRACKING[name], each))
    for each in ('integrates', 'springs', 'shapes', 'adapts', 'cartesian'))
_COASTING = 20.0  # rad/s, natural frequency of the error during silence
COASTING_RATES = 2.0 * _COASTING, 0.5 * _COASTING
# state and reference of a law; then torques and accelerations computed elsewhere
MOTION = ('q', 'qd', 'q_ref', 'qd_ref', 'qdd_ref', 'effort')
ARRAYS = (*MOTION, 'external', 'integral', 'disturbance', 'contact')
INPUTS = ('runtime', 'arrays', 'gains', 'task', 'feedback_scale', 'limit')


def sizes(dimensions) -> tuple[int, ...]:
    """Return the lengths of the `INPUTS` of a law."""
    n = dimensions['joints']
    return (dimensions['runtime'], len(ARRAYS) * n, size(Gains, dimensions),
            size(TaskGains, dimensions), 1, n)


def output_size(dimensions) -> int:
    """Return the number of outputs of a law: its terms, then the report of a Cartesian law."""
    return len(SUMMANDS) * dimensions['joints'] + REPORT


def quantities(arrays, gains, dimensions):
    """Return the inputs of a law and its gains by name."""
    n = dimensions['joints']
    rows = {each: arrays[k * n:(k + 1) * n] for k, each in enumerate(ARRAYS)}
    return SimpleNamespace(**vars(unpack(Gains, gains, dimensions)), **rows)


def motion_of(x):
    """Return state and reference of a law as one list."""
    return flatten([getattr(x, each) for each in MOTION])


def with_motion(x, arrays):
    """Return the inputs of a law with another state and reference."""
    n = len(x.q)
    return SimpleNamespace(**{**vars(x), **{
        each: arrays[k * n:(k + 1) * n] for k, each in enumerate(MOTION)}})


def body_of(name, tree, frame, dimensions):
    """Return a law as a function of its inputs, over scalars."""
    def law(runtime, arrays, gains, task, feedback_scale, limit):
        x = quantities(arrays, gains, dimensions)
        task = vars(unpack(TaskGains, task, dimensions))
        task = SimpleNamespace(**{key: value if isinstance(value, list) else [value]
                                  for key, value in task.items()})
        x.task, x.feedback_scale, x.limit = task, feedback_scale, limit
        if name == NAMES[0]:
            return [floating_terms(tree, runtime, x), [0.0] * REPORT]
        of_law = TRACKING[name]
        terms = tracking_terms(of_law, tree, runtime, x, frame if of_law.cartesian else None)
        return terms if of_law.cartesian else [terms, [0.0] * REPORT]

    return law


def evaluate(body, row, x, gains, task, feedback_scale, limit):
    """
    Return the rows of `SUMMANDS` of the law in a row of the table, and its report.

    x: inputs by the names of `ARRAYS`.
    """
    n = body.nv
    values = call(body.functions.laws, row, body.runtime, [getattr(x, each) for each in ARRAYS],
                  flatten(gains), flatten(task), [feedback_scale], limit,
                  outputs=len(SUMMANDS) * n + REPORT)
    return [values[k * n:(k + 1) * n] for k in range(len(SUMMANDS))], values[len(SUMMANDS) * n:]


def one_of(row, names):
    """Return whether the law in a row has one of these names."""
    return any_of([equal(row, ROWS[name]) for name in names])


def coasting(gains, silent):
    """Return the gains in effect: those of the law, or softer ones during silence."""
    n = gains.kp
    return replace(
        gains, kp=when(silent, [_COASTING ** 2 for _ in n], gains.kp),
        kd=when(silent, [2.0 * _COASTING for _ in n], gains.kd),
        feedback_inertia=when(silent, [0.0 for _ in n], gains.feedback_inertia),
        gravity_scale=when(silent, gains.safe_gravity_scale, gains.gravity_scale))
