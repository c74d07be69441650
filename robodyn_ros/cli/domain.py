"""ROS of this process and its children kept apart from everybody else's."""

from __future__ import annotations

import os
import random
import socket

from robodyn_ros.exceptions import RobodynError

# domains whose ports lie below those that Linux gives to anybody
_DOMAINS = range(1, 102)


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
    Return a ROS domain that nobody on this machine uses, at random.

    Raises
    ------
    RobodynError
        All are in use.

    """
    for domain in random.sample(_DOMAINS, len(_DOMAINS)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                # where the first participant of the domain listens (RTPS 9.6.2)
                probe.bind(('', 7410 + 250 * domain))
            except OSError:
                continue
        return domain
    raise RobodynError('every ROS domain of this machine is in use; end some ROS processes')
