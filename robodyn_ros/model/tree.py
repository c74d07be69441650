"""Connections of links and joints: one root, one joint above every other link, no loops."""
from __future__ import annotations

from robodyn_ros.exceptions import ModelError, near_matches
from robodyn_ros.model.description import Description
from robodyn_ros.model.joints import Joint
from robodyn_ros.model.problems import Problems

Children = dict[str, list[Joint]]


def joints_below(description: Description) -> tuple[str, Children]:
    """
    Return the root link, and the joints below every link in document order.

    Raises
    ------
    ModelError
        If the joints do not connect all links into one tree.

    """
    children: Children = {name: [] for name in description.links}
    above: dict[str, Joint] = {}
    problems = Problems()
    for joint in description.joints.values():
        with problems.collect():
            _check_ends(joint, children, above)
            above[joint.child] = joint
            children[joint.parent].append(joint)
    problems.raise_any()
    return _root(description, children, above), children


def _check_ends(joint: Joint, children: Children, above: dict[str, Joint]) -> None:
    for role in ('parent', 'child'):
        name = getattr(joint, role)
        if name not in children:
            raise ModelError(f'joint {joint.name!r}: {role} link {name!r} does not exist; '
                             + near_matches(name, children), joint=joint.name, link=name)
    if joint.child in above:
        raise ModelError(
            f'link {joint.child!r} hangs on two joints, {above[joint.child].name!r} and '
            f'{joint.name!r}; a URDF is a tree, a link has one joint above it',
            link=joint.child, joints=(above[joint.child].name, joint.name))


def descend(base: str, children: Children) -> list[Joint]:
    """Return the joints below a link, depth-first, siblings in document order."""
    order: list[Joint] = []
    stack = children[base][::-1]
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack.extend(reversed(children[joint.child]))
    return order


def _root(description: Description, children: Children, above: dict[str, Joint]) -> str:
    roots = [name for name in description.links if name not in above]
    if len(roots) > 1:
        listed = ', '.join(map(repr, roots[:5])) + (' ...' if len(roots) > 5 else '')
        raise ModelError(f'the URDF falls into {len(roots)} parts that no joint connects, with '
                         f'the roots {listed}; connect them, for example by fixed joints',
                         roots=tuple(roots))
    if roots and len(descend(roots[0], children)) == len(above):
        return roots[0]
    reached = {joint.child for joint in descend(roots[0], children)} if roots else set()
    raise ModelError('the joints ' + _loop(above, reached) + ' form a loop; a URDF is a tree, '
                     'remove one of them', roots=tuple(roots))


def _loop(above: dict[str, Joint], reached: set[str]) -> str:
    link = next(name for name in above if name not in reached)
    seen: dict[str, None] = {}
    while link not in seen:
        seen[link] = None
        link = above[link].parent
    names = [above[name].name for name in list(seen)[list(seen).index(link):]]
    return ', '.join(map(repr, names[:5])) + (' ...' if len(names) > 5 else '')
