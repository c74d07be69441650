"""A ROS domain of this process and its children, separate from other ROS systems."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
import os
import random
import socket
import sys

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.share import share_path

# domains whose ports are below the ephemeral ports of Linux
_DOMAINS = range(1, 102)
_claims: list[socket.socket] = []
_PROFILES = 'FASTDDS_DEFAULT_PROFILES_FILE'
_FAST_DDS_3 = 9  # first release of rclpy with it


def isolate() -> str:
    """
    Restrict ROS to this machine and, if ROS_DOMAIN_ID is not set, to an unused domain.

    In other processes `free_domain` does not return the domain any more.

    Returns
    -------
    domain : str
        ROS_DOMAIN_ID of this process and those that it starts.

    """
    environment = os.environ
    # With LOCALHOST rmw_fastrtps adds shared memory, where a process that is not scheduled holds
    # up others, for up to a third of a second; and a killed one leaves its segments.
    profile = str(share_path('config', 'fastdds.xml'))
    used = _reads_profiles() and environment.setdefault(_PROFILES, profile) == profile
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'SYSTEM_DEFAULT' if used else 'LOCALHOST'
    if environment.get('ROS_DISTRO') == 'humble':  # ignores the variable above
        environment['ROS_LOCALHOST_ONLY'] = '1'
    for name in ('ROS_STATIC_PEERS', 'ROS_DISCOVERY_SERVER', 'ROS_SUPER_CLIENT'):
        environment.pop(name, None)
    given = environment.get('ROS_DOMAIN_ID', '')
    if not given:
        environment['ROS_DOMAIN_ID'] = str(free_domain())
    elif given.isdigit() and (claim := _claim(int(given))) is not None:
        _claims.append(claim)
    return environment['ROS_DOMAIN_ID']


def _reads_profiles() -> bool:
    """Return whether the middleware is a Fast DDS that reads the profile of this package."""
    try:
        release = int(version('rclpy').partition('.')[0])
    except PackageNotFoundError:
        return False
    return release >= _FAST_DDS_3 and os.environ.get(
        'RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp').startswith('rmw_fastrtps')


def free_domain() -> int:
    """
    Return a ROS domain that no process on this machine uses, at random.

    Until this process ends, `free_domain` in other processes does not return it.

    Raises
    ------
    RobodynError
        All domains are in use.

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
            # port of the first participant of the domain (RTPS 9.6.2)
            probe.bind(('', 7410 + 250 * domain))
        except OSError:
            return False
    return True


def _claim(domain: int) -> socket.socket | None:
    """Return a socket that reserves a domain for this process; None if it is reserved already."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if sys.platform == 'linux':  # abstract names, which end with the process
        try:
            claim.bind(f'\0robodyn_ros domain {domain}')
        except OSError:
            claim.close()
            return None
    return claim
