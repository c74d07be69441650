"""ROS of this process and its children kept apart from everybody else's."""

from __future__ import annotations

import argparse
import os
import random
import socket
import sys

from robodyn_ros.exceptions import RobodynError

# domains whose ports lie below those that Linux gives to anybody
_DOMAINS = range(1, 102)
_claims: list[socket.socket] = []


def add_enclave_argument(parser: argparse._ActionsContainer) -> None:
    """Declare the option that gives this process the keys of an enclave."""
    parser.add_argument('--enclave', default='', metavar='NAME',
                        help='of SROS 2, whose keys and permissions to use, such as /operator')


def isolate() -> str:
    """
    Keep ROS to this machine and, if the user has not chosen one, to a domain of its own.

    Returns
    -------
    domain : str
        ROS_DOMAIN_ID; for this process and those that it starts.

    """
    environment = os.environ
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    if environment.get('ROS_DISTRO') == 'humble':  # does not know that yet
        environment['ROS_LOCALHOST_ONLY'] = '1'
    for name in ('ROS_STATIC_PEERS', 'ROS_DISCOVERY_SERVER', 'ROS_SUPER_CLIENT'):
        environment.pop(name, None)
    if not environment.get('ROS_DOMAIN_ID'):
        environment['ROS_DOMAIN_ID'] = str(free_domain())
    return environment['ROS_DOMAIN_ID']


def free_domain() -> int:
    """
    Return a ROS domain that no process on this machine uses, at random.

    Until this process ends, `free_domain` of no other process returns it.

    Raises
    ------
    RobodynError
        All are in use.

    """
    for domain in random.sample(_DOMAINS, len(_DOMAINS)):
        claim = _claim(domain)
        if claim is None:
            continue
        if _is_quiet(domain):
            _claims.append(claim)
            return domain
        claim.close()
    raise RobodynError('every ROS domain of this machine is in use; end some ROS processes')


def _is_quiet(domain: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # where the first participant of the domain listens (RTPS 9.6.2)
            probe.bind(('', 7410 + 250 * domain))
        except OSError:
            return False
    return True


def _claim(domain: int) -> socket.socket | None:
    """Return what keeps others from choosing a domain before it is used; None if they did."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if sys.platform == 'linux':  # names without a file, gone with the process
        try:
            claim.bind(f'\0robodyn_ros domain {domain}')
        except OSError:
            claim.close()
            return None
    return claim
