"""The steps of a commissioning, in their order: announcement, work and result of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robodyn_ros.commissioning.identification_step import IdentificationStep
from robodyn_ros.commissioning.measures import (
    loop_delay, measure, Measures, natural_frequency, step_points)
from robodyn_ros.commissioning.motions import approached, compared, excitation, Plan
from robodyn_ros.commissioning.ranges import check_present
from robodyn_ros.commissioning.work import Work
from robodyn_ros.dynamics.usual_inertia import joint_inertia
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.files import CONTROLLER as NODE
from robodyn_ros.identification.recording import load, Run, save
from robodyn_ros.inspection.finding import lines, STOP
from robodyn_ros.inspection.motors import findings as findings_of_motors, Motors
from robodyn_ros.inspection.urdf import read
from robodyn_ros.text import number, table

_POSES = 2000      # random poses of the preflight
_REST = 1.0        # s of rest, for noise
_FLOAT = 0.6       # s of floating
_DRIFT = 0.1       # rad or m, drift while floating that is worth a warning
_STICKS = 0.1      # part of the motion in which a joint may stick
_LATE = 1e-3       # s, delay of the velocities that is worth a warning
_PERIODS = 3.0     # periods without a state that are worth a warning
_CONTRADICTS = (0.9, 1.1)  # range of reported velocities relative to positions


class Step(NamedTuple):
    """
    A step of the commissioning.

    Attributes
    ----------
    name : str
        Name for `--repeat` and the state.
    text : str
        What it will do.
    moves : bool
        Whether the arm moves, or may.
    act : callable
        Does it; returns lines for the user and numbers for the state.
    plan : callable or None
        Returns the motion that is shown before consent is asked for.

    """

    name: str
    text: str
    moves: bool
    act: Callable[[Work], tuple[list[str], dict]]
    plan: Callable[[Work], Plan] | None = None


def preflight(work: Work) -> tuple[list[str], dict]:
    """Check the URDF and its motors."""
    reading = read(work.robot)
    found = list(reading.findings)
    if reading.model is not None:
        motors = Motors.examine(work.dynamics, work.robot.tip or work.model.tip, _POSES, 0)
        found += findings_of_motors(work.model, motors)
    _refuse(found)
    return lines(found), {}


def live(work: Work) -> tuple[list[str], dict]:
    """Check the running arm, before control."""
    result = work.arm.check_live(work.dynamics)
    if result is None:
        return ['simulated time: nothing to check'], {}
    _refuse(result.findings)
    if any(name.rpartition('/')[2] == NODE for name in result.measured['commanders']):
        raise StateError(f'{NODE} runs already: end it, as commissioning starts its own')
    return lines(result.findings), {'rate': result.measured.get('rate_hz')}


def _refuse(found) -> None:
    reasons = [each.text for each in found if each.level == STOP]
    if reasons:
        raise StateError('; '.join(reasons))


def activation(work: Work) -> tuple[list[str], dict]:
    """Start the controller, whose activation check compares efforts with gravity."""
    work.restart()
    loop = work.arm.loop()
    return ['the activation check passed, the controller holds the arm', *loop], {'loop': loop}


def floating(work: Work) -> tuple[list[str], dict]:
    """Float for a moment, and report the drift."""
    work.ensure_started()
    run = work.arm.watch(_FLOAT, floats=True)
    drift = run.position[-1] - run.position[0]
    worst = int(np.argmax(np.abs(drift)))
    name = work.model.joint_names[worst]
    text = [f'in {_FLOAT:g} s it drifted by at most {number(1e3 * abs(drift[worst]))} mrad or mm '
            f'({name})']
    if abs(drift[worst]) > _DRIFT:
        text.append('that is much: the masses, the mounting or the gravity compensation differ '
                    'from the URDF; the identification will measure it')
    return text, {'drift': drift.tolist()}


def small_steps(work: Work) -> tuple[list[str], dict]:
    """Move each joint a little: delay, noise, velocities, stick-slip."""
    work.ensure_started()
    rest = work.arm.watch(_REST)
    model = work.within_ranges(work.dynamics).model
    check_present(work.model, work.ranges, rest.position[-1])
    run = work.arm.execute(step_points(model, rest.reference[-1]))
    save(run, work.model.joint_names, work.folder / 'small_steps.csv')
    found = measure(rest, run)
    names = work.model.joint_names
    rows = [(name, f'{found.resolution[j]:.2g}', f'{found.velocity_noise[j]:.2g}',
             number(found.velocity_ratio[j]), f'{100.0 * found.sticking[j]:.0f}')
            for j, name in enumerate(names)]
    text = [f'a torque acts {number(1e3 * found.delay)} ms after the state it answers, half a '
            f'period included; states come every {number(1e3 * found.period)} ms, at most '
            f'{number(1e3 * found.longest)} ms apart', '',
            *table(('joint', 'resolution', 'velocity noise', 'velocity ratio', 'sticks (%)'),
                   rows), '']
    if found.velocity_lag > _LATE:
        text.append(f'the reported velocities are {number(1e3 * found.velocity_lag)} ms late, '
                    'which lowers the gains: filter them less in the driver')
    if found.longest > _PERIODS * found.period:
        text.append('states come unevenly: give driver and controller a core each')
    bad = [name for name, ratio, part in zip(names, found.velocity_ratio, found.sticking)
           if part < _STICKS and not _CONTRADICTS[0] < ratio < _CONTRADICTS[1]]
    if bad:
        text.append(f'the velocities of {", ".join(bad)} contradict the positions: look at the '
                    'driver')
    stuck = [name for name, part in zip(names, found.sticking) if part > _STICKS]
    if stuck:
        text.append(f'{", ".join(stuck)} stick: dry friction is not compensated yet')
    return text, {key: value.tolist() if isinstance(value, np.ndarray) else value
                  for key, value in found._asdict().items()}


def planned(work: Work, name: str, plan: Callable[[Work], Plan]) -> Plan:
    """Return the motion that was announced for a step, or a new plan."""
    return work.plans.get(name) or plan(work)


def verification(work: Work, plan: Plan, name: str) -> tuple[list[str], dict]:
    """Execute the motion of the comparison, and report the tracking error."""
    run = work.arm.execute(approached(work, plan))
    path = work.folder / f'{name}.csv'
    save(run, work.model.joint_names, path)
    rms = 1e3 * root_mean_square(run, plan.duration)
    text = table(('joint', 'RMS error (mrad|mm)'),
                 [(joint, number(each)) for joint, each in zip(work.model.joint_names, rms)])
    if run.shortfall:
        text.append(f'the goal was not met: {run.shortfall}')
    return text, {'rms': rms.tolist(), 'duration': plan.duration,
                  'shortfall': run.shortfall}


def root_mean_square(run: Run, duration: float) -> np.ndarray:
    """Return the RMS tracking error of each joint during a motion after its approach, (nv,)."""
    return np.sqrt(np.mean(run.last(duration).error ** 2, axis=0))


def before(work: Work) -> tuple[list[str], dict]:
    """Execute the motion of the comparison with the URDF as it is."""
    work.ensure_started()
    return verification(work, planned(work, 'before', compared), 'before')


def excite(work: Work, name: str, velocity: float) -> tuple[list[str], dict]:
    """Execute an excitation within part of the limits."""
    plan = planned(work, name, lambda work: excitation(work, velocity))
    work.ensure_started()
    work.arm.change(work.found())
    run = work.arm.execute(approached(work, plan))
    save(run, work.model.joint_names, work.folder / f'{name}.csv')
    return [f'{plan.duration:g} s, condition number {plan.condition:.3g}; recorded in '
            f'{name}.csv'], {'condition': plan.condition}


def identify(work: Work, excitation: str) -> tuple[list[str], dict]:
    """Identify friction, rotors and masses from an excitation; write the URDF."""
    run = load(work.folder / f'{excitation}.csv', work.model.nv)
    learning = IdentificationStep(work.robot, work.model, work.dynamics, work.friction, work.tick)
    try:
        return learning.identify(run, work.folder)
    except RobodynError as error:
        raise StateError(f'{error}; if the recording is the reason: --repeat {excitation}, with a '
                         'longer --duration, a higher --pace, or more room',
                         **error.evidence) from error


def gains(work: Work) -> tuple[list[str], dict]:
    """Choose the natural frequency by delay, noise and inertia."""
    values = work.values()
    dynamics, nv = work.best_dynamics(), work.model.nv
    done = work.folder.done['steps']
    measures = Measures._make(np.array(done[key]) if isinstance(done[key], list) else done[key]
                              for key in Measures._fields)
    inertia = joint_inertia(dynamics) + np.array(values.get('armature', np.zeros(nv)))
    wn = natural_frequency(measures, inertia, np.array(work.model.effort_limit))
    rows = [(name, number(each)) for name, each in zip(work.model.joint_names, wn)]
    found = {'natural_frequency': np.round(wn, 2).tolist()}
    return [*table(('joint', 'natural frequency (rad/s)'), rows),
            f'for a delay of {number(1e3 * loop_delay(done))} ms'], {'parameters': found}


def after(work: Work) -> tuple[list[str], dict]:
    """
    Start the controller with the result, and repeat the motion of the comparison.

    Once without and once with compensation of unknown torques. The better one is kept.
    """
    work.restart()
    plan, tried = planned(work, 'after', compared), []
    for observed in (False, True):
        choice = {'disturbance_observer': observed}
        work.arm.change(choice)
        name = f'after_{"with" if observed else "without"}_observer'
        tried.append((*verification(work, plan, name), choice))
    _, result, choice = min(tried, key=lambda each: max(each[1]['rms']))
    work.arm.change(choice)
    old = work.folder.done['before']['rms']
    rows = [(name, number(a), *(number(each['rms'][j]) for _, each, _ in tried))
            for j, (name, a) in enumerate(zip(work.model.joint_names, old))]
    text = table(('joint', 'before', 'without', 'with compensation (mrad|mm)'), rows)
    if result['shortfall']:
        text.append(f'the goal was not met: {result["shortfall"]}')
    text.append('unknown torques are ' + (
        'compensated, which is better here' if choice['disturbance_observer'] else
        'not compensated, which is better here; for unknown payloads set disturbance_observer'))
    return text, {**result, 'parameters': choice}


STEPS = (
    Step('preflight', 'Check the URDF: defects, limits, motors against gravity. Nothing moves.',
         False, preflight),
    Step('live', 'Listen to the arm for some seconds: names, rate, stamps, effort at rest, other '
         'commanders. Nothing moves.', False, live),
    Step('activation', 'Start the controller. It compares the effort at rest with the gravity '
         'torque, and then holds the arm where it is: the brakes open, keep a hand on the '
         'emergency stop.', True, activation),
    Step('float', 'Let the arm float for a moment, then hold it: it may sink or rise if the '
         'masses of the URDF are wrong.', True, floating),
    Step('steps', 'Move one joint after the other by 0.05 rad or 0.01 m and back, to measure '
         'delay, noise and stick-slip.', True, small_steps),
    Step('before', 'Move all joints at once for some seconds, to measure the tracking error '
         'before. The workspace must be free.', True, before, compared),
    Step('excite1', 'A slow excitation of all joints. The arm moves in most of its range: clear '
         'the workspace.', True, lambda work: excite(work, 'excite1', 0.2),
         lambda work: excitation(work, 0.2)),
    Step('identify1', 'Identify friction, rotors and masses from it. Nothing moves.', False,
         lambda work: identify(work, 'excite1')),
    Step('excite2', 'A faster excitation, with the friction and rotors that were found.', True,
         lambda work: excite(work, 'excite2', 0.45), lambda work: excitation(work, 0.45)),
    Step('identify2', 'Identify everything again, and validate it on the part of the recording '
         'that is held back. Nothing moves.', False, lambda work: identify(work, 'excite2')),
    Step('gains', 'Choose the gains by the measured delay and noise. Nothing moves.', False,
         gains),
    Step('after', 'Start the controller again with all that was found, and repeat the motion of '
         'the step before, without and with compensation of unknown torques. The present one '
         'holds the arm until the new one is ready, which takes over in some tenths of a second.',
         True, after, compared),
)
