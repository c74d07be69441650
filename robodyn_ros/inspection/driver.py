"""Findings about a running driver that should be that of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from robodyn_ros.arms import PLUGIN, Profile, profiles
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.inspection.finding import Finding, listed, NOTE, STOP
from robodyn_ros.inspection.live import judge
from robodyn_ros.text import number

if TYPE_CHECKING:  # needs ROS
    from robodyn_ros.client.live_check import Seen

_SLOWER = 0.8  # part of the rate of the profile from which on it counts as reached


def foreign(profile: Profile, seen: Seen) -> list[Finding]:
    """Return the finding that the driver is another one, with the profile that has its joints."""
    reported = list(dict.fromkeys(name for each in seen.messages for name in each.names))
    if not reported or set(profile.joints) & set(reported):
        return []
    others = [name for name, each in profiles().items()
              if set(each.named('').joints) <= set(reported)]
    remedy = (f'these are joints of {" or ".join(others)}' if others else
              'give the prefix of the joints with --prefix')
    return [Finding(STOP, 'driver', (
        f'this is not the driver of {profile.title}: {seen.topic} has the joints '
        f'{listed(reported)}, expected are {listed(profile.joints)}; {remedy}'))]


def judge_driver(profile: Profile, dynamics: Dynamics, urdf: str | bytes,
                 seen: Seen) -> list[Finding]:
    """Return the findings about the driver, those of `judge` included."""
    found, measured = judge(dynamics, seen, profile.parameters.driver_compensates_gravity,
                            profile.command.interface)
    if profile.command.way == PLUGIN:  # it has no topic
        found = [each for each in found if each.kind != 'commands']
        if seen.parameters is None:
            found.append(Finding(STOP, 'driver', f'{seen.effort_controller}, the exported plugin, '
                                 'does not run: activate it in controller_manager'))
        elif list(seen.parameters.get('joints') or ()) != list(profile.joints):
            found.append(Finding(STOP, 'driver', f'{seen.effort_controller} has other joints than '
                                 f'the profile, which has {listed(profile.joints)}'))
    rate = measured.get('rate_hz', 0.0)
    if rate and rate < _SLOWER * profile.state.rate:
        found.append(Finding(STOP, 'driver', (
            f'{seen.topic} has {number(rate)} Hz, this driver should have '
            f'{number(profile.state.rate)} Hz ({profile.state.source}): set its rate, or find out '
            'who else publishes there')))
    return [*found, *_hardware(profile, urdf)]


def _hardware(profile: Profile, urdf: str | bytes) -> Iterator[Finding]:
    """Compare parameters of the hardware in the robot description with the steps."""
    given: dict[str, set[str]] = {}
    for each in ElementTree.fromstring(urdf).iterfind('.//ros2_control/hardware/param'):
        given.setdefault(each.get('name', ''), set()).add((each.text or '').strip())
    for name, step in profile.steps.by_name.items():
        wrong = []
        for entry in step.hardware:
            key, _, wanted = entry.partition(':')
            if not all(_same(each, wanted) for each in given.get(key, {''})):
                has = ', '.join(sorted(given.get(key, ()))) or 'missing'
                wrong.append(f'{key} is {has}, needed is {wanted}')
        if wrong:
            yield Finding(STOP, 'driver', (
                f'step {name}, parameters of the hardware in the robot description: '
                f'{"; ".join(wrong)}. {step.do}'))
        elif step.hardware:
            yield Finding(NOTE, 'driver', f'step {name} is done: {", ".join(step.hardware)}')


def _same(given: str, wanted: str) -> bool:
    try:
        return float(given) == float(wanted)
    except ValueError:
        return given.lower() == wanted.lower()
