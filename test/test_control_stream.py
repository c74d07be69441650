"""Streams of targets through a bad channel, followed by the controller in lockstep."""

from pathlib import Path
import sys

from closed_loop import arm, BENT
import numpy as np
import pytest
from robodyn_ros.control import Mode
from robodyn_ros.exceptions import ParameterError, StateError, TrajectoryError
from robodyn_ros.trajectory import TrajectoryPoint

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'benchmark'))
import stream as benchmark  # noqa: E402

MODEL = benchmark.MODEL
NAMES = MODEL.joint_names
CASES = {case.name: case for case in benchmark.CASES}
SMOOTHING = 0.05  # s, the usual one
SECONDS = 6.0


@pytest.mark.parametrize('name', [
    name for name, case in CASES.items() if case.signal is not benchmark.steps])
def test_a_stream_through_a_bad_channel_is_smooth_and_late_by_two_periods(name):
    """Jitter of a third of the period, 5 % lost, 50 to 300 ms late, single points or chunks."""
    case = CASES[name]
    sent = benchmark.messages(case, SECONDS, 3)
    rows, refused, _ = benchmark.follow(case, sent, SECONDS)
    found = benchmark.figures(case, rows, benchmark.Dynamics(benchmark.MODEL), SECONDS)
    assert refused == 0
    assert found['acceleration'] < 1.15 and found['jerk'] < 1.5
    period = 1.0 / case.rate
    # the channel is late by its delay and the mean of the jitter
    late = case.delay + period / 3.0
    allowed = 0.03 if case.spacing else late + 2.0 * period + SMOOTHING
    assert found['lag'] <= allowed
    assert found['left'] < 0.03  # rad, of motions of 0.6 rad
    assert found['torque'] < 1.0


@pytest.mark.parametrize('lost', [3.0, 3.5])
def test_a_policy_that_loses_a_chunk_slows_down_and_returns_smoothly(lost):
    """At 2 Hz it leaves the arm without targets for 0.35 s, in motion."""
    case = CASES['policy, 2 Hz, 16 points, 150 ms late']
    sent = [each for each in benchmark.messages(case, SECONDS, 3, lost=0.0) if each.stamp != lost]
    rows, refused, _ = benchmark.follow(case, sent, SECONDS)
    found = benchmark.figures(case, rows, benchmark.Dynamics(benchmark.MODEL), SECONDS)
    assert refused == 0 and found['acceleration'] < 1.3 and found['jerk'] < 1.5
    assert found['lag'] <= 0.03 and found['left'] < 0.15
    # half a second after the next chunk it is where it should be
    late = case.signal(np.arange(lost + 1.4, lost + 1.9, benchmark.CYCLE))
    begin = round((lost + 1.4) / benchmark.CYCLE)
    assert np.abs(rows[begin:begin + len(late), 0] - late).max() < 0.03


@pytest.mark.parametrize('rate', [20.0, 100.0])
def test_steps_are_followed_within_the_limits(rate):
    case = CASES[f'steps, {rate:.0f} Hz']
    sent = benchmark.messages(case, SECONDS, 1)
    rows, refused, _ = benchmark.follow(case, sent, SECONDS)
    bounds = benchmark._limits(case)
    assert refused == 0
    assert (np.abs(rows[:, 1]) <= bounds.velocity * 1.01).all()
    assert (np.abs(rows[:, 2]) <= bounds.acceleration * 1.05).all()
    # no step of the acceleration: the jerk is bounded
    assert (np.abs(np.diff(rows[:, 2], axis=0)) <= bounds.jerk * benchmark.CYCLE * 1.1).all()
    now = np.arange(len(rows)) * benchmark.CYCLE
    settled = (now > 2.0) & (now % 1.5 > 1.3)
    assert np.abs(rows[settled, 0] - benchmark.steps(now[settled])).max() < 0.02


class Streamed:
    """An arm that receives targets at 50 Hz."""

    period = 0.02

    def __init__(self, **settings):
        self.loop = arm(gains=settings)
        self.control = self.loop.control
        self.loop.run(0.6)
        self.begin = self.loop.now

    def target(self, t):
        return BENT + 0.15 * np.sin(2.0 * t) * np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0])

    def send(self, q, velocities=(), time=0.02):
        self.control.stream.add(self.loop.now, NAMES,
                                [TrajectoryPoint(q, velocities, (), (), time)])

    def run(self, seconds, target=None):
        """Send targets for a while; None of them: only control."""
        end = self.loop.now + seconds
        while self.loop.now < end - 1e-9:
            if target is not None:
                self.send(target(self.loop.now - self.begin))
            for _ in range(20):
                self.control.stream.update(self.loop.now)
                self.loop.cycle()
        return self


def test_the_arm_follows_a_stream_with_its_torques_and_rests_when_it_ends():
    made = Streamed()
    made.run(2.0, made.target)
    stream = made.control.stream
    assert made.control.mode is Mode.TRACK and stream.active and stream.moves
    assert '50 Hz' in stream.summary
    assert np.abs(made.loop.error[-1000:]).max() < 1e-3
    assert (np.abs(made.loop.torques) <= made.loop.plant.model.effort_limit).all()
    assert made.loop.largest_change < 0.3
    made.run(1.0)
    assert made.control.mode is Mode.HOLD and not stream.active
    assert len(stream.notices) == 1
    assert stream.notices[0].startswith('the stream of targets has ended: no message for 0.')
    assert np.abs(made.loop.plant.qd).max() < 1e-3
    # the last targets were reached, but for the distance of the stop
    last = made.target(1.98)
    assert np.abs(made.loop.plant.q - last).max() < 0.05


def test_velocities_alone_are_integrated():
    made = Streamed()
    speed = np.array([0.2, -0.1, 0.1, 0.2, -0.2, 0.1, 0.3])
    for _ in range(50):
        made.control.stream.add(made.loop.now, NAMES, [TrajectoryPoint((), speed, (), (), 0.02)])
        for _ in range(20):
            made.control.stream.update(made.loop.now)
            made.loop.cycle()
    np.testing.assert_allclose(made.control.reference.qd, speed, atol=0.02)
    np.testing.assert_allclose(made.control.reference.q, BENT + 0.92 * speed, atol=0.02)


@pytest.mark.parametrize('end', ['hold', 'stop', 'fault', 'pose', 'trajectory'])
def test_a_stream_does_not_move_an_arm_again_that_something_else_has_stopped(end):
    made = Streamed()
    made.run(1.0, made.target)
    control, stream = made.control, made.control.stream
    if end == 'hold':
        control.requests.hold()
    elif end == 'stop':
        control.requests.stop('enough')
    elif end == 'fault':
        control.requests.fail('broken')
    elif end == 'pose':
        pose = control.pose(BENT)
        control.motions.reach(pose[:3, 3], (0.0, 0.0, 0.0, 1.0))
    else:
        zero = np.zeros(7)
        control.follow(made.loop.now, NAMES, [TrajectoryPoint(BENT, zero, zero, (), 1.0)])
        assert stream.blocked == 'replaced by another trajectory'
    if end == 'fault':
        with pytest.raises(StateError, match='fault'):
            made.run(0.1, made.target)
        return
    made.run(0.6, made.target)
    assert not stream.moves and stream.active and stream.blocked
    assert len(stream.notices) == 1 and 'is not followed' in stream.notices[0]
    if end in ('hold', 'stop'):
        assert control.mode is Mode.HOLD
        made.run(0.4)  # a pause: what comes then is another stream
        assert not stream.active
        made.run(0.5, lambda _: made.control.reference.q)
        assert stream.moves


def test_a_leap_is_a_stop_with_one_line():
    made = Streamed()
    made.run(1.0, made.target)
    made.run(0.6, lambda t: made.target(t) + 0.8)
    stream = made.control.stream
    assert made.control.mode is Mode.HOLD
    assert len(stream.notices) == 1 and ' leaps by 0.8' in stream.notices[0]
    assert stream.summary.startswith('not followed: a target of joint')
    assert np.abs(made.loop.plant.qd).max() < 1e-3
    made.run(0.5, made.target)
    assert made.control.mode is Mode.TRACK and len(stream.notices) == 1
    assert 'followed 50 ms behind' in stream.summary


def test_targets_beyond_a_position_limit_end_there():
    made = Streamed()
    model, q = made.loop.plant.model, BENT.copy()
    for _ in range(150):
        q[3] = max(q[3] - 0.02, model.lower[3] - 0.3)
        made.run(0.02, lambda _: q)
    reference = made.loop.column(3)
    assert reference[:, 3].min() >= model.lower[3] - 1e-5
    assert made.control.reference.q[3] == pytest.approx(model.lower[3], abs=1e-3)
    assert [text for text in made.control.stream.notices if 'beyond its limit' in text]


def test_after_a_fault_the_stream_is_not_followed_until_it_has_paused():
    made = Streamed()
    made.run(0.5, made.target)
    control, stream = made.control, made.control.stream
    control.requests.fail('broken')
    for _ in range(30):  # longer than the time-out
        with pytest.raises(StateError, match='fault'):
            made.send(made.target(0.5))
        made.run(0.02)
    control.reset_fault()
    before = control.reference.q.copy()
    made.run(0.5, made.target)
    assert control.mode is Mode.HOLD and stream.blocked
    np.testing.assert_array_equal(control.reference.q, before)
    made.run(0.4)
    made.run(0.2, lambda _: before)
    assert stream.moves


def gapped(seconds=0.06):
    """Return an arm whose states were silent for a moment while it followed a stream."""
    made = Streamed()
    made.run(1.0, made.target)
    made.loop.coast(seconds)
    made.run(0.02, made.target)
    stream = made.control.stream
    assert stream.blocked and not stream.moves
    assert 'it is again when states have been good for 0.5 s' in stream.summary
    return made


def test_a_stream_is_joined_again_after_a_gap_of_the_states():
    """A policy never pauses: 60 ms on a busy machine must not end it for good."""
    made = gapped()
    made.run(0.4, made.target)
    assert made.control.mode is Mode.HOLD and made.control.stream.blocked
    begin = len(made.loop.torques)
    made.run(1.5, made.target)
    stream = made.control.stream
    assert stream.moves and not stream.blocked
    again, = [text for text in stream.notices if 'is followed again' in text]
    assert 'interrupted: ' in again
    np.testing.assert_allclose(made.control.reference.q, made.target(made.loop.now - made.begin),
                               atol=0.05)
    speeds = np.abs(np.diff(made.loop.q[begin:], axis=0)) / 1e-3
    assert (speeds <= np.array(MODEL.velocity_limit)).all()
    assert made.loop.largest_change < 0.5


def test_a_stream_that_is_far_away_after_a_gap_is_not_joined():
    made = gapped()
    far = made.control.reference.q + 1.0
    made.run(1.5, lambda _: far)
    assert made.control.mode is Mode.HOLD and made.control.stream.blocked


def test_after_a_hold_in_a_gap_the_stream_is_not_joined():
    made = gapped()
    made.control.requests.hold()
    made.run(1.5, made.target)
    assert made.control.mode is Mode.HOLD and made.control.stream.blocked


def test_messages_that_are_refused_neither_begin_nor_continue_a_stream():
    made = Streamed()
    stream = made.control.stream

    def wrong(_):
        with pytest.raises(TrajectoryError, match="no joint 'elbow'"):
            stream.add(made.loop.now, ['elbow'], [TrajectoryPoint([0.0])])
        return BENT

    with pytest.raises(TrajectoryError):
        made.send(BENT[:-1])
    assert not stream.active and not stream.notices
    made.run(0.4, wrong)
    assert stream.active and stream.received == 20
    for _ in range(20):
        wrong(0.0)
        made.run(0.02)
    assert not stream.active


@pytest.mark.parametrize('stamp, time', [(np.nan, 0.02), (None, 1e300), (1e6, 0.02), (None, 61.0)])
def test_targets_of_impossible_times_are_refused(stamp, time):
    made = Streamed()
    with pytest.raises(TrajectoryError, match='the last target is due'):
        made.control.stream.add(made.loop.now, NAMES, [TrajectoryPoint(BENT, (), (), (), time)],
                                stamp)
    with pytest.raises(TrajectoryError, match='time_from_start 1e-09 s comes 1 ns after'):
        made.control.stream.add(made.loop.now, NAMES, [
            TrajectoryPoint(BENT, (), (), (), each) for each in (0.0, 1e-9)])
    made.run(0.1)
    assert made.control.mode is Mode.HOLD and not made.control.fault


def test_of_a_long_chunk_fewer_points_are_used():
    """The work between two cycles is bounded; the last point is among them."""
    made = Streamed()
    times = 0.01 * np.arange(1, 201)
    made.control.stream.add(made.loop.now, NAMES, [
        TrajectoryPoint(made.target(t), (), (), (), t) for t in times])
    assert made.control.stream.update(made.loop.now)
    trajectory, _ = made.control.status.trajectory
    assert len(trajectory.times) <= 60
    made.run(1.0)
    assert np.abs(made.control.reference.q - made.target(1.0)).max() < 0.01
    made.run(1.5)
    assert np.abs(made.control.reference.q - made.target(2.0)).max() < 0.05


def test_after_another_motion_a_new_stream_is_followed_though_the_last_one_reached_far():
    made = Streamed()
    control, stream, zero = made.control, made.control.stream, np.zeros(7)
    stream.add(made.loop.now, NAMES, [TrajectoryPoint(BENT, (), (), (), 0.1 * k)
                                      for k in range(1, 21)])
    made.run(0.1)
    control.follow(made.loop.now, NAMES, [TrajectoryPoint(BENT + 0.05, zero, zero, (), 0.5)])
    made.run(0.6)
    assert not stream.active
    np.testing.assert_allclose(control.reference.q, BENT + 0.05, atol=1e-6)
    made.run(0.5, lambda _: BENT)
    assert stream.moves
    np.testing.assert_allclose(control.reference.q, BENT, atol=5e-3)


@pytest.mark.parametrize('refused', [True, False])
def test_a_stream_that_goes_on_over_an_activation_is_not_followed_until_it_has_paused(refused):
    made, elsewhere = Streamed(), BENT + 0.1
    made.run(0.5, made.target)
    control, stream = made.control, made.control.stream
    control.activation.deactivate()
    if refused:
        with pytest.raises(StateError, match='not active'):
            made.send(made.target(0.5))
    made.loop.start(elsewhere)
    made.run(0.6, made.target)
    assert control.mode is Mode.HOLD and stream.summary.startswith('not followed')
    np.testing.assert_array_equal(control.reference.q, elsewhere)
    made.run(0.4)
    made.run(0.3, lambda _: elsewhere)
    assert stream.moves and not stream.blocked


def test_notices_that_are_not_read_are_few():
    made = Streamed(**{'stream.timeout': 0.02})
    for _ in range(25):
        made.send(BENT)
        made.run(0.12)
    assert not made.control.stream.active and len(made.control.stream.notices) == 20


def test_a_leap_within_a_chunk_is_not_followed():
    made = Streamed()
    points = [TrajectoryPoint(BENT + away, (), (), (), 0.05 * k)
              for k, away in enumerate((0.0, 0.0, 0.0, 0.7, 0.7), 1)]
    made.control.stream.add(made.loop.now, NAMES, points)
    made.run(1.0)
    assert ' leaps by 0.7 ' in made.control.stream.notices[0]
    np.testing.assert_allclose(made.control.reference.q, BENT, atol=1e-6)


def test_messages_that_say_nothing_are_refused():
    made = Streamed()
    with pytest.raises(TrajectoryError, match="no joint 'elbow'"):
        made.control.stream.add(made.loop.now, ['elbow'], [TrajectoryPoint([0.0])])
    with pytest.raises(TrajectoryError, match='finite'):
        made.send(np.full(7, np.nan))
    with pytest.raises(TrajectoryError, match='300 points'):
        made.control.stream.add(made.loop.now, NAMES, [
            TrajectoryPoint(BENT, (), (), (), 0.1 * k) for k in range(300)])
    with pytest.raises(ParameterError, match='stream.acceleration_limit'):
        Streamed(**{'stream.acceleration_limit': (1.0, 2.0)})


def test_absurd_targets_do_no_harm():
    made = Streamed()
    rng = np.random.default_rng(0)
    for k in range(120):
        q, qd, time = made.target(0.02 * k), np.zeros(7), 0.02
        kind = rng.integers(6)
        if kind == 0:
            q = q + rng.choice([1e300, -1e300, 1e9, 1e-300], 7)
        elif kind == 1:
            qd = rng.choice([1e300, -1e300, 1e6], 7)
        elif kind == 2:
            time = rng.choice([0.0, 1e-12, 59.0])
        made.send(q, qd if kind < 3 else (), time)
        made.run(0.02)
    path = made.loop.column(3)
    assert np.isfinite(made.loop.torques).all() and not made.control.fault
    bound = made.control.stream.limits().acceleration * made.loop.period ** 2
    assert (np.abs(np.diff(path, 2, axis=0)) <= 1.05 * bound).all()
    model = made.loop.plant.model
    assert (np.abs(made.loop.torques) <= model.effort_limit).all()
    assert (path >= model.lower - 1e-5).all() and (path <= model.upper + 1e-5).all()


def test_a_paused_stream_waits():
    made = Streamed()
    made.run(1.0, made.target)
    made.control.path_speed.pause()
    made.run(0.6, made.target)
    before = made.control.reference.q.copy()
    made.run(0.3, made.target)
    np.testing.assert_allclose(made.control.reference.q, before, atol=1e-9)
    made.control.path_speed.resume()
    made.run(1.5, made.target)
    assert np.abs(np.diff(made.loop.column(4), axis=0)).max() < 0.05
    expected = made.target(made.loop.now - made.begin - 0.09)
    assert np.abs(made.control.reference.q - expected).max() < 0.03
