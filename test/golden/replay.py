"""Replay of a golden log, open loop, and comparison of the results."""

import numpy as np

from golden.recorder import Recorder, STEPS

# of the effort limit: fused multiplications change the last bits, other behaviour much more
TORQUE = 1e-12
_PROBED = 1e-9  # of the largest number of the probe: some are solutions of linear systems


def replay(header, arrays, host):
    """
    Feed a log to a host.

    Returns
    -------
    problems : list of str
        The first difference of each kind, with scenario, step, joint and both values.

    """
    with_effort = 'effort' in arrays
    recorder, requests = Recorder(host, with_effort), list(header['requests'])
    nothing = np.zeros_like(arrays['q'][0]) if len(arrays['q']) else None
    effort = arrays['effort'] if with_effort else [nothing] * len(arrays['q'])
    for index, (ns, kind) in enumerate(zip(arrays['ns'].tolist(), arrays['kind'])):
        while requests and requests[0][0] == index:
            recorder.request(*requests.pop(0)[1:4])
        recorder.step(ns, STEPS[kind], (arrays['q'][index], arrays['qd'][index], effort[index]))
    for each in requests:
        recorder.request(*each[1:4])
    return list(_compare(header, arrays, recorder))


def _compare(header, arrays, recorder):
    now, host = recorder.arrays(), recorder.host
    what = f'{header["robot"]}/{header["scenario"]["name"]}'

    def place(index):
        return (f'{what}: step {index} ({STEPS[arrays["kind"][index]]}, '
                f't = {1e-9 * arrays["ns"][index]:.4f} s)')

    yield from answers(header['requests'], recorder.requests, what)
    yield from events(header['events'], recorder.events, place)
    yield from torques(arrays['torque'], now['torque'], host.effort_limit, host.names, place)
    differ = (now['masks'] != arrays['masks']).any(axis=1)
    if differ.any():
        index = int(np.argmax(differ))
        yield (f'{place(index)}: saturated and rate-limited joints (bits) were '
               f'{arrays["masks"][index].tolist()}, now {now["masks"][index].tolist()}')
    yield from _probes(arrays, now, what)


def answers(before, after, what):
    """Yield the first request with another answer."""
    for old, new in zip(before, after):
        if old[-1] != new[-1]:
            yield (f'{what}: request {old[2]} before step {old[0]} was answered\n    {old[-1]!r}\n'
                   f'  now\n    {new[-1]!r}')
            return


def events(before, after, place):
    """Yield the first change of the status that differs, or at another step."""
    for old, new in zip(before, after):
        if old != new:
            yield (f'{place(min(old[0], new[0]))}: the status changed to\n    {old[1]} at step '
                   f'{old[0]}\n  now\n    {new[1]} at step {new[0]}')
            return
    if len(before) != len(after):
        index, changes = max(before, after, key=len)[min(len(before), len(after))]
        yield (f'{place(index)}: {len(before)} changes of the status, now {len(after)}; the '
               f'first that only one of them has: {changes}')


def torques(before, after, limit, names, place):
    """Yield the first torque beyond the tolerance."""
    with np.errstate(invalid='ignore'):
        away = np.abs(after - before) / limit
    wrong = ~(away <= TORQUE)
    if wrong.any():
        steps = wrong.any(axis=1)
        index = int(np.argmax(steps))
        j = int(np.argmax(np.nan_to_num(away[index], nan=np.inf)))
        yield (f"{place(index)}, joint '{names[j]}': torque was {float(before[index, j])!r}, now "
               f'{float(after[index, j])!r}: {away[index, j]:.3g} of the effort limit, allowed '
               f'{TORQUE:g}; {np.count_nonzero(steps)} of {len(steps)} steps differ, by up to '
               f'{np.nanmax(away):.3g}')


def _probes(arrays, now, what):
    """Yield the first number that differs."""
    for name in (name for name in arrays if name.startswith('probe ')):
        before, after = arrays[name], now.get(name)
        if after is None or after.shape != before.shape:
            yield f'{what}: {name} is missing'
            return
        same = (before == after) | (np.isnan(before) & np.isnan(after))  # as are two infinities
        scale = np.abs(before[np.isfinite(before)]).max(initial=1e-6)
        with np.errstate(invalid='ignore'):
            away = np.where(same, 0.0, np.abs(after - before) / scale)
        if not (away <= _PROBED).all():
            index = tuple(map(int, np.unravel_index(np.argmax(~(away <= _PROBED)), away.shape)))
            yield (f'{what}: {name}{list(index)} was {float(before[index])!r}, now '
                   f'{float(after[index])!r}')
            return
