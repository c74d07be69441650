"""Findings about a running arm: joint states, effort at rest, effort controller, commanders."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import os
from types import SimpleNamespace
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from robodyn_ros.control import Loads, with_slots
from robodyn_ros.control.arm.checks import check_effort, check_state, recovery_notice, sides_beyond
from robodyn_ros.control.settings import PositionLimits
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.ieee import Ieee
from robodyn_ros.exceptions import StateError
from robodyn_ros.inspection.finding import Finding, listed, NOTE, STOP, WARNING
from robodyn_ros.inspection.workspace import usable_limits
from robodyn_ros.model import RobotModel
from robodyn_ros.safety import acceptance
from robodyn_ros.safety.events import NOTHING, SILENT, text, TEXTS
from robodyn_ros.text import number

if TYPE_CHECKING:  # needs ROS
    from robodyn_ros.client.live_check import Seen

# defaults of the parameters stale.hold, stale.stop and stale.max_skew
_HOLD, _SKEW = 0.05, 1.0
_SLOW = 100.0      # Hz below which gains must be low

_TOLERANCE = 0.1   # part of the effort limit; default of the parameter handshake_tolerance
_OWN = 'computed_torque_controller'


class LiveResult(NamedTuple):
    """Findings, and the measured values."""

    findings: list[Finding]
    measured: dict[str, Any]


def judge(dynamics: Dynamics, seen: Seen, driver_compensates_gravity: bool = False,
          interface: str = 'effort') -> LiveResult:
    """Return the findings about the running arm; `interface` is that of the torques."""
    model = dynamics.model
    found = [*_commanders(seen), *_effort_controller(model, seen, interface),
             *(Finding(NOTE, 'loop', line) for line in seen.loop)]
    measured = {'joint_states': seen.topic, 'publishers': seen.publishers,
                'messages': len(seen.messages), 'commands': seen.commands,
                'commanders': seen.commanders, 'listeners': seen.listeners,
                'effort_controller': seen.parameters, 'loop': seen.loop}
    if not seen.messages:
        return LiveResult([judge_silence(seen), *found], measured)
    table = read_table(model, seen)
    timing, measured['rate_hz'], measured['longest_gap_s'] = judge_timing(model, seen)
    found = [*judge_names(model, seen, table), *judge_numbers(model, table), *timing, *found]
    state = mean_state(table)
    moved, time = np.ptp(table.position, axis=0), np.ptp([each.arrived for each in seen.messages])
    if time:  # a driver without velocities
        state[1][:] = np.where(np.isnan(state[1]), moved / time, state[1])
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


def _effort_controller(model: RobotModel, seen: Seen, expected_interface: str) -> list[Finding]:
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
    if interface and interface != expected_interface:
        found.append(Finding(STOP, 'commands', (
            f'{seen.effort_controller} has the interface {interface!r}: torques (N m or N) would '
            f'be misinterpreted; set its interface_name to {expected_interface!r}')))
    return found


class Table(NamedTuple):
    """
    Joint states as arrays in model order.

    Attributes
    ----------
    position, velocity, effort : (N, nv) array
        Values; NaN where a message has none.
    named : (N, nv) array of bool
        Whether a message names the joint.

    """

    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    named: np.ndarray


def judge_silence(seen: Seen) -> Finding:
    """Return the finding about missing joint states."""
    text = f'no joint states on {seen.topic}: '
    if seen.publishers:
        text += f'publishers are {", ".join(seen.publishers)}, but no messages arrive'
    elif seen.elsewhere:
        text += (f'there are some on {", ".join(seen.elsewhere)}; give the topic with '
                 '--joint-states')
    else:
        domain = os.environ.get('ROS_DOMAIN_ID', '0')
        text += ('no publisher; start the driver or joint_state_broadcaster, and check that '
                 f'ROS_DOMAIN_ID (here {domain}) and the network are the same')
    return Finding(STOP, 'joint_states', text)


def read_table(model: RobotModel, seen: Seen) -> Table:
    """Return the messages as arrays in model order."""
    rows = np.full((3, len(seen.messages), model.nv), np.nan)
    named = np.zeros((len(seen.messages), model.nv), dtype=bool)
    for k, message in enumerate(seen.messages):
        column = {name: i for i, name in enumerate(message.names)}
        for j, name in enumerate(model.joint_names):
            i = column.get(name)
            if i is None:
                continue
            named[k, j] = True
            for row, values in zip(rows, (message.position, message.velocity, message.effort)):
                if len(values) == len(message.names):
                    row[k, j] = values[i]
    position, velocity, effort = rows
    return Table(position, velocity, effort, named)


def mean_state(table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the last position, and means of velocity and effort; NaN where there is none."""
    state = [np.full(table.named.shape[1], np.nan) for _ in range(3)]
    for j, named in enumerate(table.named.T):
        if named.any():
            state[0][j] = table.position[named, j][-1]
            state[1][j] = table.velocity[named, j].mean()
            state[2][j] = table.effort[named, j].mean()
    return state[0], state[1], state[2]


def judge_names(model: RobotModel, seen: Seen, table: Table) -> list[Finding]:
    """Check the names and the order of the reported joints."""
    found = []
    reported = list(dict.fromkeys(name for each in seen.messages for name in each.names))
    named_once = np.any(table.named, axis=0).tolist()
    missing = [name for name, named in zip(model.joint_names, named_once)
               if not named]
    if missing:
        found.append(Finding(STOP, 'joint_states', (
            f'joints not reported on {seen.topic}: {listed(missing)}; reported are '
            f'{listed(reported)}. Correct the names, or lock joints that do not move (--lock, '
            'parameter locked)')))
    extra = [name for name in reported if name not in model.joint_names]
    if extra:
        found.append(Finding(NOTE, 'joint_states', (
            f'also reported, and not part of the model: {listed(extra)}')))
    ours = [name for name in reported if name in model.joint_names]
    if not missing and ours != list(model.joint_names):
        found.append(Finding(NOTE, 'joint_states', (
            f'joint states have the order {", ".join(ours)}; this is correct, joints are mapped '
            'by name')))
    twice = {name for each in seen.messages for name in each.names if each.names.count(name) > 1}
    if twice:
        found.append(Finding(STOP, 'joint_states', (
            f'joints named twice in one message: {listed(sorted(twice))}; name each once')))
    return found


def judge_numbers(model: RobotModel, table: Table) -> list[Finding]:
    """Check that positions, velocities and efforts are reported and finite."""
    found = []
    for level, what, unit, values, effect in (
            (STOP, 'position', 'rad or m', table.position,
             'the driver must report the position of every joint'),
            (WARNING, 'velocity', 'rad/s or m/s', table.velocity,
             'the controller estimates it from positions, unless velocity_source is measured; the '
             'delay of the estimate lowers the feedback')):
        bad = table.named & ~np.isfinite(values)
        names = [f'{name} ({count} of {total})' for name, count, total in zip(
            model.joint_names, bad.sum(axis=0), table.named.sum(axis=0)) if count]
        if names:
            found.append(Finding(level, 'joint_states', (
                f'{what} missing or not a number ({unit}), in messages: {", ".join(names)}; '
                + effect)))
    without = [name for name, named, effort in zip(
        model.joint_names, np.any(table.named, axis=0).tolist(),
        np.any(np.isfinite(table.effort), axis=0).tolist())
        if named and not effort]
    if without:
        found.append(Finding(WARNING, 'effort', (
            f'no effort (N m or N) is reported for {listed(without)}: signs, units and gravity '
            'compensation by the driver cannot be checked before control starts')))
    return found


def judge_timing(model: RobotModel, seen: Seen) -> tuple[list[Finding], float, float]:
    """Check rate and stamps; return the findings, the rate in Hz and the longest gap in s."""
    arrived = np.array([each.arrived for each in seen.messages])
    gaps = np.diff(arrived)
    if not gaps.size:
        return ([Finding(STOP, 'rate', f'only one message arrived on {seen.topic}')], np.nan,
                np.nan)
    rate, longest = float(gaps.size / gaps.sum()), float(gaps.max())
    found, text = [], f'joint states arrive at {number(rate)} Hz'
    if rate * _HOLD < 1.0:
        found.append(Finding(STOP, 'rate', f'{text}: the controller stops after {1e3 * _HOLD:g} '
                             'ms without them; raise the rate to 500 Hz or more'))
    elif rate < _SLOW:
        found.append(Finding(WARNING, 'rate', f'{text}: gains must be low; 500 Hz or more are '
                             'usual'))
    else:
        found.append(Finding(NOTE, 'rate', f'{text}, the longest gap was '
                             f'{number(1e3 * longest)} ms'))
    if longest > _HOLD and rate * _HOLD >= 1.0:
        found.append(Finding(WARNING, 'rate', (
            f'the longest gap between joint states was {number(1e3 * longest)} ms in this '
            f'process; after {1e3 * _HOLD:g} ms the controller brings the arm to rest: check '
            'that driver and controller have a core each')))
    return [*found, *_stamps(model, seen)], rate, longest


def _stamps(model: RobotModel, seen: Seen) -> list[Finding]:
    late = float(np.median([each.stamp and each.clock - each.stamp for each in seen.messages]))
    simulated = seen.simulated and abs(late) > _SKEW
    m, p = (blocks.unpack(cls, [Ieee(0.0)] * blocks.size(cls, {'joints': 0}), {'joints': 0})
            for cls in (acceptance.Memory, acceptance.Program))
    m, p = replace(m, stamp=Ieee(-np.inf)), replace(p, skew=Ieee(_SKEW), hold=Ieee(_HOLD))
    bad, remark = 0, m.remark
    for each in seen.messages:
        given = SimpleNamespace(arrival=Ieee(each.arrived), stamp=Ieee(each.stamp),
                                clock=Ieee(each.stamp if simulated else each.clock))
        accepted, m = acceptance.stamp_checked(given, m, p, Ieee(each.stamp != 0.0), NOTHING)
        if not accepted:
            bad, remark = bad + 1, m.remark
    if not bad:
        return [Finding(NOTE, 'stamps', (
            'the stamps are simulated time, a node publishes /clock: the controller needs '
            'lockstep or use_sim_time'))] if simulated else []
    # the messages of one state may have the same stamp
    level = STOP if bad > len(seen.messages) // 2 else WARNING
    reason = text(TEXTS[float(remark.code)].removeprefix(SILENT), remark, model)
    return [Finding(level, 'stamps', (
        f'{bad} of {len(seen.messages)} joint states would be rejected by their stamps: '
        f'{reason}'))]
