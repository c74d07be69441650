"""Findings about a running arm: joint states, effort at rest, effort controller, commanders."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from robodyn_ros.cli.check.finding import Finding, listed, NOTE, STOP, WARNING
from robodyn_ros.cli.check.states import (
    judge_names, judge_numbers, judge_silence, judge_timing, mean_state, read_table)
from robodyn_ros.cli.check.workspace import usable_limits
from robodyn_ros.control import Loads, with_slots
from robodyn_ros.control.activation_checks import (
    check_effort, check_state, recovery_notice, sides_beyond)
from robodyn_ros.control.settings import PositionLimits
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel

if TYPE_CHECKING:  # needs ROS
    from robodyn_ros.client.live_check import Seen

_TOLERANCE = 0.1   # part of the effort limit; default of the parameter handshake_tolerance
_OWN = 'computed_torque_controller'


class LiveResult(NamedTuple):
    """Findings, and the measured values."""

    findings: list[Finding]
    measured: dict[str, Any]


def judge(dynamics: Dynamics, seen: Seen, driver_compensates_gravity: bool = False) -> LiveResult:
    """Return the findings about the running arm."""
    model = dynamics.model
    found = [*_commanders(seen), *_effort_controller(model, seen),
             *(Finding(NOTE, 'loop', line) for line in seen.loop)]
    measured = {'joint_states': seen.topic, 'publishers': seen.publishers,
                'messages': len(seen.messages), 'commands': seen.commands,
                'commanders': seen.commanders, 'listeners': seen.listeners,
                'effort_controller': seen.parameters, 'loop': seen.loop}
    if not seen.messages:
        return LiveResult([judge_silence(seen), *found], measured)
    table = read_table(model, seen)
    timing, measured['rate_hz'], measured['longest_gap_s'] = judge_timing(seen)
    found = [*judge_names(model, seen, table), *judge_numbers(model, table), *timing, *found]
    state = mean_state(table)
    measured.update(zip(('position', 'velocity', 'effort'), state))
    if np.isfinite(state[0]).all() and np.isfinite(state[1]).all():
        measured['gravity'] = dynamics.gravity(state[0])
        found += _at_rest(model, state, driver_compensates_gravity)
    return LiveResult(found, measured)


def _at_rest(model: RobotModel, state: tuple[np.ndarray, ...],
             driver_compensates_gravity: bool) -> list[Finding]:
    """Check the position of the arm and the effort that it reports at rest."""
    found = []
    try:
        check_state(model, state[0], state[1])
    except StateError as error:
        found.append(Finding(STOP, 'state', str(error)))
    else:
        q = state[0]
        notice = recovery_notice(model, q, sides_beyond(model, q, q, PositionLimits().tolerance))
        found += [Finding(WARNING, 'state', notice)] if notice else []
    limit = usable_limits(model)
    tolerance = np.where(np.isfinite(limit), _TOLERANCE * limit, _TOLERANCE)
    dynamics = Dynamics(with_slots(model))
    try:
        notice = check_effort(dynamics, Loads(dynamics), state[0], state[1], state[2],
                              tolerance, driver_compensates_gravity)
    except StateError as error:
        return [*found, Finding(STOP, 'effort', str(error))]
    over = np.abs(dynamics.gravity(state[0])) > limit
    if over.any():
        names = [name for name, bad in zip(model.joint_names, over) if bad]
        found.append(Finding(STOP, 'gravity', (
            f'at the present position gravity exceeds the effort limit (N m or N) of '
            f'{listed(names)}; move the arm to another pose by hand')))
    text = (f'the effort at rest could not be compared with the gravity torque: {notice}'
            if notice else 'the reported effort at rest agrees with the gravity torque')
    return [*found, Finding(NOTE, 'effort', text)]


def _commanders(seen: Seen) -> list[Finding]:
    found = []
    commanders = sorted((Counter(seen.commanders) - Counter(seen.guards)).elements())
    others = [name for name in commanders if name.rpartition('/')[2] != _OWN]
    if len(commanders) > 1 or others:
        found.append(Finding(STOP, 'commands', (
            f'{", ".join(commanders)} publish on {seen.commands}: the controller does not '
            'start while another node commands the arm; stop '
            f'{", ".join(others) or "all but one"}')))
    elif commanders:
        found.append(Finding(NOTE, 'commands', f'{commanders[0]} commands the arm already'))
    if len(commanders) < len(seen.commanders):
        found.append(Finding(NOTE, 'commands', (
            f'a guard publishes on {seen.commands} as well: it commands only when the controller '
            'does not')))
    if not seen.listeners:
        found.append(Finding(WARNING, 'commands', (
            f'no subscriber on {seen.commands}: torques would have no effect; start the effort '
            'controller, or give its topic with --commands')))
    return found


def _effort_controller(model: RobotModel, seen: Seen) -> list[Finding]:
    """Check the list of joints of ros2_control's effort controller, which maps by position."""
    if seen.parameters is None or not seen.parameters.get('joints'):
        return []
    theirs = list(seen.parameters['joints'])
    expected = list(seen.command_joints or model.joint_names)
    found = []
    if set(theirs) != set(expected):
        found.append(Finding(STOP, 'commands', (
            f'{seen.effort_controller} commands the joints {listed(theirs)}, the model has '
            f'{listed(expected)}: change its parameter joints, or select others here with '
            '--base, --tip and --lock')))
    elif theirs != expected:
        found.append(Finding(STOP, 'commands', (
            f'{seen.effort_controller} expects torques in another order, each would act on a '
            f'wrong joint; set the parameter command_joints to [{", ".join(theirs)}]')))
    interface = seen.parameters.get('interface_name')
    if interface and interface != 'effort':
        found.append(Finding(STOP, 'commands', (
            f'{seen.effort_controller} has the interface {interface!r}: torques (N m or N) would '
            "be misinterpreted; set its interface_name to 'effort'")))
    return found
