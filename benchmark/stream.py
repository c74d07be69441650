"""
Streams of targets through a bad channel: the controller, points alone, and plain Ruckig.

    python benchmark/stream.py [--seconds 8] [--seeds 3]

The targets of seven joints are sent at 10 to 100 Hz and arrive late, with a jitter of a third of
the period, 5 % of them not at all. Compared with the smooth signal that was sampled: the lag of
the reference (of the best fit) and what remains then, the root mean square of acceleration and
jerk as parts of those of the signal, the largest torque that the model needs as a part of the
effort limits, and the time of Python per message.

- `robodyn`: `ArmController.stream`, at the usual settings;
- `points`: linear interpolation from point to point, as joint_trajectory_controller does with
  positions alone, each reached in one period;
- `ruckig`: each target in the shortest time, at the velocity of the last two, if ruckig is
  installed, with the limits of `robodyn`.
"""
import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
import time

from checkout import ROOT
import numpy as np

from robodyn_ros import Dynamics, RobotModel
from robodyn_ros.control import ArmController, Settings
from robodyn_ros.trajectory import TrajectoryPoint

MODEL = RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf')
BENT = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.6, -0.1])
CYCLE, BEGIN = 1e-3, 1.0   # s: of the control cycle, and before the first target
SETTLED = 2.0              # s from the begin of the stream to that of the figures
COUNT = 16                 # points of a chunk


@dataclass(frozen=True)
class Case:
    """Signal, rate of the messages in Hz, and what the channel does to them."""

    name: str
    signal: Callable
    rate: float
    delay: float = 0.05
    stamped: bool = False
    velocities: bool = False
    spacing: float = 0.0     # s between the points of a chunk; 0: single points
    error: float = 0.0       # rad, deviation of each chunk


def sine(t, _rng=None):
    """Return smooth motions of all joints, up to half of their velocity limits."""
    frequency = 0.3 + 0.05 * np.arange(7)
    return BENT + 0.3 * np.sin(2.0 * np.pi * frequency * np.asarray(t)[..., None]) / (
        frequency / 0.3)


def hand(t):
    """Return motions of least jerk from point to point, as of a hand; Flash and Hogan 1985."""
    t = np.asarray(t, dtype=float)
    rng = np.random.default_rng(5)
    points, length = BENT + rng.uniform(-0.3, 0.3, (40, 7)), 0.9
    index = np.clip((t / length).astype(int), 0, 37)
    x = np.clip(t / length - index, 0.0, 1.0)[..., None]
    share = x ** 3 * (10.0 - 15.0 * x + 6.0 * x * x)
    return points[index] + share * (points[index + 1] - points[index])


def steps(t):
    """Return steps of 0.15 rad every 1.5 s."""
    side = np.where((np.asarray(t) / 1.5).astype(int) % 2, 0.15, 0.0)
    return BENT + side[..., None] * np.array([1.0, -0.5, 1.0, -1.0, 1.0, 0.5, 1.0])


CASES = [
    Case('sine, 10 Hz', sine, 10.0), Case('sine, 20 Hz', sine, 20.0),
    Case('sine, 50 Hz', sine, 50.0), Case('sine, 100 Hz', sine, 100.0),
    Case('sine, 50 Hz, stamped, 300 ms late', sine, 50.0, 0.3, True),
    Case('sine, 30 Hz, velocities (Servo)', sine, 30.0, velocities=True),
    Case('hand, 20 Hz', hand, 20.0), Case('hand, 100 Hz', hand, 100.0),
    Case('steps, 20 Hz', steps, 20.0), Case('steps, 100 Hz', steps, 100.0),
    Case('policy, 2 Hz, 16 points, 150 ms late', sine, 2.0, 0.15, True, spacing=0.05, error=0.003),
    Case('policy, 5 Hz, 16 points, 300 ms late', sine, 5.0, 0.3, True, spacing=0.05, error=0.003)]


@dataclass
class Message:
    """Arrival, stamp or None, times from start and positions."""

    arrival: float
    stamp: float | None
    times: np.ndarray
    q: np.ndarray
    qd: np.ndarray | None


def messages(case, seconds, seed, lost=0.05, jitter=1.0 / 3.0):
    """Return what arrives of a stream, in the order of arrival."""
    rng, period = np.random.default_rng(seed), 1.0 / case.rate
    result = []
    for sent in np.arange(BEGIN, seconds, period):
        late = case.delay + jitter * (0.1 if case.spacing else 1.0) * period * rng.uniform(0, 2)
        times = period * np.ones(1)
        at = np.array([sent])
        if case.spacing:
            times = case.spacing * np.arange(1, COUNT + 1)
            at = sent + times
        q = case.signal(at) + rng.normal(0.0, case.error, 7)
        qd = (case.signal(at + 1e-4) - case.signal(at - 1e-4)) / 2e-4 if case.velocities else None
        if rng.random() >= lost or sent == BEGIN:
            result.append(Message(sent + late, sent if case.stamped else None, times, q, qd))
    return sorted(result, key=lambda each: each.arrival)


def follow(case, sent, seconds, settings=None):
    """Return the references of the controller, refused messages, and times per message in s."""
    control = ArmController(Dynamics(MODEL), settings or Settings())
    start = case.signal(np.array(BEGIN))
    control.activate(0.0, start, np.zeros(7))
    rows, costs, refused, waiting = [], [], 0, list(sent)
    for k in range(round(seconds / CYCLE)):
        now = k * CYCLE
        begin, taken = time.thread_time(), 0
        while waiting and waiting[0].arrival <= now:
            each = waiting.pop(0)
            points = [TrajectoryPoint(q, () if each.qd is None else each.qd[i], (), (), t)
                      for i, (t, q) in enumerate(zip(each.times, each.q))]
            try:
                control.stream.add(now, MODEL.joint_names, points, each.stamp)
            except Exception:
                refused += 1
            taken += 1
        control.stream.update(now)
        if taken:
            costs.append((time.thread_time() - begin) / taken)
        r = control.reference
        control.update(now, r.q.copy(), r.qd.copy())
        rows.append(np.stack([r.q, r.qd, r.qdd]))
    return np.array(rows), refused, np.array(costs)


def points_alone(case, sent, seconds):
    """Return references that go straight to each point in one period."""
    rows, waiting, period = [], list(sent), 1.0 / case.rate
    t = np.arange(0.0, seconds, CYCLE)
    q = start = case.signal(np.array(BEGIN))
    times, goals = np.array([0.0, 1e-3]), np.stack([start, start])
    for now in t:
        while waiting and waiting[0].arrival <= now:
            each = waiting.pop(0)
            zero = now if each.stamp is None else each.stamp
            ahead = zero + each.times > now
            if not case.spacing:
                times, goals = np.array([now, now + period]), np.stack([q, each.q[0]])
            elif ahead.any():
                times = np.append(now, (zero + each.times)[ahead])
                goals = np.vstack([q, each.q[ahead]])
        q = np.array([np.interp(now, times, column) for column in goals.T])
        rows.append(q)
    q = np.array(rows)
    qd = np.gradient(q, CYCLE, axis=0)
    return np.stack([q, qd, np.gradient(qd, CYCLE, axis=0)], axis=1)


def plain_ruckig(case, sent, seconds, limits):
    """Return references of Ruckig, which goes to each target at the velocity of the last two."""
    from ruckig import InputParameter, OutputParameter, Ruckig
    otg, given, out = Ruckig(7, CYCLE), InputParameter(7), OutputParameter(7)
    q = case.signal(np.array(BEGIN))
    given.current_position = given.target_position = q.tolist()
    given.max_velocity, given.max_acceleration, given.max_jerk = (
        each.tolist() for each in (limits.velocity, limits.acceleration, limits.jerk))
    rows, waiting, before = [], list(sent), None
    for now in np.arange(0.0, seconds, CYCLE):
        while waiting and waiting[0].arrival <= now:
            each = waiting.pop(0)
            zero = now if each.stamp is None else each.stamp
            k = min(int(np.searchsorted(zero + each.times, now)), len(each.q) - 1)
            given.target_position = each.q[k].tolist()
            speed = np.zeros(7)
            if len(each.q) > 1:
                speed = np.gradient(each.q, case.spacing, axis=0)[k]
            elif before is not None:
                speed = (each.q[0] - before[1]) / max(now - before[0], 1e-3)
            before = now, each.q[0]
            given.target_velocity = np.clip(
                speed, -0.95 * limits.velocity, 0.95 * limits.velocity).tolist()
        otg.update(given, out)
        rows.append((out.new_position, out.new_velocity, out.new_acceleration))
        out.pass_to_input(given)
    return np.array(rows)


def figures(case, rows, dynamics, seconds):
    """Return the figures of the table as a dict."""
    t = np.arange(len(rows)) * CYCLE
    signal = case.signal(t)
    used = slice(round((BEGIN + SETTLED) / CYCLE), None)
    lags = range(0, round(0.8 / CYCLE), 4)
    lag = min(lags, key=lambda k: np.sum((rows[used, 0] - signal[used.start - k:len(t) - k]) ** 2))
    left = np.abs(rows[used, 0] - signal[used.start - lag:len(t) - lag]).max()
    acceleration = np.gradient(np.gradient(signal, CYCLE, axis=0), CYCLE, axis=0)
    jerk = np.gradient(acceleration, CYCLE, axis=0)
    own_jerk = np.gradient(rows[:, 2], CYCLE, axis=0)
    torque = dynamics.inverse_dynamics(*(np.ascontiguousarray(rows[used, k]) for k in range(3)))

    def mean(x):
        return float(np.sqrt(np.mean(x[used] ** 2)))

    return {'lag': lag * CYCLE, 'left': left,
            'acceleration': mean(rows[:, 2]) / mean(acceleration),
            'jerk': mean(own_jerk) / mean(jerk), 'largest': float(np.abs(rows[used, 2]).max()),
            'torque': float((np.abs(torque) / MODEL.effort_limit).max())}


def table(seconds, seeds):
    """Print the table."""
    dynamics = Dynamics(MODEL)
    print('| stream | method | refused | lag (ms) | left (mrad) | acceleration | jerk | largest '
          'acceleration | torque (%) | Python (ms), p99 |\n' + '|---' * 10 + '|')
    for case in CASES:
        found, costs, refused = {}, [], 0
        for seed in range(seeds):
            sent = messages(case, seconds, seed)
            rows, more, cost = follow(case, sent, seconds)
            refused += more
            costs += cost.tolist()
            runs = {'robodyn': rows, 'points': points_alone(case, sent, seconds)}
            if find_spec('ruckig') is not None:
                runs['ruckig'] = plain_ruckig(case, sent, seconds, _limits(case))
            for name, each in runs.items():
                found.setdefault(name, []).append(figures(case, each, dynamics, seconds))
        smooth = case.signal is not steps
        for name, each in found.items():
            mean = {key: np.mean([one[key] for one in each]) for key in each[0]}
            worst = {key: np.max([one[key] for one in each]) for key in each[0]}
            print(f'| {case.name} | {name} | {refused if name == "robodyn" else ""} '
                  f'| {1e3 * mean["lag"]:.0f} | {1e3 * worst["left"]:.1f} | '
                  + (f'{worst["acceleration"]:.2f} | {worst["jerk"]:.2f}' if smooth else ' | ')
                  + f' | {worst["largest"]:.1f} | {100.0 * worst["torque"]:.0f} | '
                  + (f'{1e3 * np.mean(costs):.1f}, {1e3 * np.quantile(costs, 0.99):.1f} |'
                     if name == 'robodyn' else ' |'), flush=True)


def _limits(case):
    """Return the limits of a stream, see `MotionLimits`."""
    control = ArmController(Dynamics(MODEL), Settings())
    control.activate(0.0, case.signal(np.array(BEGIN)), np.zeros(7))
    control.update(0.0, case.signal(np.array(BEGIN)), np.zeros(7))
    return control.stream.limits()


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--seconds', type=float, default=8.0, help='duration of a stream')
    parser.add_argument('--seeds', type=int, default=3, help='runs of each stream')
    arguments = parser.parse_args()
    table(arguments.seconds, arguments.seeds)


if __name__ == '__main__':
    main()
