"""
Diagram of the state machine: `python docs/state_machine.py` prints it.

It is made from the tables in the source of `control/steps/modes.py`, so that diagram and cycle
cannot differ; a test compares the page `safety.md` with the output.
"""

from __future__ import annotations

import ast
import inspect
import textwrap

from robodyn_ros.control.steps import modes

MODES = {'INACTIVE': 'inactive', 'HOLD': 'hold', 'FLOAT': 'gravity_compensation',
         'TRACK': 'tracking', 'STOP': 'stopping', 'REACH': 'reaching',
         'LINEAR': 'linear_feedback', 'CARRY': 'carrying', 'PASSIVE': 'passive_stop'}
# labels of the conditions of the tables
CONDITIONS = {
    'requested(TO_TAKE_OVER)': 'activation', 'p.floats': 'mode gravity_compensation',
    'requested(TO_DEACTIVATE)': 'end of control', 'inactive': '', 'flags.fails': 'fault',
    'moving': '',
    'passive_still': '', 'passive': 'reset of the fault',
    'unstable': 'overspeed, or fault of an arm that oscillated',
    'flags.resumes': 'states return after silence', 'requested(TO_REST)': 'hold, stop, cancel',
    'requested(TO_FLOAT)': 'float', 'flags.silent': 'silent for stale.hold',
    'flags.hit': 'collision', 'flags.suspect': 'of an arm that oscillates',
    'flags.hit_floats': 'reaction float', 'requested(TO_REACH)': 'pose',
    'begins': 'trajectory begins', 'track': '', 'reach': '',
    'equal(outcome.kind, path.REACHED)': 'goal reached',
    'equal(outcome.kind, path.PATH_VIOLATED)': 'path tolerance violated',
    'equal(outcome.kind, path.GOAL_VIOLATED)': 'goal tolerance violated',
    'equal(m.pose.outcome, pose_motion.REACHED)': 'pose reached',
    'equal(m.pose.outcome, pose_motion.OUT_OF_REACH)': 'pose out of reach',
    'flags.unattended': 'no activity of the process', 'stoppable': '', 'healthy': '',
    'flags.swings': 'moves without feedback', 'flags.settled': 'shutdown, at rest',
    'floating': '', 'carrying': '', 'equal(m.mode, STOP)': '',
    'rests': 'at rest'}
# modes in which a condition can hold; default: all under control
WHERE = {
    'requested(TO_TAKE_OVER)': ('INACTIVE',), 'inactive': ('INACTIVE',), 'track': ('TRACK',),
    'moving': ('TRACK', 'REACH', 'FLOAT', 'LINEAR'), 'stoppable': ('TRACK', 'REACH', 'LINEAR'),
    'reach': ('REACH',),
    'floating': ('FLOAT',), 'equal(m.mode, STOP)': ('STOP',),
    'passive_still': ('PASSIVE',), 'passive': ('PASSIVE',),
    'carrying': ('CARRY',), 'flags.swings': ('CARRY',),
    'flags.settled': ('HOLD', 'FLOAT', 'PASSIVE'),
    'flags.hit': ('HOLD', 'TRACK', 'STOP', 'REACH', 'LINEAR')}


def rows(table):
    """Yield the rows of a table: names of its conditions, and the next mode."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(table)))
    call = next(node for node in ast.walk(tree)
                if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'first_of')
    for row in call.args:
        condition, mode = row.elts[:2]
        several = isinstance(condition, ast.BinOp)
        yield [ast.unparse(each) for each in (
            [condition.left, condition.right] if several else [condition])], ast.unparse(mode)


def edges():
    """Return (modes before, label, mode after) in the order of the tables."""
    result = []
    for table in (modes.next_mode, modes.conclude):
        for conditions, mode in rows(table):
            named = ', '.join(filter(None, (CONDITIONS[each] for each in conditions)))
            if not named:
                continue  # the mode stays
            before = set(MODES) - {'INACTIVE'}
            for each in conditions:
                before &= set(WHERE.get(each, before))
                if WHERE.get(each) == ('INACTIVE',):
                    before = {'INACTIVE'}
            result.append(([each for each in MODES if each in before], named, mode))
    return result


def diagram():
    """Return the diagram in Mermaid."""
    lines = ['```mermaid', 'stateDiagram-v2', '    [*] --> inactive']
    common = []
    for before, why, after in edges():
        if len(before) > 4:
            common.append(f'    any --> {MODES[after]}: {why}')
        else:
            lines += [f'    {MODES[each]} --> {MODES[after]}: {why}' for each in before]
    # an external law takes over in the law, see `steps.external_law.terms`
    lines += [f'    {MODES[a]} --> {MODES[b]}: {why}' for a, b, why in (
        ('HOLD', 'LINEAR', 'messages arrive'), ('LINEAR', 'STOP', 'timeout or failure'))]
    return '\n'.join([*lines, '    state "any mode under control" as any', *common, '```'])


if __name__ == '__main__':
    print(diagram())
