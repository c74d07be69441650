"""
Diagram of the state machine: `python docs/state_machine.py` prints it.

It is made from the tables in the source of `control/steps/motion.py`, so that diagram and cycle
cannot differ; a test compares the page `safety.md` with the output.
"""

from __future__ import annotations

import ast
import inspect
import textwrap

from robodyn_ros.control.steps import motion

MODES = {'INACTIVE': 'inactive', 'HOLD': 'hold', 'FLOAT': 'gravity_compensation',
         'TRACK': 'tracking', 'STOP': 'stopping', 'REACH': 'reaching',
         'LINEAR': 'linear_feedback', 'CARRY': 'carrying'}
# labels of the conditions of the tables
CONDITIONS = {
    'asked(TO_TAKE_OVER)': 'activation', 'p.floats': 'mode gravity_compensation',
    'asked(TO_GIVE_UP)': 'end of control', 'inactive': '', 'what.fails': 'fault', 'moving': '',
    'what.too_fast': 'overspeed',
    'what.resumes': 'states return after silence', 'asked(TO_REST)': 'hold, stop, cancel',
    'asked(TO_FLOAT)': 'float', 'what.silent': 'silent for stale.hold',
    'what.hit': 'collision', 'what.hit_floats': 'reaction float', 'asked(TO_REACH)': 'pose',
    'begins': 'trajectory begins', 'track': '', 'reach': '',
    'equal(outcome.kind, path.REACHED)': 'goal reached',
    'equal(outcome.kind, path.PATH_VIOLATED)': 'path tolerance violated',
    'equal(outcome.kind, path.GOAL_VIOLATED)': 'goal tolerance violated',
    'equal(m.pose.outcome, pose_motion.REACHED)': 'pose reached',
    'equal(m.pose.outcome, pose_motion.OUT_OF_REACH)': 'pose out of reach',
    'what.unattended': 'no activity of the process', 'led': '', 'healthy': '',
    'what.swings': 'moves without feedback', 'what.settled': 'shutdown, at rest',
    'equal(m.mode, FLOAT)': '', 'equal(m.mode, CARRY)': '', 'equal(m.mode, STOP)': '',
    'rests': 'at rest'}
# modes in which a condition can hold; default: all under control
WHERE = {
    'asked(TO_TAKE_OVER)': ('INACTIVE',), 'inactive': ('INACTIVE',), 'track': ('TRACK',),
    'moving': ('TRACK', 'REACH', 'FLOAT', 'LINEAR'), 'led': ('TRACK', 'REACH', 'LINEAR'),
    'reach': ('REACH',),
    'equal(m.mode, FLOAT)': ('FLOAT',), 'equal(m.mode, STOP)': ('STOP',),
    'equal(m.mode, CARRY)': ('CARRY',), 'what.swings': ('CARRY',),
    'what.settled': ('HOLD', 'FLOAT'),
    'what.hit': ('HOLD', 'TRACK', 'STOP', 'REACH', 'LINEAR')}


def rows(table):
    """Yield the rows of a table: names of its conditions, and the next mode."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(table)))
    call = next(node for node in ast.walk(tree)
                if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'first_of')
    for row in call.args:
        condition, mode = row.elts[:2]
        several = (isinstance(condition, ast.Call)
                   and getattr(condition.func, 'id', '') == 'both')
        yield [ast.unparse(each) for each in (condition.args if several else [condition])], (
            ast.unparse(mode))


def edges():
    """Return (modes before, label, mode after) in the order of the tables."""
    result = []
    for table in (motion.decide, motion.conclude):
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
    # external laws change the mode in the step of the law, see `steps.torque.ask_outside`
    lines += [f'    {MODES[a]} --> {MODES[b]}: {why}' for a, b, why in (
        ('HOLD', 'LINEAR', 'messages arrive'), ('LINEAR', 'STOP', 'timeout or failure'))]
    return '\n'.join([*lines, '    state "any mode under control" as any', *common, '```'])


if __name__ == '__main__':
    print(diagram())
