"""
Hostile URDFs: any text loads as a sound model, or is refused in words, in bounded time.

The targets are for `test_hostile_urdf`, which draws with Hypothesis, and for `fuzz_guided`.
"""

from importlib.util import find_spec
from pathlib import Path
import time
import warnings

from model_urdf import arm, gripper
import numpy as np
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel

SECONDS = 20.0       # for what takes a small part of a second on an idle machine
LONGEST = 20_000     # characters of a message that lists all mistakes
ROOT = Path(__file__).resolve().parents[1]
FINITE = ('damping', 'friction', 'gravity', 'axis', 'rotation', 'translation', 'mass',
          'first_moment', 'inertia', 'multiplier', 'offset', 'base_first_moment', 'base_mass')
NUMBERS = ('nan', '-inf', '1e999', '1e308', '-1e308', '1e30', '-1e30', '5e-324', '-0', '0', '-1',
           '1e-200', '0x10', '1_0', '\u0661', '', ' ', '0 0 0', '1 2', '1,5', '1e30 1e30 1e30',
           '9' * 400)
WORDS = ('shoulder', 'elbow', 'base', 'forearm', 'hand', 'fixed', 'floating', 'planar',
         'continuous', 'prismatic', 'revolute', 'x' * 2000, 'a&#10;b', 'é肘', '&lol;', '${x}')
PIECES = (*NUMBERS, *WORDS, '<', '>', '"', '/>', '<mimic joint="elbow"/>', '<!--', '-->', '&#0;',
          '<!DOCTYPE r [<!ENTITY a "b">]>', '<![CDATA[', '\0', '\ufeff', '\ud800',
          '<limit effort="0" velocity="0" lower="1" upper="1"/>', '<axis xyz="0 0 0"/>',
          '<joint name="elbow" type="fixed"><parent link="hand"/><child link="base"/></joint>')
NAMES = (None, None, None, 'base', 'forearm', 'hand', 'left', 'x', '')
LOCKS = (None, None, {}, {'elbow': 0.5}, {'elbow': 1e300}, {'left_finger': 0.02}, {'x': 0.0},
         {'right_finger': 0.0}, {'elbow': float('nan')}, {'wrist': 0.0}, {'elbow': 'a'})


def seeds():
    """Return URDFs to begin with: ours, and what is at hand of others that is not too long."""
    found = [*(ROOT / 'urdf').rglob('*.urdf')]
    spec = find_spec('example_robot_data')
    if spec is not None:
        found += Path(spec.origin).parents[4].rglob('*.urdf')
    texts = [path.read_bytes() for path in sorted(found)]
    return [arm().encode(), gripper().encode(), *(text for text in texts if len(text) < 30_000)]


def urdf_text(text: bytes):
    """Read bytes as a URDF, and as the text that they would be."""
    judged(text)
    judged(text.decode('utf-8', errors='surrogateescape'))


def urdf_edits(choose):
    """Read a URDF with other values in some places, and something anywhere in others."""
    parts = gripper().split('="')
    for _ in range(choose([0, 1, 1, 2, 4])):
        place = choose(range(1, len(parts)))
        parts[place] = choose(NUMBERS + WORDS) + parts[place][parts[place].index('"'):]
    text = '="'.join(parts)
    for _ in range(choose([0, 0, 1, 2])):
        start = choose(range(len(text)))
        text = text[:start] + choose(PIECES) + text[start + choose([0, 0, 1, 9, 90]):]
    judged(text, base=choose(NAMES), tip=choose(NAMES), locked=choose(LOCKS))


def judged(source, **selection):
    """Load a model, and check it; return it, or None if it is refused."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # an overflow in NumPy is a check that is missing
        try:
            model = RobotModel.from_urdf(source, **selection)
        except RobodynError as error:
            model = None
            assert 0 < len(str(error)) < LONGEST, len(str(error))
            assert str(error).isprintable(), repr(str(error))
    assert time.process_time() - start < SECONDS
    if model is not None:
        check_model(model)
    return model


def check_model(model):
    """Fail unless a model can be computed with."""
    for name in FINITE:
        assert np.isfinite(getattr(model, name)).all(), name
    assert model.nv > 0 and (model.lower <= model.upper).all()
    for limit in (model.velocity_limit, model.effort_limit, model.damping, model.friction,
                  model.mass):
        assert (limit >= 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(model.axis, axis=1), 1.0, rtol=0.0, atol=1e-12)
    turned = model.rotation @ model.rotation.transpose(0, 2, 1)
    np.testing.assert_allclose(turned, np.broadcast_to(np.eye(3), turned.shape), rtol=0.0,
                               atol=1e-12)
    assert (model.parent < np.arange(model.nb)).all()
    assert len(model.warnings) <= 201 and all(map(str.isprintable, model.warnings))
