"""
Margins of the default settings: delays that no stamp shows, elastic joints, busy computers.

Each row is a hold, in which the loop is measured, and a motion of 0.2 rad per joint, in one
process and the same at every call; rows of `law` do so with the other control laws, float after a
push by hand at 30 % of the velocity limits, or follow a stream of targets at 50 Hz. It is calm if
no joint exceeds 121 % of its velocity limit before a fault and 130 % from 0.3 s after one on;
whether it is at rest at the end, below 5 %, is counted beside. Elastic joints are rotor, spring
and link; the speed is that of the rotor. In rows of the guard it takes over an arm at 30 % of its
velocity limits; `after` is from 0.3 s on. In rows of a stop the loop was measured wrongly: an
arm whose joints have 0, 1 or 3 times the rotors they are built for is given 0, 1 or 3 times those,
moves at 30 % of its velocity limits, the first joint at 170 %, and is stopped for that.

    python benchmark/margins.py [--quick] [--unmeasured] [--save FILE]
"""

from __future__ import annotations

import argparse
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
import json
from pathlib import Path
import sys

import numpy as np

from robodyn_ros.control import ArmController, Settings, with_slots
from robodyn_ros.control.arm.loop_response import MeasuredLoop, Response
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import slow_rotors
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant
from robodyn_ros.trajectory import TrajectoryPoint

URDF = Path(__file__).resolve().parents[1] / 'urdf'
# of example-robot-data: path, and tip
FOREIGN = {'panda': ('panda_description/urdf/panda.urdf', 'panda_link8'),
           'ur10': ('ur_description/urdf/ur10_robot.urdf', None),
           'ur5': ('ur_description/urdf/ur5_robot.urdf', None),
           'kinova': ('kinova_description/robots/kinova.urdf', 'j2s6s200_end_effector'),
           'xarm7': ('xarm_description/urdf/xarm7.urdf', None),
           'z1': ('z1_description/urdf/z1.urdf', None),
           'ur3': ('ur_description/urdf/ur3_robot.urdf', None)}
ROTORS = {'panda': [0.195] * 4 + [0.074] * 3, 'ur5': [0.3] * 3 + [0.06] * 3,
          'robodyn7': [0.3, 0.3, 0.18, 0.14, 0.08, 0.05, 0.024]}  # kg m^2, of elastic joints
RATES, DELAYS = (100, 250, 500, 1000), (0.0, 0.004, 0.008, 0.014, 0.02, 0.03, 0.04)  # Hz, s
STIFFNESS, LOOPS = (20000.0, 7000.0, 2000.0), ((1000, 0.0), (1000, 0.004), (500, 0.008))
LAW_LOOPS = ((1000, 0.008), (250, 0.03))
GAPS = (0.005, 0.02, 0.05)  # s, largest time for which a busy computer sends no torque
_BEFORE, _AFTER, _SETTLED, _REST = 1.21, 1.3, 0.3, 0.05
_STEP, _DAMPING = 1e-3, 1.0  # s; N m s/rad of the springs
# s: pause before the motion, longest wait for the measurement of the loop, and time from then on
_MOTION, _MEASURED, _RUN = 0.7, 8.0, 2.3
_PUSHED, _GUARDED = 0.3, 6.0  # of the velocity limits; s
_TOO_FAST, _STOPPED = 1.7, 2.0  # of the velocity limit; s
ROTOR_ERRORS = (0.0, 1.0, 3.0)  # of the likely rotors, that are there, and that were measured
LAWS = (*(each for each in TRACKING if each != 'computed_torque'), 'float', 'stream')


@dataclass(frozen=True)
class Row:
    """Result of a row; speeds as parts of the velocity limits."""

    kind: str
    arm: str
    rate: int
    delay: float
    amount: float
    side: str
    before: float
    after: float
    end: float
    moved: bool
    fault: str

    @property
    def calm(self) -> bool:
        """Return whether nothing swings."""
        return (self.before <= _BEFORE or self.kind == 'stop') and self.after <= _AFTER

    @property
    def rests(self) -> bool:
        """Return whether the arm is at rest at the end."""
        return self.end <= _REST


class Rigid:
    """An arm that equals its model, but for its rotors."""

    step = _STEP

    def __init__(self, model, q, rotors=0.0):
        self._plant = Plant(model, _STEP, armature=rotors)
        self._plant.reset(q)

    def advance(self, torque):
        """Make a step; return measured position and velocity, and speeds."""
        self._plant.step(torque)
        return self._plant.q.copy(), self._plant.qd.copy(), self._plant.qd

    def move(self, qd):
        """Give the arm velocities."""
        self._plant.qd[:] = qd


class Elastic(Rigid):
    """An arm with rotors on springs; the encoders are on the motors, or on the links."""

    def __init__(self, dynamics, q, stiffness, rotors, side):
        self._plant = Plant(dynamics.model, _STEP, dynamics, armature=rotors, stiffness=stiffness,
                            spring_damping=_DAMPING, friction=0.0, damping=0.0, lower=-np.inf,
                            upper=np.inf)
        self._plant.reset(q)
        self._link = side == 'link'

    def advance(self, torque):
        """Make a step; return measured position and velocity, and speeds."""
        plant = self._plant
        plant.step(torque)
        speeds = plant.qd + plant.gap_rate
        measured = ((plant.q.copy(), plant.qd.copy()) if self._link
                    else (plant.q + plant.gap, speeds))
        return *measured, speeds


class Motion:
    """What the arm does from a time on: 0.2 rad per joint, or as long as a stream lasts."""

    def __init__(self, control, arm, use):
        self._control, self._arm, self._use = control, arm, use
        self._start = None
        self._next = 0.0

    def update(self, now, q):
        """Begin, or go on; raises where the arm may not move."""
        control, model, begins = self._control, self._control.model, self._start is None
        if begins:
            self._start, self._next = (now, q), now
        begin, q0 = self._start
        lower, upper = model.lower + 0.01, model.upper - 0.01
        if self._use == 'float' and begins:
            control.requests.compensate_gravity()
            self._arm.move(_PUSHED * np.array(model.velocity_limit))
        elif self._use == 'stream':
            if now >= self._next:
                self._next += 0.02
                target = np.clip(q0 + 0.2 * np.sin(2.0 * (now - begin)), lower, upper)
                control.stream.add(now, model.joint_names, [TrajectoryPoint(target, (), (), (),
                                                                            0.0)])
            control.stream.update(now)
        elif begins:
            zero = 0.0 * q
            control.follow(now, model.joint_names, [TrajectoryPoint(
                np.clip(q + 0.2, lower, upper), zero, zero, (), 1.2)])


def answered(control, now, q, qd, torque):
    """Return the torque for a state, or the last one where it has none."""
    control.host.state.q[:], control.host.state.qd[:] = q, qd
    control.host.state.effort[:] = np.nan
    # the stamp is the time of arrival: the delay shows nowhere
    answer = control.receive(now, now + 100.0, now + 100.0)
    return torque if answer is None else answer.copy()


def advanced(arm, torque, rate, history):
    """Give the arm a torque for a period, record what is measured; return its speeds."""
    for _ in range(max(1, round(1.0 / rate / arm.step))):
        *measured, speeds = arm.advance(torque)
        history.append(measured)
    return speeds


def run(model, dynamics, arm, rate, delay=0.0, gap=0.0, measured=True, use='computed_torque'):
    """Return speeds before and after a fault and at the end, whether it moved, and the fault."""
    law = use if use in TRACKING else 'computed_torque'
    control, rng = ArmController(dynamics, Settings(mode=law)), np.random.default_rng(0)
    motion = Motion(control, arm, use)
    history = deque(maxlen=round(delay / arm.step) + 1)
    state = arm.advance(dynamics.gravity(start(model)))
    history.extend([state[:2]] * history.maxlen)
    control.activate(0.0, state[0], 0.0 * state[1])
    torque, limit = control.gravity_torque().copy(), np.array(model.velocity_limit)
    moves = _MEASURED if measured else _MOTION
    if measured:
        control.loop.begin()
    now = before = after = busy = end = 0.0
    failed, moved = np.inf, False
    while now < min(moves + _RUN, failed + 1.8):
        q, qd = history[0]
        if now >= busy:
            torque = answered(control, now, q, qd, torque)
            busy = now + (rng.uniform(0.5, 1.0) * gap if rng.random() < 0.1 else 0.0)
        if control.update_loop(wait=True):
            moves = min(moves, now + _MOTION)
        if now > moves and failed == np.inf:
            with suppress(RobodynError):  # the arm has a fault already
                motion.update(now, q)
                moved = True
        speeds = advanced(arm, torque, rate, history)
        now += 1.0 / rate
        end = speed = float((np.abs(speeds) / limit).max())
        if control.fault and failed == np.inf:
            failed = now
        if failed == np.inf:
            before = max(before, speed)
        elif now > failed + _SETTLED:
            after = max(after, speed)
        if not speed < 100.0:
            break
    return before, after, end, moved, control.fault


def take_over(model, dynamics, arm, rate, delay=0.0, gap=0.0):
    """Return speeds 0.3 s after a guard takes over, later, at the end; True; no fault."""
    from robodyn_ros.nodes.guard.parameters import GuardSettings
    from robodyn_ros.nodes.guard.torque import GuardTorque
    guard, rng = GuardTorque(dynamics, GuardSettings()), np.random.default_rng(0)
    limit = np.array(model.velocity_limit)
    arm.advance(dynamics.gravity(start(model)))
    arm.move(_PUSHED * limit * rng.choice([-1.0, 1.0], model.nv))
    history = deque(maxlen=round(delay / arm.step) + 1)
    q, qd, _ = arm.advance(dynamics.gravity(start(model)))
    history.extend([(q, qd)] * history.maxlen)
    guard.start(0.0, q, qd, dynamics.gravity(q))
    torque, now, busy, before, after, end = guard.last.copy(), 0.0, 0.0, 0.0, 0.0, 0.0
    while now < _GUARDED and end < 100.0:
        if now >= busy:
            torque = guard.update(now, *history[0]).copy()
            busy = now + (rng.uniform(0.5, 1.0) * gap if rng.random() < 0.1 else 0.0)
        speeds = advanced(arm, torque, rate, history)
        now += 1.0 / rate
        end = float((np.abs(speeds) / limit).max())
        if now < _SETTLED:
            before = max(before, end)
        else:
            after = max(after, end)
    return before, after, end, True, ''


def stop(model, dynamics, rate, delay, believed, true):
    """Return the speeds up to the fault, from 0.3 s after it, at the end; True; and the fault."""
    control, likely = ArmController(dynamics, Settings()), slow_rotors(model)
    limit, nothing = np.array(model.velocity_limit), np.zeros(model.nv)
    arm = Rigid(model, start(model), true * likely)
    history = deque(maxlen=round(delay / arm.step) + 1)
    q, qd, _ = arm.advance(dynamics.gravity(start(model)))
    history.extend([(q, qd)] * history.maxlen)
    control.activate(0.0, q, nothing)
    torque = control.gravity_torque().copy()
    before = after = end = now = 0.0
    failed, events = np.inf, [0.9, 0.6]
    while now < min(_MOTION + 2.0 * _STOPPED, failed + _STOPPED):
        if events and now > events[-1]:
            if events.pop() == 0.6:
                control.changes.use_loop(MeasuredLoop(
                    tuple([Response(delay, 1.0, 0.0, 0.0)] * model.nv), nothing, believed * likely,
                    np.ones(model.nv), nothing > 0.0, np.full(model.nv, delay + 0.5 / rate)))
            else:
                arm.move(limit * np.where(np.arange(model.nv) == 0, _TOO_FAST, _PUSHED))
        torque = answered(control, now, *history[0], torque)
        speeds = advanced(arm, torque, rate, history)
        now += 1.0 / rate
        end = float((np.abs(speeds) / limit).max())
        if control.fault and failed == np.inf:
            failed = now
        if failed == np.inf:
            before = max(before, end)
        elif now > failed + _SETTLED:
            after = max(after, end)
    return before, after, end, True, control.fault


def start(model):
    """Return the position at which a row begins."""
    lower, upper = np.maximum(model.lower, -1.0), np.minimum(model.upper, 1.0)
    return np.clip(0.5 * (lower + upper) + 0.3, lower, upper)


def models():
    """Return the arms that are there, by name."""
    found = {name: RobotModel.from_urdf(URDF / f'{name}.urdf') for name in (
        'robodyn7', 'robodyn6')}
    if find_spec('cmeel'):
        folder = Path(find_spec('cmeel').submodule_search_locations[0]).parent / (
            'cmeel.prefix/share/example-robot-data/robots')
        for name, (path, tip) in FOREIGN.items():
            if (folder / path).exists():
                found[name] = RobotModel.from_urdf(folder / path, **({'tip': tip} if tip else {}))
    return found


def rows(name, model, quick=False, measured=True):
    """Yield the rows of an arm; measured: its loop is measured before the motion."""
    dynamics, q = Dynamics(with_slots(model)), start(model)

    def row(kind, arm, rate, delay, amount=0.0, side='', **more):
        return Row(kind, name, rate, delay, amount, side,
                   *run(model, dynamics, arm, rate, delay, measured=measured, **more))

    def guard(arm, rate, delay=0.0, gap=0.0, amount=0.0, side=''):
        return Row('guard', name, rate, delay, amount or gap, side,
                   *take_over(model, dynamics, arm, rate, delay, gap))

    for rate in RATES[2:] if quick else RATES:
        for delay in DELAYS[::3] if quick else DELAYS:
            yield row('delay', Rigid(model, q), rate, delay)
        for gap in GAPS[2:] if quick else GAPS:
            yield row('busy', Rigid(model, q), rate, 0.0, gap, gap=gap)
            yield guard(Rigid(model, q), rate, 0.0, gap)
        for delay in DELAYS[::3] if quick else DELAYS:
            yield guard(Rigid(model, q), rate, delay)
    for true in ROTOR_ERRORS:
        for believed in ROTOR_ERRORS[::2] if quick else ROTOR_ERRORS:
            for loop in LAW_LOOPS:
                yield Row('stop', name, *loop, believed, f'{true:g}', *stop(
                    model, dynamics, *loop, believed, true))
    for use in LAWS[::3] if quick else LAWS:
        for rate, delay in LAW_LOOPS:
            yield row('law', Rigid(model, q), rate, delay, 0.0, use, use=use)
    for stiffness in () if name not in ROTORS else STIFFNESS[:1] if quick else STIFFNESS:
        for rate, delay in LOOPS:
            for side in ('motor', 'link'):
                yield row('elastic', Elastic(dynamics, q, stiffness, ROTORS[name], side), rate,
                          delay, stiffness, side)
                arm = Elastic(dynamics, q, stiffness, ROTORS[name], side)
                yield guard(arm, rate, delay, 0.0, stiffness, side)


def main(args=None) -> int:
    """Print the rows of all arms; return whether one is not calm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--quick', action='store_true', help='fewer rows')
    parser.add_argument('--unmeasured', action='store_true',
                        help='motion at once, before the loop is measured')
    parser.add_argument('--save', type=Path, help='JSON file of the rows')
    options = parser.parse_args(args)
    found = []
    print('kind     arm       Hz    ms   gap, N m/rad  side   before %  after %  end %')
    for name, model in models().items():
        for each in rows(name, model, options.quick, not options.unmeasured):
            found.append(each)
            print(f'{each.kind:8} {name:9} {each.rate:4} {1e3 * each.delay:4.0f} '
                  f'{each.amount:8g}      {each.side:6} {100 * each.before:6.0f} '
                  f'{100 * each.after if each.fault or each.kind == "guard" else 0:8.0f} '
                  f'{100 * each.end:6.0f} '
                  f'{"" if each.moved else "no motion "}{"" if each.calm else "! "}'
                  f'{each.fault[:60]}', flush=True)
    for kind in ('delay', 'busy', 'elastic', 'law', 'stop', 'guard'):
        some = [each for each in found if each.kind == kind]
        print(f'{kind}: {sum(each.calm for each in some)} of {len(some)} calm, '
              f'{sum(each.rests for each in some)} at rest at the end, '
              f'{sum(not each.moved for each in some)} without motion')
    if options.save:
        options.save.write_text(json.dumps([asdict(each) for each in found], indent=1))
    return 0 if all(each.calm for each in found) else 1


if __name__ == '__main__':
    sys.exit(main())
