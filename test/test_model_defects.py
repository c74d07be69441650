"""Every defect of a URDF, or of a selection, is refused by name, with the value."""
from model_urdf import arm, gripper, INERTIA, INERTIAL, joint, LIMIT, link, robot
import pytest

from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import RobotModel


def limit(**changes):
    """Return a limit element with some attributes changed, or left out where None."""
    values = {'lower': -2, 'upper': 2, 'effort': 50, 'velocity': 3, **changes}
    given = (f'{name}="{value}"' for name, value in values.items() if value is not None)
    return '<limit ' + ' '.join(given) + '/>'


def inertial(mass='2', xyz='0 0 0', rpy='0 0 0', **changes):
    """Return an inertial with some numbers changed."""
    values = {'ixx': .02, 'ixy': 0, 'ixz': 0, 'iyy': .02, 'iyz': 0, 'izz': .01, **changes}
    tensor = ' '.join(f'{name}="{value}"' for name, value in values.items() if value is not None)
    return (f'<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>'
            f'<inertia {tensor}/></inertial>')


def mimic(of, **factors):
    """Return an arm with a third joint that mimics another."""
    given = ' '.join(f'{name}="{value}"' for name, value in factors.items())
    follower = f'<mimic joint="{of}" {given}/>'
    return arm(link('hand'), joint('wrist', 'forearm', 'hand', inside=LIMIT + follower))


LOOP = robot(link('base'), link('a'), link('b'), joint('up', 'base', 'a'),
             link('c'), joint('round', 'b', 'c'), joint('back', 'c', 'b'))
TEXT = {
    'empty': ('', 'empty'),
    'blank': ('  \n ', 'empty'),
    'no such file': ('/nowhere/arm.urdf', r'/nowhere/arm\.urdf.*No such file'),
    'a directory': ('/', "'/' is a directory"),
    'a device': ('/dev/zero', 'not a regular file'),
    'NUL in the path': ('a\0b', 'cannot read URDF file'),
    'not XML': (b'\x7fELF\x02\x01\x01\x00' * 9, 'not well-formed XML.*line 1'),
    'cut off': (arm()[:-60], 'not well-formed XML'),
    'undecodable': (b'<robot name="\xff\xfe"/>', 'not well-formed XML'),
    'unknown encoding': (b'<?xml version="1.0" encoding="klingon"?><robot/>', 'encoding|decoded'),
    'lone surrogate': ('<robot name="\ud800"/>', 'decoded'),
    'not text': (17, 'path or as XML text, not as int 17'),
    'SDF': ('<sdf version="1.7"/>', '<sdf>.*convert it to URDF'),
    'MJCF': ('<mujoco/>', '<mujoco>.*convert'),
    'HTML': ('<html><body>404</body></html>', 'root element is <html>'),
    'xacro element': ('<robot name="r"><xacro:property name="a" value="1"/></robot>',
                      'xacro source.*<xacro:property>.*run xacro'),
    'xacro expression': (arm().replace('value="2"', 'value="${m}"'), r'xacro source.*\$\{m\}'),
    'document type': ('<!DOCTYPE robot SYSTEM "http://x/y.dtd"><robot/>', 'document type.*remove'),
    'quaternion': (arm().replace('rpy="0 0 0"', 'quat_xyzw="0 0 0 1"'),
                   'shoulder.*quat_xyzw.*rpy'),
    'no links': (robot(), 'no links'),
    'more than any robot has': (b' ' * (8 * 2**20) + b'<robot/>', 'larger than 8 MiB'),
}
STRUCTURE = {
    'two roots': (arm(link('lamp')), "2 parts.*'base', 'lamp'"),
    'two parents': (arm(joint('second', 'base', 'forearm')),
                    "'forearm' hangs on two joints, 'elbow' and 'second'"),
    'loop beside the tree': (LOOP, "'back', 'round' form a loop|'round', 'back' form a loop"),
    'no root': (robot(link('a'), link('b'), joint('to', 'a', 'b'), joint('fro', 'b', 'a')),
                "'to'.*form a loop"),
    'link below itself': (robot(link('a'), joint('knot', 'a', 'a')), "'knot' form a loop"),
    'unknown parent': (arm(link('hand'), joint('wrist', 'forarm', 'hand')),
                       "'wrist': parent link 'forarm' does not exist; did you mean 'forearm'"),
    'unknown child': (arm(joint('wrist', 'forearm', 'hand')), "'wrist': child link 'hand'"),
    'link twice': (arm(link('forearm')), "link 'forearm' is defined more than once"),
    'joint twice': (arm(link('x'), joint('elbow', 'forearm', 'x')),
                    "joint 'elbow' is defined more than once"),
    'link without name': (robot('<link/>'), "link ''.*'name' is missing"),
    'joint without name': (arm(link('x'), joint('', 'forearm', 'x')), "joint ''.*'name'"),
    'joint without child': (arm('<joint name="j" type="fixed"><parent link="base"/></joint>'),
                            "joint 'j': element <child> is missing"),
    'child without link': (arm(joint('j', 'base', 'x', 'fixed', '').replace('link="x"', '')),
                           "joint 'j' <child>: attribute 'link' is missing"),
    'nothing moves': (robot(link('a'), link('b'), joint('j', 'a', 'b', 'fixed', '')),
                      "nothing moves below base link 'a'"),
}
JOINTS = {
    'unknown type': (arm(link('x'), joint('j', 'forearm', 'x', kind='revolut')),
                     "joint 'j': type 'revolut'.*did you mean 'revolute'"),
    'floating': (arm(link('x'), joint('j', 'forearm', 'x', 'floating', '')),
                 "joint 'j' is floating.*make it fixed"),
    'planar': (arm(link('x'), joint('j', 'forearm', 'x', 'planar', '')), "joint 'j' is planar"),
    'zero axis': (arm(link('x'), joint('j', 'forearm', 'x', axis='0 0 0')),
                  "joint 'j': axis 0 0 0"),
    'axis of two numbers': (arm(link('x'), joint('j', 'forearm', 'x', axis='0 1')),
                            "joint 'j' <axis>: xyz='0 1' must be three numbers"),
    'axis not finite': (arm(link('x'), joint('j', 'forearm', 'x', axis='0 nan 1')),
                        "joint 'j' <axis>: xyz='0 nan 1' is not finite"),
    'origin not finite': (arm(link('x'), joint('j', 'forearm', 'x', xyz='0 inf 1')),
                          "joint 'j' <origin>: xyz='0 inf 1' is not finite"),
    'angles not finite': (arm(link('x'), joint('j', 'forearm', 'x', rpy='-inf 0 1')), "'j'.*rpy"),
    'overflowing number': (arm(link('x'), joint('j', 'forearm', 'x', xyz='0 1e999 1')),
                           "'j'.*1e999.*too large"),
    'number with a comma': (arm(link('x'), joint('j', 'forearm', 'x', xyz='0 0,5 1')),
                            "'j'.*'0 0,5 1' is not a number"),
    'number only Python reads': (arm(elbow_inside=limit(effort='1_000')), "elbow.*effort='1_000'"),
    'no limit': (arm(elbow_inside=''), "joint 'elbow': a revolute joint needs a <limit>"),
    'no effort': (arm(elbow_inside=limit(effort=None)), "'elbow' <limit>: attribute 'effort'"),
    'no velocity': (arm(elbow_inside=limit(velocity=None)), "'elbow' <limit>.*'velocity'"),
    'limits swapped': (arm(elbow_inside=limit(lower=2, upper=-2)),
                       "'elbow': lower limit 2 is above upper limit -2"),
    'limit not finite': (arm(elbow_inside=limit(upper='inf')), "'elbow' <limit>: upper='inf'"),
    'negative effort': (arm(elbow_inside=limit(effort=-5)), "'elbow': effort limit -5 is neg"),
    'negative velocity': (arm(elbow_inside=limit(velocity=-1)), "'elbow': velocity limit -1"),
    'damping not finite': (arm(elbow_inside=LIMIT + '<dynamics damping="NaN"/>'), "damping='NaN'"),
    'negative damping': (arm(elbow_inside=LIMIT + '<dynamics damping="-1"/>'),
                         "'elbow': damping -1 is negative"),
    'negative friction': (arm(elbow_inside=LIMIT + '<dynamics friction="-2"/>'), 'friction -2'),
    'mimic of the unknown': (mimic('elbo'), "'wrist' mimics joint 'elbo'.*did you mean 'elbow'"),
    'mimic of itself': (mimic('wrist'), "'wrist' mimics itself"),
    'mimic without joint': (mimic(''), "'wrist' <mimic>: attribute 'joint' is missing"),
    'mimic not finite': (mimic('elbow', multiplier='nan'), "'wrist' <mimic>: multiplier='nan'"),
    'mimics in a ring': (arm(elbow_inside=LIMIT + '<mimic joint="shoulder"/>',
                             shoulder_inside=LIMIT + '<mimic joint="elbow"/>'),
                         "joint 'shoulder' mimics itself, by way of 'shoulder', 'elbow'"),
    'mimic of a fixed joint': (gripper().replace('joint="left_finger"', 'joint="wrist"'),
                               "'right_finger' mimics joint 'wrist', but 'wrist' is fixed"),
    'mimic that fits nowhere': (mimic('elbow', offset=9), "'wrist' mimics 'elbow'.*offset 9"),
}
MASSES = {
    'negative mass': (inertial(mass='-2'), "link 'forearm': mass -2 kg is negative"),
    'mass not finite': (inertial(mass='nan'), "link 'forearm' <mass>: value='nan' is not finite"),
    'mass is a word': (inertial(mass='heavy'), "'forearm' <mass>: value='heavy' is not a number"),
    'no mass': (f'<inertial>{INERTIA}</inertial>', "link 'forearm' <inertial>.*<mass> is missing"),
    'centre not finite': (inertial(xyz='0 0 inf'), "'forearm' <origin>: xyz='0 0 inf'"),
    'inertia not finite': (inertial(ixx='inf'), "'forearm' <inertia>: ixx='inf'"),
    'inertia incomplete': (inertial(iyz=None), "'forearm' <inertia>: attribute 'iyz' is missing"),
    'negative inertia': (inertial(izz=-.01), "'forearm': inertia.*negative.*-0.01, 0.02, 0.02"),
    'indefinite inertia': (inertial(ixy=.03), "'forearm': inertia.*negative principal moment"),
    'absurdly heavy': (inertial(mass='1e300', xyz='1e9 0 0'), "'forearm'.*too large"),
}
OPTIONS = {
    'unknown base': ({'base': 'bass'}, "base link 'bass'.*did you mean 'base'"),
    'unknown tip': ({'tip': 'for_arm'}, "tip link 'for_arm'.*did you mean 'forearm'"),
    'base of a wrong type': ({'base': ['base']}, 'base link'),
    'tip above base': ({'base': 'forearm', 'tip': 'upper_arm'}, "'upper_arm' is not below"),
    'tip is the base': ({'tip': 'base'}, "nothing moves below base link 'base'"),
    'locking the unknown': ({'locked': {'left_fingr': 0.02}}, "'left_fingr'.*'left_finger'"),
    'locking a fixed joint': ({'locked': {'wrist': 0.0}}, "'wrist' is fixed already"),
    'locking a follower': ({'locked': {'right_finger': 0.02}}, "'right_finger' mimics 'left_fing"),
    'locking outside': ({'locked': {'elbow': 90}}, "'elbow': position 90 is outside.*-2 .. 2"),
    'locking nowhere': ({'locked': {'elbow': float('nan')}}, "'elbow': position nan"),
    'locking at a word': ({'locked': {'elbow': 'up'}}, "'elbow': position 'up'"),
    'locking at a huge integer': ({'locked': {'elbow': 10**400}}, "'elbow': position 1000"),
    'locking a list': ({'locked': ['elbow']}, 'must be a mapping'),
    'locking all': ({'locked': {'shoulder': 0, 'elbow': 0, 'left_finger': 0.02}}, 'nothing moves'),
    'gravity not finite': ({'gravity': (0, 0, float('inf'))}, 'gravity .*three finite numbers'),
    'gravity of one number': ({'gravity': -9.81}, 'gravity -9.81 must be three'),
    'gravity in words': ({'gravity': 'down'}, "gravity 'down'"),
}


@pytest.mark.parametrize('xml, message', (TEXT | STRUCTURE | JOINTS).values(),
                         ids=(TEXT | STRUCTURE | JOINTS).keys())
def test_defective_urdf(xml, message):
    with pytest.raises(ModelError, match=message):
        RobotModel.from_urdf(xml)


@pytest.mark.parametrize('inside, message', MASSES.values(), ids=MASSES.keys())
def test_defective_mass(inside, message):
    with pytest.raises(ModelError, match=message):
        RobotModel.from_urdf(arm(forearm=inside))


@pytest.mark.parametrize('options, message', OPTIONS.values(), ids=OPTIONS.keys())
def test_defective_request(options, message):
    with pytest.raises(ModelError, match=message):
        RobotModel.from_urdf(gripper(), **options)


def test_the_arms_themselves_are_sound():
    assert RobotModel.from_urdf(arm()).nv == 2
    assert RobotModel.from_urdf(gripper()).nv == 3
    assert RobotModel.from_urdf(arm(forearm=INERTIAL)).warnings == ()


def test_evidence_is_attached():
    with pytest.raises(ModelError) as caught:
        RobotModel.from_urdf(arm(elbow_inside=limit(lower=2, upper=-2)))
    assert caught.value.evidence == {'joint': 'elbow', 'lower': 2.0, 'upper': -2.0}


@pytest.mark.parametrize('text, near', [
    (b'# robodyn_ros\n', "near '# robodyn_ros'"), ('<robot>\n  <linkä\n', "near '<linkä'"),
    ('<robot>\n<linkä\n'.encode(), "near '<linkä'"),
    (b'<robot>\n\xff\xfe\n', "near '\ufffd\ufffd'")])
def test_what_is_no_xml_is_quoted_as_text(text, near):
    with pytest.raises(ModelError, match='not well-formed XML') as caught:
        RobotModel.from_urdf(text)
    assert near in str(caught.value)
    assert "b'" not in str(caught.value)


def test_messages_stay_short():
    with pytest.raises(ModelError) as caught:
        RobotModel.from_urdf(arm(elbow_inside=limit(effort='9' * 100_000 + 'x')))
    assert len(str(caught.value)) < 300
