"""Requests of scripts by name: functions of host, time (s) and plain data."""

import numpy as np
from robodyn_ros.control import LinearCommand
from robodyn_ros.model import Payload
from robodyn_ros.trajectory import TrajectoryPoint


def _points(points):
    return [TrajectoryPoint(**each) for each in points]


def follow(host, now, points, names=None, start_delay=0.0):
    """Follow a trajectory."""
    return host.controller.follow(now, names or host.names, _points(points), start_delay)


def plan(host, now, points, lead, names=None):
    """Plan a trajectory that begins in `lead` seconds, see `begin`."""
    start_state = host.controller.motions.start_state(lead)
    host.planned = start_state, host.controller.motions.plan(start_state, names or host.names,
                                                             _points(points))


def begin(host, now):
    """Follow the planned trajectory."""
    return host.controller.motions.begin(*host.planned)


def reach(host, now, position, quaternion):
    """Bring the link to a pose."""
    host.controller.motions.reach(position, quaternion)


def gains(host, now, **design):
    """Use other gains."""
    host.change('gains', design)


def task_gains(host, now, **design):
    """Use other Cartesian gains."""
    host.change('task_gains', design)


def bounds(host, now, **settings):
    """Use other settings."""
    host.change('settings', settings)


def payload(host, now, link, mass, com=(0.0, 0.0, 0.0), inertia=0.0):
    """Set a payload with equal moments of inertia about all axes (kg m^2)."""
    host.controller.load_changes.set_payload(
        Payload(link, mass, np.array(com), inertia * np.eye(3)))


def keep_learned(host, now):
    """Set the estimated payload as the known one."""
    host.controller.load_changes.set_payload(host.controller.adaptation.payload)


def linear(host, now, feedforward, position, velocity, gain):
    """Send linear feedback."""
    host.controller.inputs.take_linear_feedback(now, LinearCommand(*map(np.array, (
        feedforward, position, velocity, gain))))


def check_effort(host, now, q, qd, effort, driver_compensates_gravity=False):
    """Compare the effort of the resting arm with its gravity torque."""
    return host.controller.activation.check_effort(*map(np.array, (q, qd, effort)),
                                                   driver_compensates_gravity)


def check_state(host, now, q, qd):
    """Check a state for activation."""
    host.controller.activation.check_state(np.array(q), np.array(qd))


REQUESTS = {
    **{each.__name__: each for each in (
        follow, plan, begin, reach, gains, task_gains, bounds, payload, keep_learned, linear,
        check_effort, check_state)},
    'hold': lambda host, now: host.controller.requests.hold(),
    'float': lambda host, now: host.controller.requests.compensate_gravity(),
    'stop': lambda host, now: host.controller.requests.stop('stop was requested'),
    'cancel': lambda host, now: host.controller.requests.rest('the goal is cancelled'),
    'fail': lambda host, now, fault: host.controller.requests.fail(fault),
    'mode': lambda host, now, mode: host.controller.changes.enter(mode),
    'reset_fault': lambda host, now: host.controller.reset_fault(),
    'deactivate': lambda host, now: host.controller.activation.deactivate(),
    'start_from': lambda host, now, torque: host.controller.requests.start_from(np.array(torque)),
    'gravity': lambda host, now, gravity: host.controller.load_changes.set_gravity(gravity),
    'wrench': lambda host, now, link, wrench: host.controller.inputs.apply_wrench(
        now, link, wrench),
    'press': lambda host, now, link, wrench: host.controller.inputs.press(now, link, wrench),
    'reflect': lambda host, now, torque: host.controller.inputs.reflect(now, torque),
}
