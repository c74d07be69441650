"""Joint states of a running arm, judged: names, numbers, rate and stamps."""

from __future__ import annotations

import os
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from robodyn_ros.cli.check.finding import Finding, listed, NOTE, STOP, WARNING
from robodyn_ros.cli.report import number
from robodyn_ros.model import RobotModel
from robodyn_ros.safety import StaleMonitor

if TYPE_CHECKING:  # needs ROS
    from robodyn_ros.nodes.live_check import Seen

# as the parameters stale.hold, stale.stop and stale.max_skew have it
_HOLD, _STOP, _SKEW = 0.05, 0.25, 1.0
_SLOW = 100.0      # Hz below which feedback can only be soft


class Table(NamedTuple):
    """
    Joint states as arrays in model order, NaN where a message did not say; (N, nv).

    Attributes
    ----------
    told : (N, nv) array of bool
        Whether a message named the joint.

    """

    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    told: np.ndarray


def judge_silence(seen: Seen) -> Finding:
    """Return why there are no joint states."""
    text = f'no joint states on {seen.topic}: '
    if seen.publishers:
        text += f'{", ".join(seen.publishers)} would publish there, but nothing comes'
    elif seen.elsewhere:
        text += f'there are some on {", ".join(seen.elsewhere)}; name it with --joint-states'
    else:
        domain = os.environ.get('ROS_DOMAIN_ID', '0')
        text += ('nobody publishes there; start the driver or joint_state_broadcaster, and see '
                 f'that ROS_DOMAIN_ID (here {domain}) and the network are the same')
    return Finding(STOP, 'joint_states', text)


def read_table(model: RobotModel, seen: Seen) -> Table:
    """Return the messages as arrays in model order."""
    rows = np.full((3, len(seen.messages), model.nv), np.nan)
    told = np.zeros((len(seen.messages), model.nv), dtype=bool)
    for k, message in enumerate(seen.messages):
        column = {name: i for i, name in enumerate(message.names)}
        for j, name in enumerate(model.joint_names):
            i = column.get(name)
            if i is None:
                continue
            told[k, j] = True
            for row, values in zip(rows, (message.position, message.velocity, message.effort)):
                if len(values) == len(message.names):
                    row[k, j] = values[i]
    return Table(*rows, told)


def mean_state(table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the last position, and means of velocity and effort; NaN where there is none."""
    state = [np.full(table.told.shape[1], np.nan) for _ in range(3)]
    for j, told in enumerate(table.told.T):
        if told.any():
            state[0][j] = table.position[told, j][-1]
            state[1][j] = table.velocity[told, j].mean()
            state[2][j] = table.effort[told, j].mean()
    return tuple(state)


def judge_names(model: RobotModel, seen: Seen, table: Table) -> list[Finding]:
    """Judge which joints are reported, and in what order."""
    found = []
    reported = list(dict.fromkeys(name for each in seen.messages for name in each.names))
    missing = [name for name, told in zip(model.joint_names, table.told.any(axis=0)) if not told]
    if missing:
        found.append(Finding(STOP, 'joint_states', (
            f'joints not reported on {seen.topic}: {listed(missing)}; reported are '
            f'{listed(reported)}. Correct the names, or lock what does not move (--lock, '
            'parameter locked)')))
    extra = [name for name in reported if name not in model.joint_names]
    if extra:
        found.append(Finding(NOTE, 'joint_states', (
            f'also reported, and not part of the model: {listed(extra)}')))
    ours = [name for name in reported if name in model.joint_names]
    if not missing and ours != list(model.joint_names):
        found.append(Finding(NOTE, 'joint_states', (
            f'joint states come in the order {", ".join(ours)}; that is in order, joints are '
            'mapped by name')))
    twice = {name for each in seen.messages for name in each.names if each.names.count(name) > 1}
    if twice:
        found.append(Finding(STOP, 'joint_states', (
            f'joints named twice in one message: {listed(sorted(twice))}; name each once')))
    return found


def judge_numbers(model: RobotModel, table: Table) -> list[Finding]:
    """Judge whether positions, velocities and efforts are there, and are numbers."""
    found = []
    for what, unit, values in (('position', 'rad or m', table.position),
                               ('velocity', 'rad/s or m/s', table.velocity)):
        bad = table.told & ~np.isfinite(values)
        names = [f'{name} ({count} of {told})' for name, count, told in zip(
            model.joint_names, bad.sum(axis=0), table.told.sum(axis=0)) if count]
        if names:
            found.append(Finding(STOP, 'joint_states', (
                f'{what} missing or not a number ({unit}), in messages: {", ".join(names)}; the '
                f'driver must tell the {what} of every joint')))
    silent = [name for name, told, effort in zip(
        model.joint_names, table.told.any(axis=0), np.isfinite(table.effort).any(axis=0))
        if told and not effort]
    if silent:
        found.append(Finding(WARNING, 'effort', (
            f'no effort (N m or N) is reported for {listed(silent)}: signs, units and who '
            'compensates gravity cannot be checked before the arm is taken over')))
    return found


def judge_timing(seen: Seen) -> tuple[list[Finding], float, float]:
    """Judge rate and stamps; return the findings, the rate in Hz and the longest gap in s."""
    arrived = np.array([each.arrived for each in seen.messages])
    gaps = np.diff(arrived)
    if not gaps.size:
        return [Finding(STOP, 'rate', f'only one message came on {seen.topic}')], np.nan, np.nan
    rate, longest = float(gaps.size / gaps.sum()), float(gaps.max())
    found, text = [], f'joint states come at {number(rate)} Hz'
    if rate * _HOLD < 1.0:
        found.append(Finding(STOP, 'rate', f'{text}: the controller stops when they are silent '
                             f'for {1e3 * _HOLD:g} ms; raise the rate to 500 Hz or more'))
    elif rate < _SLOW:
        found.append(Finding(WARNING, 'rate', f'{text}: feedback can only be soft; 500 Hz or more '
                             'are usual'))
    else:
        found.append(Finding(NOTE, 'rate', f'{text}, the longest gap was '
                             f'{number(1e3 * longest)} ms'))
    if longest > _HOLD and rate * _HOLD >= 1.0:
        found.append(Finding(WARNING, 'rate', (
            f'the longest gap between joint states was {number(1e3 * longest)} ms, as this '
            f'process saw it; after {1e3 * _HOLD:g} ms the controller brings the arm to rest: '
            'see that driver and controller have a core each')))
    return [*found, *_stamps(seen)], rate, longest


def _stamps(seen: Seen) -> list[Finding]:
    monitor = StaleMonitor(_HOLD, _STOP, _SKEW)
    bad = sum(not monitor.received(each.arrived, each.stamp, each.clock)
              for each in seen.messages)
    if not bad:
        return []
    # the parts of a state that comes in several messages may have one stamp
    level = STOP if bad > len(seen.messages) // 2 else WARNING
    reason = monitor.check(seen.messages[-1].arrived + _HOLD).reason
    return [Finding(level, 'stamps', (
        f'{bad} of {len(seen.messages)} joint states would not count, by their stamps: {reason}'))]
