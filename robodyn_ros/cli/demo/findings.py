"""What a demo found out, as arrays, as a file, as tables and as verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap

import numpy as np

from robodyn_ros.cli.demo.evaluation import Tracking
from robodyn_ros.cli.demo.motion_run import MotionRun
from robodyn_ros.cli.motion import Motion
from robodyn_ros.cli.report import Criterion, number, table, WIDTH
from robodyn_ros.cli.units import force_unit, large_unit, small_unit
from robodyn_ros.model import RobotModel

TRACKING, HOLDING, DRIFT = 5e-3, 1e-3, 5e-3  # rad or m that are allowed
SATURATED = 0.01  # of the states: a motor then gives all that it has
MISSED = 0.25  # of the states: a virtual machine may lose that much to its neighbours
FAULT = 'fault: '  # how the controller logs one
BUSY = 0.3      # cores, from which on other programs are mentioned


@dataclass
class Findings:
    """
    Results of a demo; per joint in model order, SI units.

    Attributes
    ----------
    motion : Motion
        As it was followed.
    hold, floating, left : (nv,) array
        Largest error of the hold; drifts while floating and after the controller left.
    take : MotionRun
        How the motion was made.
    tracking, heavy : Tracking
        Of the motion, and of the same without gravity in the feedforward.
    terms : dict of str to (times, (N, nv) array)
        Terms of the torque, in another run of the same motion.
    cpu : dict of str to float
        Part of a core that each process used during the motion.
    exit_code : int
        Of the controller.
    diagnostics : list of (str, dict)
        As they came during `tracking`.
    news : list of str
        Errors that the controller logged.

    """

    model: RobotModel
    motion: Motion
    hold: np.ndarray | None = None
    floating: np.ndarray | None = None
    left: np.ndarray | None = None
    take: MotionRun | None = None
    tracking: Tracking | None = None
    heavy: Tracking | None = None
    terms: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    exit_code: int = 0
    diagnostics: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    news: list[str] = field(default_factory=list)

    @property
    def unit(self) -> str:
        """Return the unit of a thousandth of the joints' positions."""
        return small_unit(self.model)

    def criteria(self) -> list[Criterion]:
        """Return what must hold."""
        tracking = self.tracking
        return [
            self._bound('hold: error below', HOLDING, self.hold),
            self._bound('float: drift below', DRIFT, self.floating),
            Criterion('motion: made to its end', self.take.problem or 'yes',
                      not self.take.problem),
            self._unless_busy(self._bound('motion: RMS error below', TRACKING, tracking.rms)),
            self._unless_busy(self._saturated()),
            self._answered(),
            Criterion('Ctrl-C: the controller leaves in good order', f'exit code {self.exit_code}',
                      self.exit_code == 0),
            self._bound('left: the arm stays within', DRIFT, self.left)]

    def _bound(self, text: str, bound: float, values: np.ndarray) -> Criterion:
        return Criterion(f'{text} {1e3 * bound:g} {self.unit}',
                         self._worst(1e3 * values, self.unit), bool((values < bound).all()))

    def _saturated(self) -> Criterion:
        # the controller cuts what is more than a motor has: it then has exactly that
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
        """Return a criterion that says nothing about the controller if others held it up."""
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
            1e3 * tracking.worst, 1e3 * self.heavy.rms, 1e3 * self.heavy.worst,
            tracking.peak_torque, model.effort_limit,
            100.0 * tracking.peak_torque / model.effort_limit)
        rows = [(name, *(number(column[j]) for column in columns))
                for j, name in enumerate(model.joint_names)]
        big, force = large_unit(self.unit), force_unit(self.unit)
        error, heavy = f'error ({self.unit})', f'no gravity ({self.unit})'
        return table(('joint', big, '% max', 'RMS', 'max', 'RMS', 'max', 'peak', 'limit',
                      '% used'), rows,
                     ('', 'moves', 'speed', error, error, heavy, heavy,
                      *(f'torque ({force})',) * 3))

    def loop(self) -> list[str]:
        """Return the table of the control loop's timing."""
        tracking = self.tracking
        span = tracking.time[-1] - tracking.time[0]
        lines = [f'states {tracking.states} in {span:.2f} s, '
                 f'{tracking.states / span:.0f} per second; answered {len(tracking.time)}, '
                 f'missed {tracking.missed}']
        found = ((text, self._diagnosed(who, key)) for text, who, key in (
            ('state stamped until torque sent', 'controller', 'latency {} (us)'),
            ('of it inside the controller', 'controller', 'computation {} (us)'),
            ('simulator late for a step', 'simulation', 'delay {} (us)')))
        lines += table(('microseconds', 'p50', 'p99', 'max'),
                       [(text, *figures) for text, figures in found if figures])
        loops = [values['loop'] for name, values in self.diagnostics
                 if name.endswith('controller') and 'loop' in values]
        lines += [f'loop: {each}' for each in loops[-1:]]
        lines.append('processor, of one core: ' + ', '.join(
            f'{name} {100.0 * share:.0f} %' for name, share in self.cpu.items()))
        return lines

    def reserve(self) -> str:
        """Return what the last line of the verdict must not hide; empty if nothing."""
        count = sum(text.startswith(FAULT) for text in self.news)
        if not count:
            return ''
        return ('a fault was' if count == 1 else f'{count} faults were') + (
            ' latched and reset on the way, see above')

    def notes(self) -> list[str]:
        """Return what else should be known about the figures."""
        notes = [f'the controller said: {text}' for text in self.news]
        if self.take.attempts > 1:
            notes.append(f'the motion was made in attempt {self.take.attempts}')
        if self._busy:
            notes.append('other programs kept the processors busy: figures are better without '
                         'them, or with --rate 500')
        return [line for note in notes for line in wrap(note, WIDTH)]

    def _diagnosed(self, who: str, key: str) -> list[str]:
        """Return p50, p99 and maximum; the worst of the seconds of the motion."""
        found = [values for name, values in self.diagnostics if name.endswith(who)]
        names = [key.format(label) for label in ('p50', 'p99', 'max')]
        rows = [[float(values[name]) for name in names] for values in found
                if all(name in values for name in names)]
        return [number(value) for value in np.nanmax(rows, axis=0)] if rows else []

    def save(self, path: Path) -> None:
        """Write the recordings of both motions as arrays."""
        arrays = {'joint_names': np.array(self.model.joint_names),
                  'effort_limit': self.model.effort_limit}
        for name, tracking in (('', self.tracking), ('without_gravity_', self.heavy)):
            for each in ('time', 'q', 'qd', 'reference', 'reference_velocity', 'torque'):
                arrays[name + each] = _compact(getattr(tracking, each))
        for name, (times, values) in self.terms.items():
            arrays[f'term_{name}_time'], arrays[f'term_{name}'] = times, _compact(values)
        np.savez_compressed(path, **arrays)


def _compact(values: np.ndarray) -> np.ndarray:
    """Return an array in half of its size, times excepted; seven digits are enough."""
    return values.astype(np.float32) if values.ndim == 2 else values
