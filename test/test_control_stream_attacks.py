"""Random streams with disturbances: the reference never steps, and memory is bounded."""

import numpy as np
import pytest
from closed_loop import BENT, MODEL
from robodyn_ros.control import ArmController, Mode, Settings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.trajectory import TrajectoryPoint

CYCLE, NAMES, NV = 2e-3, MODEL.joint_names, MODEL.nv
DYNAMICS = Dynamics(MODEL)
ABSURD = 1e300, -1e300, 1e9, np.nan, np.inf
KINDS = ('point', 'chunk', 'past', 'future', 'late', 'zero', 'long', 'absurd', 'names',
         'velocities', 'jump', 'nothing')
EVENTS = ('hold', 'stop', 'compensate_gravity', 'fail', 'pause', 'resume', 'scale', 'standstill',
          'goal', 'pose')


class Attack:
    """A controller, an arm at its reference unless it floats, and random targets."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.control = ArmController(DYNAMICS, Settings())
        self.now, self.q = 0.0, BENT.copy()
        self.control.activate(0.0, self.q, np.zeros(NV))
        self.control.update(0.0, self.q, np.zeros(NV))
        self.period = self.rng.choice([0.004, 0.01, 0.02, 0.05, 0.2, 0.5])
        self.wild = self.rng.choice([0.02, 0.1, 0.4])
        self.messages = 0

    def target(self, ahead):
        """Return positions on smooth curves, of which some are too fast for the arm."""
        t = self.now + np.asarray(ahead)[..., None]
        return BENT + 0.4 * np.sin(self.wild * 20.0 * t * np.linspace(0.5, 1.5, NV))

    def message(self):
        """Send a message, rarely a proper one."""
        rng, names, stamp = self.rng, NAMES, None
        kind = KINDS[0] if rng.random() < 0.6 else rng.choice(KINDS)
        times = np.array([self.period])
        if kind in ('chunk', 'late', 'zero'):
            times = 0.05 * np.arange(1, 17)
        elif kind == 'long':
            times = 0.002 * np.arange(1, rng.choice([150, 500]))
        stamp = {'past': self.now - rng.choice([0.1, 1.0, 1e3]), 'late': self.now - 0.2,
                 'future': self.now + rng.choice([0.3, 50.0, 1e6])}.get(kind)
        if kind == 'zero':
            times[:] = times[0] * rng.integers(2)
        q = self.target(times)
        qd = [()] * len(q)
        if kind == 'absurd':
            q[:, rng.integers(NV)] = rng.choice(ABSURD)
        elif kind == 'jump':
            q += rng.choice([0.1, 0.45, 2.0])
        elif kind == 'names':
            names = [NAMES[:3], ('elbow', *NAMES[1:]), NAMES[::-1]][rng.integers(3)]
        elif kind == 'velocities':
            qd, q = rng.normal(0.0, 0.5, q.shape), [()] * len(q)
        elif kind == 'nothing':
            return
        try:
            self.control.stream.add(self.now - rng.uniform(0.0, 0.01), names, [
                TrajectoryPoint(*each, (), (), t) for *each, t in zip(q, qd, times)], stamp)
        except RobodynError:
            pass
        self.messages += 1

    def event(self):
        """Disturb the stream."""
        control, rng, zero = self.control, self.rng, np.zeros(NV)
        kind = rng.choice(EVENTS)
        try:
            if kind == 'goal':
                control.follow(self.now, NAMES, [TrajectoryPoint(
                    BENT + rng.uniform(-0.2, 0.2, NV), zero, zero, (), rng.uniform(0.5, 2.0))])
            elif kind == 'pose':
                control.motions.reach(control.pose(BENT)[:3, 3], (0.0, 0.0, 0.0, 1.0))
            elif kind in ('pause', 'resume'):
                getattr(control.path_speed, kind)()
            elif kind in ('scale', 'standstill'):
                control.path_speed.scale(0.0 if kind == 'standstill' else rng.uniform())
            elif kind in ('stop', 'fail'):
                getattr(control.requests, kind)('an attack')
            else:
                getattr(control.requests, kind)()
        except RobodynError:
            pass

    def run(self, seconds):
        """Attack for a while; return whether the stream moved, modes, q, qd, qdd of all cycles."""
        rows, due, calm = [], 0.0, 0.8
        while self.now < seconds:
            if self.now >= due:
                self.message()
                due = self.now + self.period * self.rng.uniform(0.3, 1.7)
            if self.now >= calm:
                self.event()
                calm = self.now + self.rng.exponential(1.0)
                if self.rng.random() < 0.7:  # and then goes on, after a silence
                    self.control.reset_fault()
                    self.control.path_speed.release()
                    self.control.path_speed.scale(1.0)
                    due = self.now + self.rng.choice([0.0, 0.6, 0.6 + 3.0 * self.period])
            self.control.stream.update(self.now)
            r, speed = self.control.reference, self.control.path_speed
            if self.control.mode is Mode.FLOAT:  # it drifts until it rests
                self.control.update(self.now, r.q + CYCLE * r.qd, 0.98 * r.qd)
            else:
                self.control.update(self.now, r.q.copy(), r.qd.copy())
            r, mode = self.control.reference, self.control.mode
            streams = mode is Mode.TRACK and self.control.stream.moves
            rows.append((streams, streams and speed.rate == 1.0, *(
                x.copy() for x in r.arrays[:3])))
            self.now += CYCLE
        streams, whole, q, qd, qdd = (np.array(each) for each in zip(*rows))
        return streams, whole, q, qd, qdd


@pytest.mark.parametrize('seed', range(5))
def test_no_attack_makes_the_reference_step(seed):
    attack = Attack(seed)
    limits = attack.control.stream.limits()
    streams, whole, q, qd, qdd = attack.run(4.0)
    assert all(np.isfinite(each).all() for each in (q, qd, qdd))
    assert (q >= MODEL.lower - 1e-5).all() and (q <= MODEL.upper + 1e-5).all()
    # of stops and goals, which have limits of their own, as well
    assert np.abs(np.diff(q, axis=0) - 0.5 * CYCLE * (qd[1:] + qd[:-1])).max() < 1e-4
    assert np.abs(np.diff(qd, axis=0)).max() < 80.0 * CYCLE
    assert (np.abs(qd[streams]) <= 1.01 * limits.velocity).all()
    # where a stream is followed at full speed in both cycles and in the one before
    both = whole[2:] & whole[1:-1] & whole[:-2]
    steps = np.abs(np.diff(qdd, axis=0))[1:][both]
    assert (steps <= 1.1 * limits.jerk * CYCLE).all()
    stream = attack.control.stream
    assert len(stream.notices) <= 2 * attack.messages
    targets = stream._targets
    assert len(targets.times) < 300
