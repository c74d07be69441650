"""
Replay a demonstration of `robodyn teach` with a running controller.

The recorded path is smoothed and timed within the limits of velocity, acceleration and torque of
the model: as it was recorded, or with --fastest as fast as they permit. The arm first moves slowly
to the start of the path, in a straight line of the joints; the workspace must be free.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.cli.options import (
    add_consent_arguments, add_enclave_argument, add_namespace_argument, add_robot_arguments,
    between, check_consent, robot_of, whole_number)
from robodyn_ros.cli.terminal import agreed, Steps
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.files import check_writable, read_parameters
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.model.units import joint_slides
from robodyn_ros.nodes.bag import check_bag, write_bag
from robodyn_ros.safety import checked_effort_limits
from robodyn_ros.teaching import (
    Demonstration, JointLimits, Path as JointPath, recorded_timing, time_optimal, TimedPath)
from robodyn_ros.teaching.smoothing import smoothed
from robodyn_ros.text import number, table
from robodyn_ros.trajectory import least_duration, unwrap_continuous
from robodyn_ros.trajectory.message_text import trajectory_message

EXAMPLES = """examples:
  robodyn replay pick arm.urdf
  robodyn replay pick arm.urdf --speed 0.5
  robodyn replay pick arm.urdf --fastest --effort 0.6
  robodyn replay pick arm.urdf --fastest --plan --output fast.yaml       without a controller
  robodyn replay pick arm.urdf --plan --lerobot data/pick --task 'pick the cube'

exit codes: 0 replayed, or planned with --plan; 1 refused by the user; 2 invalid input, or the
            controller refused or stopped the motion
"""
REFUSED = 1
_LENGTH = 5.0  # rad/m, of prismatic joints in the length of a path
_INSIDE = 1e-3  # rad or m, that a path keeps from the position limits
_BEYOND = 0.1   # rad or m, that an arm may have been guided beyond them
_LEAST = 1.0    # s, shortest approach
_HERE = 2e-3    # rad or m, distance from the start without an approach
_LEAD = 0.1     # s until the replay starts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add('name', type=Path, metavar='NAME', help='folder of the demonstration')
    add_robot_arguments(parser)
    add('--speed', type=between(0.01, 10.0), default=1.0, metavar='FACTOR',
        help='factor of the recorded speed; slower where the limits require it (default 1)')
    add('--fastest', action='store_true', help='time-optimal, needs the library toppra')
    add('--waypoints', action='store_true',
        help='with --fastest: through the marked waypoints instead of the recorded path')
    add('--smoothing', type=between(0.01, 1.0), default=0.08, metavar='SECONDS',
        help='width of the filter against tremor (default 0.08)')
    add_limit_arguments(parser)
    add('--approach-speed', type=between(0.01, 1.0), default=0.1, metavar='PART',
        help='part of the velocity limits on the way to the start (default 0.1)')
    add_consent_arguments(parser)
    add('--plan', action='store_true', help='only plan and write files; needs no controller')
    add('--gripper', default='', metavar='TOPIC',
        help='publish the recorded positions of the gripper on this topic (JointState)')
    add('--output', type=Path, metavar='FILE', help='write the trajectory (JointTrajectory YAML)')
    add('--bag', type=Path, metavar='DIR', help='record a bag in this new folder (MCAP)')
    add('--lerobot', type=Path, metavar='DIR',
        help='write the demonstration as a LeRobot data set; needs the library lerobot')
    add('--task', default='', metavar='TEXT', help='with --lerobot: description of the task')
    add('--fps', type=whole_number, default=30, metavar='N',
        help='with --lerobot: frames per second (default 30)')
    add_namespace_argument(parser)
    add_enclave_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Plan, write and replay; return 0, or `REFUSED`."""
    check_consent(options)
    if options.waypoints and not options.fastest:
        raise RobodynError('--waypoints have no timing of their own: add --fastest')
    check_writable(options.output)
    steps = Steps()
    with steps('load') as step:
        demonstration = Demonstration.read(options.name)
        dynamics = Dynamics(robot_of(options).load())
        model = dynamics.model
        positions = _inside(model, demonstration.in_order(model.joint_names, str(options.name)))
        limits = joint_limits(options, model)
        step.result = f'{demonstration.times[-1]:.1f} s, {model.name}'
    if options.lerobot:
        from robodyn_ros.teaching.lerobot import export
        count = export(options.lerobot, demonstration, model.name,
                       options.task or options.name.name, options.fps)
        steps.write_line(f'written: {options.lerobot}: {count} frames')
    with steps('plan') as step:
        timed = plan(options, demonstration, positions, dynamics, limits)
        step.result = f'{timed.duration:.2f} s'
    for line in ('', *report(dynamics, limits, timed)):
        steps.write_line(line)
    if options.output:
        options.output.write_text(trajectory_message(
            model.joint_names, timed.times, timed.positions, timed.velocities,
            timed.accelerations), encoding='utf-8')
        steps.write_line(f'written: {options.output}')
    if options.plan:
        return 0
    return 0 if replay(options, steps, model, demonstration, timed) else REFUSED


def _inside(model, positions: NDArray) -> NDArray:
    """Return positions within the limits, beyond which an arm can be guided a little."""
    away = np.maximum(model.lower - positions, positions - model.upper)
    k, j = np.unravel_index(np.argmax(away), away.shape)
    if away[k, j] > _BEYOND:
        limit = model.upper[j] if positions[k, j] > model.upper[j] else model.lower[j]
        raise RobodynError(
            f"joint '{model.joint_names[j]}' was recorded at {positions[k, j]:.4g}, beyond its "
            f'limit {limit:.4g}: use the URDF of the arm that was taught, with positions in rad '
            'and m', joint=model.joint_names[j], value=float(positions[k, j]), limit=float(limit))
    room = model.upper - model.lower
    inside = np.minimum(_INSIDE, 0.5 * np.where(np.isfinite(room), room, 1.0))
    return np.clip(positions, model.lower + inside, model.upper - inside)


def plan(options: argparse.Namespace, demonstration: Demonstration, positions: NDArray,
         dynamics: Dynamics, limits: JointLimits) -> TimedPath:
    """Return the timed path; positions: (n, nv) in model order."""
    times = demonstration.times
    if not options.fastest:
        return recorded_timing(times, positions, dynamics, limits, options.speed,
                               options.smoothing)
    if options.waypoints:
        if len(demonstration.waypoints) < 2:
            raise RobodynError(f'{options.name} has {len(demonstration.waypoints)} waypoints, '
                               'and a path needs two: mark them with Enter while teaching')
        times = demonstration.waypoints
        rows = np.column_stack([np.interp(times, demonstration.times, each)
                                for each in positions.T])
    else:
        times, rows = smoothed(times, positions, options.smoothing)[:2]
    path = JointPath(rows, np.where(joint_slides(dynamics.model), _LENGTH, 1.0))
    timed = time_optimal(path, dynamics, limits)
    return replace(timed, recorded=np.interp(timed.recorded, path.places, times[path.knots]))


def report(dynamics: Dynamics, limits: JointLimits, timed: TimedPath) -> list[str]:
    """Return the table of the joints, and the durations."""
    use: Any = timed.use(dynamics, limits)
    rows = [(name, *(number(100.0 * each[j]) for each in use))
            for j, name in enumerate(dynamics.model.joint_names)]
    heads = ('joint', 'velocity (%)', 'acceleration (%)', 'torque (%)')
    recorded = timed.recorded[-1] - timed.recorded[0]
    return [*table(heads, rows), '',
            f'of the usable limits; {timed.duration:.2f} s, recorded in {recorded:.2f} s']


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    for name, default in (('velocity', 0.9), ('effort', 0.8)):
        add(f'--{name}', type=between(0.01, 1.0), default=default, metavar='PART',
            help=f'part of the {name} limits to use (default {default:g})')
    add('--acceleration', type=between(0.01, 1e6), default=10.0, metavar='LIMIT',
        help='acceleration limit, rad/s^2 or m/s^2 (default 10)')
    add('--params', type=Path, metavar='FILE',
        help='parameters of the controller (YAML), for friction and rotors in place of the URDF')


def joint_limits(options: argparse.Namespace, model: RobotModel) -> JointLimits:
    """
    Return the limits; friction and rotors of `--params`, else of the URDF.

    Raises
    ------
    ParameterError
        A joint has no effort limit, or the file is not one of parameters.

    """
    effort = checked_effort_limits(model.joint_names, model.effort_limit, model.effort_limit)
    given = read_parameters(options.params) if options.params else {}
    return JointLimits(
        options.velocity * model.velocity_limit, np.full(model.nv, options.acceleration),
        options.effort * effort, _each(given, 'friction.viscous', model, model.damping),
        _each(given, 'friction.coulomb', model, model.friction),
        _each(given, 'armature', model, np.zeros(model.nv)))


def _each(given: dict[str, object], name: str, model: RobotModel, default: NDArray) -> NDArray:
    """Return the values of a parameter of the joints, (nv,)."""
    try:
        values = np.array(given.get(name, ()), dtype=float)
        values = np.broadcast_to(values if values.size else default, (model.nv,))
    except (ValueError, TypeError) as error:
        raise ParameterError(f'parameter {name} does not have one number for each of the '
                             f'{model.nv} joints', parameter=name) from error
    for joint, value in zip(model.joint_names, values):
        if not 0.0 <= value < np.inf:
            raise ParameterError(f"parameter {name} of joint '{joint}' is {value}: it must be a "
                                 'finite number, 0 or more', parameter=name, joint=joint)
    return values.copy()


def replay(options: argparse.Namespace, steps: Steps, model: RobotModel,
           demonstration: Demonstration, timed: TimedPath) -> bool:
    """Move to the start and replay; return False if the user does not agree."""
    from robodyn_ros.client.demonstrations import Gripper  # needs ROS
    from robodyn_ros.client.sender import Sender

    if options.bag:
        check_bag(options.bag)
    gripper = Gripper(options.gripper, demonstration, timed, _LEAD)

    def tick() -> None:
        steps.tick()
        gripper.update()

    with Sender(model, bool(options.bag), tick, options.enclave, options.namespace) as sender:
        recorder = sender.recorder
        with steps('find the controller'):
            sender.wait_for_controller()
            gripper.connect(recorder)
        here = recorder.references.newest(model.joint_names).position[0]
        positions = unwrap_continuous(timed.positions, here, model.continuous)
        points = approach(model, here, positions[0], options.approach_speed)
        if not (options.yes or agreed(_question(points, timed))):
            return False
        try:
            if points is not None:
                with steps('move to the start') as step:
                    sender.execute(points)
                    step.result = f'{points[0][-1]:.1f} s'
            with steps('replay') as step:
                sender.restart()
                gripper.begin()
                shortfall = sender.execute(_rows(timed, positions))
                step.result = f'{timed.duration:.2f} s'
            if shortfall:
                steps.write_line(f'the arm does not meet its goal tolerance: {shortfall}')
        except KeyboardInterrupt:
            recorder.call('hold')
            raise
        finally:
            if options.bag and sender.moved:
                write_bag(options.bag, sender.recorded)
    return True


def approach(model: RobotModel, here: NDArray, start: NDArray, part: float
             ) -> tuple[NDArray, ...] | None:
    """Return the points of a motion to the start, at a part of the velocity limits, or None."""
    away = np.abs(start - here)
    if away.max() < _HERE:
        return None
    lasts = max(_LEAST, least_duration(speeds(model), away, part))
    zero = np.zeros((1, model.nv))
    return np.array([lasts]), start[None], zero, zero


def _question(points: tuple[NDArray, ...] | None, timed: TimedPath) -> str:
    way = (f'The arm moves to the start in {points[0][-1]:.1f} s, then replays'
           if points is not None else 'The arm replays')
    return f'{way} {timed.duration:.1f} s. Is its workspace free?'


def _rows(timed: TimedPath, positions: NDArray) -> tuple[NDArray, ...]:
    """Return times, positions, velocities and accelerations of a message."""
    velocities, times = timed.velocities.copy(), _LEAD + timed.times
    velocities[[0, -1]] = 0.0
    if timed.accelerations is None:
        return times, positions, velocities, np.gradient(velocities, times, axis=0)
    return times, positions, velocities, timed.accelerations
