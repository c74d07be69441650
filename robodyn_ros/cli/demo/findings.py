"""Results of a demo as arrays, file, tables and criteria."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any, cast, NamedTuple

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.units import force_unit, large_unit, small_unit
from robodyn_ros.simulation.motion import Motion
from robodyn_ros.text import Criterion, number, table, WIDTH

TRACKING, HOLDING, DRIFT = 5e-3, 1e-3, 5e-3  # largest errors, rad or m
SATURATED = 0.01  # part of the states that may have a torque at its limit
MISSED = 0.25  # part of the states without a torque; a virtual machine may lose that much time
FAULT = 'fault: '  # begin of a logged fault
_LATER: Any = None  # set while the demo runs
_STEP, _FLAT = 1e-5, 1e-3  # rad or m; N m/rad (N/m) below which an equilibrium is no matter
BUSY = 0.3      # cores used by other programs above which the machine counts as busy


class MotionRun(NamedTuple):
    """
    An executed motion.

    Attributes
    ----------
    motion : Motion
        The motion in the last attempt.
    begin, end : int
        Begin and end, in ns.
    attempts : int
        Number of attempts.
    problem : str
        Reason why the last attempt was not complete; empty if it was.

    """

    motion: Motion
    begin: int
    end: int
    attempts: int
    problem: str


@dataclass
class Findings:
    """
    Results of a demo; per joint in model order, SI units.

    Attributes
    ----------
    motion : Motion
        The motion as executed.
    hold, floating, after_exit : (nv,) array
        Largest error while holding; drifts while floating and after the exit of the controller.
    run : MotionRun
        Execution of the motion.
    tracking, without_gravity : Tracking
        Tracking of the motion, and of the same without gravity in the feedforward.
    terms : dict of str to (times, (N, nv) array)
        Torque terms, in another run of the same motion.
    cpu : dict of str to float
        Share of a core that each process used during the motion.
    exit_code : int
        Exit code of the controller.
    diagnostics : list of (str, dict)
        Diagnostics received during `tracking`.
    errors : list of str
        Errors that the controller logged.

    """

    model: RobotModel
    motion: Motion
    hold: np.ndarray = _LATER
    floating: np.ndarray = _LATER
    after_exit: np.ndarray = _LATER
    run: MotionRun = _LATER
    tracking: Tracking = _LATER
    without_gravity: Tracking = _LATER
    terms: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    exit_code: int = 0
    diagnostics: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def unit(self) -> str:
        """Return the unit of positions times 1000."""
        return small_unit(self.model)

    def criteria(self) -> list[Criterion]:
        """Return the criteria with their results."""
        tracking = self.tracking
        return [
            self._bound('hold: error below', HOLDING, self.hold),
            self._bound('float: drift below', DRIFT, self.floating),
            Criterion('motion: complete', self.run.problem or 'yes', not self.run.problem),
            self._unless_busy(self._bound('motion: RMS error below', TRACKING, tracking.rms)),
            self._unless_busy(self._saturated()),
            self._answered(),
            Criterion('Ctrl-C: the controller exits without error', f'exit code {self.exit_code}',
                      self.exit_code == 0),
            self._bound('after exit: drift below', DRIFT, self.after_exit)]

    def _bound(self, text: str, bound: float, values: np.ndarray) -> Criterion:
        return Criterion(f'{text} {1e3 * bound:g} {self.unit}',
                         self._worst(1e3 * values, self.unit), bool((values < bound).all()))

    def _saturated(self) -> Criterion:
        # the controller limits torques to exactly the effort limit
        used = np.abs(self.tracking.torque) / self.model.effort_limit
        share = (used >= 1.0 - 1e-9).any(axis=1).mean()
        return Criterion(f'motion: below {100 * SATURATED:g} % of the states saturated',
                         f'{number(100.0 * share)} %, peak '
                         + self._worst(100.0 * used.max(axis=0), '%'), bool(share < SATURATED))

    def _answered(self) -> Criterion:
        missed = self.tracking.missed / self.tracking.states
        return self._unless_busy(Criterion(
            f'motion: below {100 * MISSED:g} % of the states unanswered',
            f'{number(100.0 * missed)} %', missed < MISSED))

    def _unless_busy(self, criterion: Criterion) -> Criterion:
        """Return a criterion that is not judged if it fails on a busy machine."""
        if criterion.passed or not self._busy:
            return criterion
        return criterion._replace(passed=None)

    @property
    def _busy(self) -> bool:
        return self.cpu.get('others', 0.0) > BUSY

    def _worst(self, values: np.ndarray, unit: str) -> str:
        j = int(np.argmax(values))
        return f'{number(values[j])} {unit} ({self.model.joint_names[j]})'

    def joints(self) -> list[str]:
        """Return the table of the joints."""
        model, tracking = self.model, self.tracking
        with np.errstate(divide='ignore', invalid='ignore'):
            speed = np.abs(tracking.reference_velocity).max(axis=0) / model.velocity_limit
        columns = (
            np.ptp(tracking.reference, axis=0), 100.0 * speed, 1e3 * tracking.rms,
            1e3 * tracking.worst, 1e3 * self.without_gravity.rms,
            1e3 * self.without_gravity.worst,
            tracking.peak_torque, model.effort_limit,
            100.0 * tracking.peak_torque / model.effort_limit)
        rows = [(name, *(number(column[j]) for column in columns))
                for j, name in enumerate(model.joint_names)]
        position, force = large_unit(self.unit), force_unit(self.unit)
        error, without = f'error ({self.unit})', f'no gravity ({self.unit})'
        return table(('joint', position, '% max', 'RMS', 'max', 'RMS', 'max', 'peak', 'limit',
                      '% used'), rows,
                     ('', 'moves', 'speed', error, error, without, without,
                      *(f'torque ({force})',) * 3))

    def loop(self) -> list[str]:
        """Return the table of the timing of the control loop."""
        tracking = self.tracking
        span = tracking.time[-1] - tracking.time[0]
        lines = [f'states {tracking.states} in {span:.2f} s, '
                 f'{tracking.states / span:.0f} per second; answered {len(tracking.time)}, '
                 f'missed {tracking.missed}']
        found = ((text, self._diagnosed(who, key)) for text, who, key in (
            ('stamp of state to torque sent', 'controller', 'latency {} (us)'),
            ('of it inside the controller', 'controller', 'computation {} (us)'),
            ('delay of simulation steps', 'simulation', 'delay {} (us)')))
        lines += table(('microseconds', 'p50', 'p99', 'max'),
                       [(text, *figures) for text, figures in found if figures])
        loops = [values['loop'] for name, values in self.diagnostics
                 if name.endswith('controller') and 'loop' in values]
        lines += [f'loop: {each}' for each in loops[-1:]]
        lines.append('processor, share of one core: ' + ', '.join(
            f'{name} {100.0 * share:.0f} %' for name, share in self.cpu.items()))
        return lines

    def reservation(self) -> str:
        """Return the reservation in the last line of the verdict; empty if there is none."""
        count = sum(text.startswith(FAULT) for text in self.errors)
        if not count:
            return ''
        return ('a fault was' if count == 1 else f'{count} faults were') + (
            ' latched and reset, see above')

    def notes(self) -> list[str]:
        """Return remarks about the figures."""
        notes = [f'the controller logged: {text}' for text in self.errors]
        if self.run.attempts > 1:
            notes.append(f'the motion took {self.run.attempts} attempts')
        if (self.after_exit >= DRIFT).any() and (falling := self._falling()):
            notes.append(f'the arm ends in an unstable equilibrium of {falling}: with a constant '
                         'torque it falls away from there, as any upright arm without friction '
                         'does; a real one needs brakes, or the guard')
        if self._busy:
            notes.append('other programs used the processors: figures are better without them, '
                         'or with --rate 500')
        return [line for note in notes for line in wrap(note, WIDTH)]

    def _falling(self) -> str:
        """Return the joint that falls most from the last position, at constant torque, or ''."""
        dynamics, q = Dynamics(self.model), self.tracking.q[-1]
        steps = _STEP * np.eye(self.model.nv)
        curvature = np.array([dynamics.gravity(q + each) - dynamics.gravity(q - each)
                              for each in steps]) / (2.0 * _STEP)
        values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
        worst = int(np.argmax(np.abs(vectors[:, 0])))
        return f"'{self.model.joint_names[worst]}'" if values[0] < -_FLAT else ''

    def _diagnosed(self, who: str, key: str) -> list[str]:
        """Return p50, p99 and maximum of a diagnostics key, each the largest during the motion."""
        found = [values for name, values in self.diagnostics if name.endswith(who)]
        names = [key.format(label) for label in ('p50', 'p99', 'max')]
        rows = [[float(values[name]) for name in names] for values in found
                if all(name in values for name in names)]
        return [number(value) for value in np.nanmax(rows, axis=0)] if rows else []

    def save(self, path: Path) -> None:
        """Write the recordings of both motions as an .npz file."""
        arrays = {'joint_names': np.array(self.model.joint_names),
                  'effort_limit': self.model.effort_limit}
        for name, tracking in (('', self.tracking), ('without_gravity_', self.without_gravity)):
            for each in ('time', 'q', 'qd', 'reference', 'reference_velocity', 'torque'):
                arrays[name + each] = _compact(getattr(tracking, each))
        for name, (times, values) in self.terms.items():
            arrays[f'term_{name}_time'], arrays[f'term_{name}'] = times, _compact(values)
        np.savez_compressed(path, **cast(Any, arrays))


def _compact(values: np.ndarray) -> np.ndarray:
    """Return an array in single precision, except times."""
    return values.astype(np.float32) if values.ndim == 2 else values


class Tracking(NamedTuple):
    """
    States and their references of each cycle.

    Attributes
    ----------
    origin : int
        Stamp of the first state, in ns since the epoch.
    time : (N,) array
        Stamps of the states, in s since then.
    q, qd, reference, reference_velocity, torque, error : (N, nv) array
        Error: reference minus position, for continuous joints between -pi and pi.
    states : int
        Number of states in the same time, with and without a reference.

    """

    origin: int
    time: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    reference: np.ndarray
    reference_velocity: np.ndarray
    torque: np.ndarray
    error: np.ndarray
    states: int

    @property
    def missed(self) -> int:
        """Count of states without a torque."""
        return self.states - len(self.time)

    @property
    def rms(self) -> np.ndarray:
        """RMS error, (nv,)."""
        return np.sqrt(np.mean(self.error ** 2, axis=0))

    @property
    def worst(self) -> np.ndarray:
        """Largest error, (nv,)."""
        return np.abs(self.error).max(axis=0)

    @property
    def peak_torque(self) -> np.ndarray:
        """Largest torque, (nv,)."""
        return np.abs(self.torque).max(axis=0)


def match(states, references, continuous: np.ndarray) -> Tracking:
    """
    Pair states and references of the same stamp.

    Parameters
    ----------
    states, references : JointLog
        Logs of the same interval, columns in model order; references may begin or end later.
    continuous : (nv,) array of bool
        Whether each joint is continuous.

    Raises
    ------
    StateError
        No stamps are equal.

    """
    stamps, ours, theirs = np.intersect1d(states.stamp, references.stamp, return_indices=True)
    if not len(stamps):
        raise StateError(f'{len(states.stamp)} states and {len(references.stamp)} references were '
                         'recorded, but none of the same stamp: did simulator or controller stop?')
    q, reference = states.position[ours], references.position[theirs]
    origin = int(states.stamp[0])
    return Tracking(
        origin=origin, time=1e-9 * (stamps - origin), q=q, qd=states.velocity[ours],
        reference=reference, reference_velocity=references.velocity[theirs],
        torque=references.effort[theirs],
        error=short_way(reference - q, continuous), states=len(states.stamp))


def short_way(difference: np.ndarray, continuous: np.ndarray) -> np.ndarray:
    """Return differences with those of continuous joints between -pi and pi."""
    turns = np.round(difference / (2.0 * np.pi))
    return difference - np.where(continuous, 2.0 * np.pi * turns, 0.0)


def drift(positions: np.ndarray, continuous: np.ndarray) -> np.ndarray:
    """Return the largest distance of each joint from its first position; (nv,)."""
    return np.abs(short_way(positions - positions[0], continuous)).max(axis=0)
