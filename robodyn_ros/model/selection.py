"""Tree of links and joints, and selection of the part to model: base, tip, locked joints."""
from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any, Mapping

from robodyn_ros.exceptions import ModelError, near_matches, shown
from robodyn_ros.model.description import Description
from robodyn_ros.model.findings import Problems, WarningList
from robodyn_ros.model.joints import Joint, Mimic
from robodyn_ros.model.mimic import resolve_mimics

Children = dict[str, list[Joint]]
LOCK_TOLERANCE = 1e-9  # tolerance of a locked position outside the limits, for rounding


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


@dataclass(frozen=True, slots=True)
class Selection:
    """
    The part of a description that is modelled.

    Parameters
    ----------
    base : str
        Link that is the fixed base.
    joints : list of Joint
        All joints below it, depth-first in document order.
    children : dict
        Joints below every link.
    locked : dict of str to float
        Locked joints and their positions.
    mimics : dict of str to Mimic
        Mimic relations of the joints that follow others.

    """

    base: str
    joints: list[Joint]
    children: Children
    locked: dict[str, float]
    mimics: dict[str, Mimic]

    @property
    def moving(self) -> list[Joint]:
        """Return the joints that move, followers included."""
        return [joint for joint in self.joints
                if joint.kind != 'fixed' and joint.name not in self.locked]


def select(description: Description, base: str | None, tip: str | None,
           locked: Mapping[str, float] | None, warnings: WarningList) -> Selection:
    """
    Select base and moving joints, and the positions of all locked ones.

    Raises
    ------
    ModelError
        If the tree is faulty, a name does not exist, or a joint cannot be locked or moved.

    """
    root, children = joints_below(description)
    mimics = resolve_mimics(description.joints)
    base = root if base is None else _known_link(description, 'base', base)
    joints = descend(base, children)
    positions = _checked_locks(description, joints, mimics, locked)
    if tip is not None:
        chain = _chain(base, _known_link(description, 'tip', tip), joints)
        _lock_beside(chain, joints, mimics, positions)
    _lock_followers(description, joints, mimics, positions, warnings)
    selection = Selection(base, joints, children, positions, mimics)
    _check_moving(selection)
    return selection


def _known_link(description: Description, role: str, name: str) -> str:
    if not isinstance(name, str) or name not in description.links:
        raise ModelError(f'{role} link {shown(name)} does not exist; '
                         + near_matches(name, description.links), link=name)
    return name


def _checked_locks(description: Description, joints: list[Joint], mimics: dict[str, Mimic],
                   locked: Mapping[str, float] | None) -> dict[str, float]:
    if locked is None:
        return {}
    if not isinstance(locked, Mapping):
        raise ModelError(f'locked joints {shown(locked)} must be a mapping of joint name to '
                         "position, such as {'finger_joint': 0.0}", locked=locked)
    below = {joint.name for joint in joints}
    positions = {}
    for name, value in locked.items():
        if name not in description.joints:
            lockable = [joint.name for joint in joints
                        if joint.kind != 'fixed' and joint.name not in mimics]
            raise ModelError(f'locked joint {shown(name)} does not exist; '
                             + near_matches(name, lockable), joint=name)
        if name in mimics:
            raise ModelError(f'locked joint {name!r} mimics {mimics[name].joint!r}; lock that one '
                             'and this one is locked with it', joint=name)
        position = _checked_position(description.joints[name], value)
        if name in below:
            positions[name] = position
    return positions


def _checked_position(joint: Joint, value: Any) -> float:
    try:
        position = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        position = math.nan
    if not math.isfinite(position):
        raise ModelError(f'locked joint {joint.name!r}: position {shown(value)} must be a finite '
                         'number', joint=joint.name, position=value)
    if joint.kind == 'fixed':
        raise ModelError(f'locked joint {joint.name!r} is fixed already; leave it out',
                         joint=joint.name)
    if not joint.moves and position != 0.0:
        raise ModelError(f'locked joint {joint.name!r} is {joint.kind}; it can only be locked '
                         f'at 0, not at {position:g}', joint=joint.name, position=position)
    if not joint.lower - LOCK_TOLERANCE <= position <= joint.upper + LOCK_TOLERANCE:
        raise ModelError(
            f'locked joint {joint.name!r}: position {position:g} is outside its limits '
            f'{joint.lower:g} .. {joint.upper:g}; lock it inside them (rad or m)',
            joint=joint.name, position=position, lower=joint.lower, upper=joint.upper)
    return position


def _chain(base: str, tip: str, joints: list[Joint]) -> set[str]:
    above = {joint.child: joint for joint in joints}
    chain = set()
    link = tip
    while link != base:
        if link not in above:
            raise ModelError(f'tip link {tip!r} is not below base link {base!r}; choose a base '
                             'above it', base=base, tip=tip)
        chain.add(above[link].name)
        link = above[link].parent
    return chain


def _lock_beside(chain: set[str], joints: list[Joint], mimics: dict[str, Mimic],
                 positions: dict[str, float]) -> None:
    for joint in joints:
        beside = joint.kind != 'fixed' and joint.name not in chain and joint.name not in mimics
        if beside and joint.name not in positions:
            positions[joint.name] = joint.nearest_to_zero()


def _lock_followers(description: Description, joints: list[Joint], mimics: dict[str, Mimic],
                    positions: dict[str, float], warnings: WarningList) -> None:
    below = {joint.name for joint in joints}
    for joint in joints:
        mimic = mimics.get(joint.name)
        if mimic is None or mimic.joint in below and mimic.joint not in positions:
            continue
        leader = positions.get(mimic.joint)
        if leader is None:  # the leader is not part of the selection
            leader = description.joints[mimic.joint].nearest_to_zero()
        position = positions[joint.name] = mimic.multiplier * leader + mimic.offset
        warnings.add(f'joint is locked, because it mimics {mimic.joint!r}, which does not move',
                     joint.name)
        if not joint.lower - LOCK_TOLERANCE <= position <= joint.upper + LOCK_TOLERANCE:
            warnings.add(f'joint is locked at {position:g}, outside its limits '
                         f'{joint.lower:g} .. {joint.upper:g}', joint.name)


def _check_moving(selection: Selection) -> None:
    for joint in selection.moving:
        if not joint.moves:
            raise ModelError(
                f'joint {joint.name!r} is {joint.kind}, which this fixed-base model cannot move; '
                f'make it fixed, lock it at 0, or take link {joint.child!r} as the base',
                joint=joint.name, type=joint.kind)
    if not selection.moving:
        raise ModelError(f'nothing moves below base link {selection.base!r}: all joints are fixed '
                         'or locked; choose another base, tip or locked', base=selection.base)
