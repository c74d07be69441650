"""
A keystore from `config/security/policy.xml`, for tests: what `ros2 security` makes, by openssl.

    python security_keystore.py FOLDER [DOMAIN]        one to try things with by hand
"""

from datetime import datetime, timedelta, timezone
import os
from pathlib import Path
import subprocess
import sys
from xml.etree import ElementTree

POLICY = Path(__file__).resolve().parents[1] / 'config' / 'security' / 'policy.xml'
DAYS = 2
CA = ('identity_ca.cert.pem', 'permissions_ca.cert.pem')
# of a service and an action, the topics of each direction
SERVICE = ('rq{}Request', 'rr{}Reply')
ACTION = tuple([form.format(f'{{}}/_action/{verb}') for verb in (
    'send_goal', 'cancel_goal', 'get_result')] for form in SERVICE)
FEEDBACK = ['rt{}/_action/feedback', 'rt{}/_action/status']
# what each attribute of a policy permits a node to publish and subscribe to
RIGHTS = {
    'publish': (['rt{}'], []), 'subscribe': ([], ['rt{}']),
    'request': ([SERVICE[0]], [SERVICE[1]]), 'reply': ([SERVICE[1]], [SERVICE[0]]),
    'call': (ACTION[0], ACTION[1] + FEEDBACK), 'execute': (ACTION[1] + FEEDBACK, ACTION[0])}
GOVERNANCE = """<?xml version="1.0" encoding="UTF-8"?>
<dds><domain_access_rules><domain_rule>
  <domains><id>{domain}</id></domains>
  <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
  <enable_join_access_control>true</enable_join_access_control>
  <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
  <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
  <rtps_protection_kind>SIGN</rtps_protection_kind>
  <topic_access_rules><topic_rule>
    <topic_expression>*</topic_expression>
    <enable_discovery_protection>true</enable_discovery_protection>
    <enable_liveliness_protection>true</enable_liveliness_protection>
    <enable_read_access_control>true</enable_read_access_control>
    <enable_write_access_control>true</enable_write_access_control>
    <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
    <data_protection_kind>ENCRYPT</data_protection_kind>
  </topic_rule></topic_access_rules>
</domain_rule></domain_access_rules></dds>
"""
PERMISSIONS = """<?xml version="1.0" encoding="UTF-8"?>
<dds><permissions><grant name="{name}">
  <subject_name>CN={name}</subject_name>
  <validity><not_before>{begin}</not_before><not_after>{end}</not_after></validity>
  <allow_rule>
    <domains><id>{domain}</id></domains>
    <publish><topics>{publish}</topics></publish>
    <subscribe><topics>{subscribe}</topics></subscribe>
  </allow_rule>
  <default>DENY</default>
</grant></permissions></dds>
"""
REQUEST = """[req]
prompt = no
distinguished_name = name
x509_extensions = authority
[name]
CN = {}
[authority]
basicConstraints = critical, CA:true, pathlen:1
"""


def rules(node):
    """Yield (attribute, full name) of all that the policy allows a node."""
    profile = ElementTree.parse(POLICY).find(f'.//profile[@node="{node}"]')
    for group in profile:
        for attribute in group.attrib:
            assert group.get(attribute) == 'ALLOW'
            for name in group:
                yield attribute, full_name(name.text, profile.get('ns'), node)


def full_name(name, namespace, node):
    """Return a name as the graph has it."""
    if name.startswith('/'):
        return name
    return namespace.rstrip('/') + '/' + (name.replace('~', node, 1))


def nodes():
    """Return the nodes that the policy is about."""
    return [profile.get('node') for profile in ElementTree.parse(POLICY).iter('profile')]


def rights(node):
    """Return the topics of the middleware that a node may publish and subscribe to."""
    allowed = {'ros_discovery_info'}, {'ros_discovery_info'}
    for attribute, name in rules(node):
        for topics, forms in zip(allowed, RIGHTS[attribute]):
            topics.update(form.format(name) for form in forms)
    return tuple(map(sorted, allowed))


def openssl(*arguments):
    """Run openssl."""
    run = subprocess.run(['openssl', *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 0, f'openssl {" ".join(map(str, arguments))}: {run.stderr}'


class Keystore:
    """
    A keystore in a folder, with an enclave for each node of the policy.

    Parameters
    ----------
    folder : Path
        Where to make it.
    domain : int
        The ROS domain that it is for.

    """

    def __init__(self, folder, domain):
        self.folder, self._domain = Path(folder), domain
        for part in ('public', 'private', 'enclaves'):
            (self.folder / part).mkdir(parents=True)
        self._cert, self._key = (self.folder / 'public' / 'ca.cert.pem',
                                 self.folder / 'private' / 'ca.key.pem')
        self._new_key(self._key)
        openssl('req', '-x509', '-new', '-key', self._key, '-sha256', '-days', DAYS, '-config',
                self._request('testCA'), '-out', self._cert)
        self._sign('governance', GOVERNANCE.format(domain=domain), self.folder / 'enclaves')
        for node in nodes():
            self.add(node)

    def add(self, node):
        """Make the enclave of a node."""
        enclave = self.folder / 'enclaves' / node
        enclave.mkdir()
        for name in CA:
            (enclave / name).write_bytes(self._cert.read_bytes())
        (enclave / 'governance.p7s').write_bytes(
            (self.folder / 'enclaves' / 'governance.p7s').read_bytes())
        self._new_key(enclave / 'key.pem')
        request = self.folder / 'private' / 'request.pem'
        openssl('req', '-new', '-key', enclave / 'key.pem', '-config', self._request(f'/{node}'),
                '-out', request)
        openssl('x509', '-req', '-in', request, '-CA', self._cert, '-CAkey', self._key,
                '-CAcreateserial', '-days', DAYS, '-sha256', '-out', enclave / 'cert.pem')
        now = datetime.now(timezone.utc)
        begin, end = (f'{now + timedelta(days=days):%Y-%m-%dT%H:%M:%S}' for days in (-1, DAYS))
        publish, subscribe = (''.join(f'<topic>{topic}</topic>' for topic in topics)
                              for topics in rights(node))
        self._sign('permissions', PERMISSIONS.format(
            name=f'/{node}', begin=begin, end=end, domain=self._domain, publish=publish,
            subscribe=subscribe), enclave)

    def environment(self):
        """Return what a process needs in its environment to take part."""
        return {'ROS_SECURITY_KEYSTORE': str(self.folder), 'ROS_SECURITY_ENABLE': 'true',
                'ROS_SECURITY_STRATEGY': 'Enforce'}

    def _new_key(self, path):
        openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', path)
        os.chmod(path, 0o600)

    def _request(self, name):
        path = self.folder / 'private' / 'request.cnf'
        path.write_text(REQUEST.format(name))
        return path

    def _sign(self, what, text, folder):
        (folder / f'{what}.xml').write_text(text)
        openssl('smime', '-sign', '-text', '-in', folder / f'{what}.xml', '-signer', self._cert,
                '-inkey', self._key, '-out', folder / f'{what}.p7s')


if __name__ == '__main__':
    Keystore(sys.argv[1], int((sys.argv[2:] or [os.environ.get('ROS_DOMAIN_ID', 0)])[0]))
