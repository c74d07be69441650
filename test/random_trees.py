"""
Random robots as URDF text: nothing about them is aligned, ordered or regular.

Trees with skew axes, turned joint and inertial frames, full inertia tensors, fixed links in
between and at the ends, moving links whose mass sits behind a fixed joint, prismatic, revolute and
continuous joints, mimic joints that follow joints of other branches, and joints and links in no
particular order in the document.
"""

from dataclasses import dataclass

import numpy as np

_LIMITS = 'lower="{:.17g}" upper="{:.17g}" effort="{:.17g}" velocity="{:.17g}"'


@dataclass(frozen=True)
class Mixture:
    """
    How often the features occur, each a probability.

    `branching` is the chance that a joint hangs on any earlier link instead of on the last one.
    """

    prismatic: float = 0.25
    continuous: float = 0.2
    mimic: float = 0.0
    fixed: float = 0.3
    branching: float = 0.4
    aligned: float = 0.2
    empty: float = 0.1


def random_tree(seed, joints, mixture=Mixture()):
    """
    Return the URDF text of a random tree with this number of moving joints, mimic ones included.

    The same seed, size and mixture give the same text. Every independent joint moves some mass, so
    the mass matrix is positive definite.
    """
    return _Builder(np.random.default_rng(seed), mixture).build(joints)


def vector(values):
    """Format numbers so that they are read back exactly."""
    return ' '.join(f'{value:.17g}' for value in values)


def random_inertial(rng):
    """Return an inertial element of a random box, turned against its link in two ways."""
    mass = np.exp(rng.uniform(-1.5, 1.5))
    squares = rng.uniform(0.03, 0.4, 3)**2
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    tensor = turn @ np.diag(mass / 12 * (squares.sum() - squares)) @ turn.T
    elements = ' '.join(
        f'i{a}{b}="{tensor[i, j]:.17g}"'
        for i, a in enumerate('xyz') for j, b in enumerate('xyz') if i <= j)
    return (
        f'<inertial><origin xyz="{vector(rng.uniform(-0.3, 0.3, 3))}" '
        f'rpy="{vector(rng.uniform(-np.pi, np.pi, 3))}"/><mass value="{mass:.17g}"/>'
        f'<inertia {elements}/></inertial>')


class _Builder:

    def __init__(self, rng, mixture):
        self.rng = rng
        self.mixture = mixture
        self.parts = ['<link name="root"/>']
        self.links = ['root']
        self.leaders = []

    def build(self, joints):
        follows = self.rng.random(joints) < self.mixture.mimic
        follows[self.rng.integers(joints)] = False
        self.leaders = [f'joint{i}' for i in range(joints) if not follows[i]]
        for i in range(joints):
            self.add_moving(i, follows[i])
            while self.chance('fixed'):
                self.add_fixed()
        self.rng.shuffle(self.parts)
        return '<robot name="tree">' + '\n'.join(self.parts) + '</robot>'

    def chance(self, feature):
        return self.rng.random() < getattr(self.mixture, feature)

    def add_link(self, inertial):
        name = f'link{len(self.links)}'
        self.parts.append(f'<link name="{name}">{inertial}</link>')
        self.links.append(name)
        return name

    def add_joint(self, name, kind, parent, child, inside=''):
        turn = np.zeros(3) if self.chance('aligned') else self.rng.uniform(-np.pi, np.pi, 3)
        shift = vector(self.rng.uniform(-0.4, 0.4, 3))
        self.parts.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{shift}" rpy="{vector(turn)}"/>{inside}</joint>')

    def add_moving(self, index, follows):
        parent = self.rng.choice(self.links) if self.chance('branching') else self.links[-1]
        hollow = self.chance('empty')
        child = self.add_link('' if hollow else random_inertial(self.rng))
        inside = f'<axis xyz="{vector(self.axis())}"/>'
        kind = 'prismatic' if self.chance('prismatic') else 'revolute'
        if kind == 'revolute' and self.chance('continuous'):
            kind = 'continuous'
        inside += self.limits(kind, follows)
        inside += f'<dynamics damping="{self.rng.random():.17g}" friction="0.1"/>'
        if follows:
            leader = self.rng.choice(self.leaders)
            factor = self.rng.choice((-1, 1)) * self.rng.uniform(0.4, 1.6)
            offset = self.rng.uniform(-0.3, 0.3)
            inside += (f'<mimic joint="{leader}" multiplier="{factor:.17g}" '
                       f'offset="{offset:.17g}"/>')
        self.add_joint(f'joint{index}', kind, parent, child, inside)
        if hollow:
            core = self.add_link(random_inertial(self.rng))
            self.add_joint(f'weld{core}', 'fixed', child, core)

    def add_fixed(self):
        parent = self.rng.choice(self.links)
        inertial = random_inertial(self.rng) if self.rng.random() < 0.6 else ''
        child = self.add_link(inertial)
        self.add_joint(f'weld{child}', 'fixed', parent, child)

    def axis(self):
        if self.chance('aligned'):
            return self.rng.choice((-1, 1)) * np.eye(3)[self.rng.integers(3)]
        axis = self.rng.normal(size=3)
        return axis / np.linalg.norm(axis)

    def limits(self, kind, follows):
        effort, velocity = self.rng.uniform(5, 150), self.rng.uniform(1, 4)
        if kind == 'continuous':
            return f'<limit effort="{effort:.17g}" velocity="{velocity:.17g}"/>'
        span = 0.5 if kind == 'prismatic' else 2.5
        # a follower's range must not empty the range of the joint it follows
        lower, upper = (-9, 9) if follows else self.rng.uniform(0.2, 1.0, 2) * (-span, span)
        return f'<limit {_LIMITS.format(lower, upper, effort, velocity)}/>'
