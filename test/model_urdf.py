"""Small URDFs for the tests of the model: an arm of two joints, and the pieces to vary it."""

INERTIA = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/>'
INERTIAL = f'<inertial><origin xyz="0 0 0.1"/><mass value="2"/>{INERTIA}</inertial>'
LIMIT = '<limit lower="-2" upper="2" effort="50" velocity="3"/>'


def link(name, inside=INERTIAL):
    """Return a link, with an inertial by default."""
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind='revolute', inside=LIMIT, axis='0 0 1', xyz='0 0 0.3',
          rpy='0 0 0'):
    """Return a joint; `inside` is what it contains besides origin, parent, child and axis."""
    return (f'<joint name="{name}" type="{kind}"><origin xyz="{xyz}" rpy="{rpy}"/>'
            f'<parent link="{parent}"/><child link="{child}"/>'
            + (f'<axis xyz="{axis}"/>' if axis else '') + f'{inside}</joint>')


def robot(*parts, name='arm'):
    """Return a URDF of links and joints."""
    return f'<robot name="{name}">' + ''.join(parts) + '</robot>'


def arm(*extra, shoulder_inside=LIMIT, elbow_inside=LIMIT, forearm=INERTIAL):
    """Return an arm base - shoulder - upper_arm - elbow - forearm, and whatever is added to it."""
    return robot(
        link('base', ''), link('upper_arm'), link('forearm', forearm),
        joint('shoulder', 'base', 'upper_arm', inside=shoulder_inside),
        joint('elbow', 'upper_arm', 'forearm', inside=elbow_inside, axis='0 1 0'),
        *extra)


def gripper():
    """Return an arm with a gripper whose right finger mimics the left one."""
    slide = '<limit lower="0.01" upper="0.04" effort="20" velocity="0.2"/>'
    return arm(
        link('hand'), link('left'), link('right'),
        joint('wrist', 'forearm', 'hand', kind='fixed', inside='', rpy='0 0 0.5'),
        joint('left_finger', 'hand', 'left', kind='prismatic', inside=slide, axis='0 1 0'),
        joint('right_finger', 'hand', 'right', kind='prismatic', axis='0 -1 0',
              inside=slide + '<mimic joint="left_finger" multiplier="0.5" offset="0.01"/>'))
