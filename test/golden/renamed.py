"""Names and messages that have changed since the golden logs were recorded."""

import re

# pattern in the stored header, replacement
_CHANGES = tuple((re.compile(pattern), new) for pattern, new in (
    (r'the controller is not active; activate it first(?! \(with)',
     'the controller is not active; activate it first (with autostart it activates itself: its '
     'log has what it waits for)'),
    (r'hops to and fro by (\S+);', r'alternates between two positions, \1 apart;'),
    ('(hold|float|stop) was asked for', r'\1 was requested'),
    ('"guest": ', '"external_law": '),
    ('the motion is given up after a pause',
     'the motion is given up after a gap of states or torques'),
    (r"joint '(\w+)' feels (\S+ N(?: m)?) from outside", r"external torque of joint '\1' is \2"),
    ('check encoder, names, and who else publishes',
     'check encoder, joint names, and other publishers of joint states'),
    ('it looks as if joints had changed places', 'joints seem to be exchanged'),
    ('check who else publishes joint states', 'check for other publishers of joint states'),
    ('but the model says that its weight takes', 'but its gravity torque in the model is'),
    ('If that is as it should be, set', 'If that is intended, set'),
    ('or gravity would be there twice; or the brakes carry the arm',
     'or gravity would be compensated twice; or the brakes hold the arm'),
    ('the driver tells the load instead of what the motors give',
     'the driver reports the load instead of the motor torque'),
    ('gravity is there twice: both the driver and somebody else add it, or',
     'gravity is compensated twice, by the driver and by another node, or'),
    ('times the weight in all joints', 'times the gravity torque in all joints'),
    ('the driver must tell N m', 'the driver must report N m'),
    ('the joint states carry no effort', 'the joint states contain no effort'),
    ('belongs to the immovable base, no joint feels (it|its weight); name',
     'belongs to the immovable base; name'),
    ('bring the arm to where it weighs less, or raise effort_margin',
     'move the arm to a pose with less gravity torque, or raise effort_margin'),
    ('linear feedback is not to have the arm: set the parameter mode to linear_feedback, again if '
     'it was taken away meanwhile',
     'linear feedback is not active: set the parameter mode to linear_feedback, again if it was '
     'disabled meanwhile'),
    ('nothing of it is shown; set a part, 0.5 say',
     'no torque is reflected; set it, for example to 0.5'),
    ('a target wrench counts in', 'a target wrench is used in'),
    ('times that is not taken', 'times that is rejected'),
    ('in contact with something stiff that is', 'in contact with a stiff environment that is'),
    ('no word of the guard yet', 'no message of the guard yet'),
    ('the guard refuses to guard this controller, its log says why',
     'the guard refuses to guard this controller, see its log')))


def renamed(text):
    """Return the text of a stored header with the present names and messages."""
    for pattern, new in _CHANGES:
        text = pattern.sub(new, text)
    return text
