"""
Attacks on XML readers, as URDFs: entity bombs, external files, excessive numbers of elements.

    python fuzz_attacks.py       tries all, and prints what came of each as a line of JSON

In a process of its own with limits, so that an attack that succeeds ends nothing else.
"""

import json
from pathlib import Path
import resource
import time

from model_urdf import arm, robot
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import RobotModel

MEGABYTE = 2**20
URL = 'http://127.0.0.1:9/robot.dtd'
ENTITY = '<!DOCTYPE r [<!ENTITY {}>]><robot name="&a;"/>'


def thin(*names, joints=()):
    """Return the shortest URDF of links, and joints of (name, parent, child)."""
    return robot(*(f'<link name="{name}"/>' for name in names), *(
        f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/>'
        '</joint>' for name, parent, child in joints))


def laughs(levels=9):
    """Return entities of which each is ten times the one before."""
    entities = ''.join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, levels + 1))
    return f'<!DOCTYPE r [<!ENTITY a0 "lol">{entities}]><robot name="&a{levels};"/>'


# what it is, and the words of the answer; None: it loads
ATTACKS = {
    'billion laughs': (laughs(), 'document type or entity'),
    'quadratic': (f'<!DOCTYPE r [<!ENTITY a "{"a" * 10**5}">]><robot name="{"&a;" * 10**5}"/>',
                  'document type or entity'),
    'entity of itself': (ENTITY.format('a "&a;"'), 'document type or entity'),
    'parameter entity': (f'<!DOCTYPE r [<!ENTITY % p SYSTEM "{URL}"> %p;]><robot/>',
                         'document type or entity'),
    'local file': (ENTITY.format('a SYSTEM "file:///etc/passwd"'), 'document type or entity'),
    'network': (ENTITY.format(f'a SYSTEM "{URL}"'), 'document type or entity'),
    'document type': (f'<!DOCTYPE robot SYSTEM "{URL}"><robot/>', 'document type or entity'),
    'bomb in utf-16': (laughs().encode('utf-16'), 'document type or entity'),
    'bomb behind a mark': (b'\xef\xbb\xbf' + laughs().encode(), 'document type or entity'),
    'bomb in latin-1': (b'<?xml version="1.0" encoding="latin-1"?>' + laughs().encode(),
                        'document type or entity'),
    'XInclude': (arm('<xi:include href="file:///etc/passwd"/>'), None),
    'style sheet': (f'<?xml-stylesheet href="{URL}"?>' + arm(), None),
    'deep': (arm(forearm='<a>' * 100_000 + '</a>' * 100_000), None),
    'deep and open': (arm(forearm='<a>' * 2_000_000), 'more than 500000 elements'),
    'many elements': (arm(forearm='<a/>' * 2_000_000), 'more than 500000 elements'),
    'many silent elements': (arm(forearm='<visual>' + '<a/>' * 1_000_000 + '</visual>'),
                             'more than 500000 elements'),
    'many links': (thin(*range(60_000)), 'more than 50000 elements'),
    'many roots': (thin(*range(20_000)), 'falls into 20000 parts'),
    'many mistakes': (thin('a' * 1000, *range(6_000), joints=[
        (k, f'{"ab" * 90}{k}', k) for k in range(3_000)]), 'mistakes'),
    'long names alike': (thin(*(f'{"ab" * 100}{k}' for k in range(20_000)),
                              joints=[('j', 'ba' * 100, 'b')]), "joint 'j': parent link"),
    'attribute of 100 MB': (arm().replace('name="arm"', f'name="{"a" * 100 * MEGABYTE}"'),
                            'larger than 8 MiB'),
    'attribute of 7 MB': (arm().replace('name="arm"', f'name="arm" x="{"a" * 7 * MEGABYTE}"'),
                          None),
    'many attributes': (arm().replace('name="arm"', 'name="arm" ' + ' '.join(
        f'a{k}=""' for k in range(600_000))), None),
    'many name spaces': (arm().replace('name="arm"', 'name="arm" ' + ' '.join(
        f'xmlns:a{k}="u"' for k in range(400_000))), None),
    'never closed': ('<robot name="' + 'a' * 7 * MEGABYTE, 'not well-formed XML'),
    'many lines': ('<robot>' + '\n' * 7 * MEGABYTE, 'not well-formed XML'),
    'blanks': (' ' * 7 * MEGABYTE + arm(), None),
    'references': (arm().replace('name="arm"', f'name="{"&#97;" * 10**6}"'),
                   'the name of the robot is 1000000 characters long'),
    'CDATA': (arm(forearm=f'<![CDATA[{"<" * 7 * MEGABYTE}]]>'), None),
    'null bytes': (arm().replace('forearm', 'fore\0arm'), 'not well-formed XML'),
    'null bytes alone': (b'\0' * MEGABYTE, 'not well-formed XML'),
    'utf-32': (arm().encode('utf-32'), 'not well-formed XML'),
    'utf-16 declared as utf-8': (('<?xml version="1.0" encoding="utf-8"?>' + arm()).encode(
        'utf-16'), 'not well-formed XML'),
    'utf-8 declared as utf-16': (b'<?xml version="1.0" encoding="utf-16"?>' + arm().encode(),
                                 'not well-formed XML'),
    'odd encoding': (b'<?xml version="1.0" encoding="idna"?>' + arm().encode(),
                     'cannot be decoded'),
    'encoding of files': (b'<?xml version="1.0" encoding="/etc/passwd"?>' + arm().encode(),
                          'not well-formed XML'),
}


def peak():
    """Return the most memory (MiB) that was in use since the last call."""
    lines = Path('/proc/self/status').read_text().splitlines()
    Path('/proc/self/clear_refs').write_text('5')
    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM')) / 1024


def attacked(text):
    """Load what an attack sends; return what came of it, and what seconds and MiB it took."""
    peak()
    before, start = peak(), time.process_time()
    try:
        answer = f'nv {RobotModel.from_urdf(text).nv}'
    except ModelError as error:
        answer = str(error)
    return answer, time.process_time() - start, peak() - before


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
    RobotModel.from_urdf(arm())
    for each, (attack, _) in ATTACKS.items():
        print(json.dumps([each, *attacked(attack)]), flush=True)
