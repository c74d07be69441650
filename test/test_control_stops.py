"""Stops in the middle of a fast motion, whatever causes them: how hard, and what stays."""

from closed_loop import arm, MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import Mode
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import StateError
from robodyn_ros.trajectory import ResultCode

DRIFT = 5e-3  # rad
LARGEST = 1.5 * MODEL.velocity_limit / settings_of().stop_time


def cancel(loop):
    loop.control.requests.stop('the goal is cancelled')
    loop.settle()


def violate(loop):
    # something holds the forearm back until the tolerance of the path is broken
    while loop.control.mode is Mode.TRACK:
        loop.plant.push('link4', [0.0, 0.0, 400.0, 0.0, 0.0, 0.0])
        loop.cycle()
    loop.plant.push('link4', None)
    assert loop.control.status.code is ResultCode.PATH_TOLERANCE_VIOLATED
    loop.settle()


def silence(loop):
    loop.coast(0.04)
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    loop.settle()


def silence_for_good(loop):
    loop.coast(0.25)
    loop.control.requests.fail('silent')
    loop.coast(0.3)


def fault(loop):
    loop.control.requests.fail('odd')
    loop.settle()


def leave(loop):
    loop.control.requests.stop('the controller leaves')
    loop.settle()
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    loop.coast(0.3)
    resting_torque = loop.control.gravity_torque()
    loop.control.activation.deactivate()
    loop.send(resting_torque)


def remain(loop, cause):
    """Let a second pass after a stop, as it does after this cause."""
    if cause is leave:  # the process has ended, the last torque stays
        for _ in range(1000):
            loop.send(loop.torque)
    elif cause is silence_for_good:
        loop.coast(1.0)
    else:
        loop.run(1.0)


# an arm that stands upright without friction, and is not seen, falls sooner or later
BLIND = [(silence_for_good, True), (leave, True)]
SEEN = [(cause, friction) for cause in (cancel, violate, silence, fault)
        for friction in (False, True)]


@pytest.mark.parametrize('cause, friction', SEEN + BLIND)
def test_a_stop_at_speed_is_within_limits_and_stays_where_it_ends(cause, friction):
    settings = settings_of(constraints__trajectory=0.1 if cause is violate else 0.0)
    loop = arm(friction=friction, settings=settings)
    loop.moving(share=0.8)
    speed, begin = np.abs(loop.plant.qd).max(), len(loop.log)
    assert speed > 0.6 * MODEL.velocity_limit.min()
    cause(loop)
    assert loop.control.mode in (Mode.HOLD, Mode.INACTIVE)
    reference_rate = np.abs(np.diff(loop.column(4)[begin:], axis=0)) / loop.period
    if cause is silence:  # where states return, the reference starts anew from the measured state
        reference_rate = reference_rate[45:]
    elif cause is violate:  # as it does where the arm is too far from it, in one cycle
        reference_rate = np.delete(reference_rate, reference_rate.max(axis=1).argmax(), axis=0)
    assert np.all(reference_rate <= LARGEST * 1.01)
    rest = loop.plant.q.copy()
    assert np.all((loop.q > MODEL.lower) & (loop.q < MODEL.upper))
    remain(loop, cause)
    drift = np.abs(loop.plant.q - rest).max()
    assert drift < DRIFT
    # nothing ever lets the arm go
    assert np.abs(loop.torques[begin:]).max(axis=1).min() > 0.1
    assert np.all(np.abs(loop.torques) <= MODEL.effort_limit)
    np.testing.assert_allclose(loop.torque, Dynamics(MODEL).gravity(loop.plant.q), atol=1.0)
    assert loop.largest_change <= 1.0 + 1e-9


@pytest.mark.parametrize('speed', [5.0, -50.0, 1e5])
@pytest.mark.parametrize('found', ['resumed', 'released'])
def test_an_outlier_of_a_measured_velocity_leads_the_arm_nowhere(found, speed):
    """A driver that is started anew may divide by no time at all in its first velocity."""
    loop = arm()
    loop.run(1.0)
    if found == 'released':
        loop.control.requests.compensate_gravity()
        loop.run(0.3)
    place, qd = loop.plant.q.copy(), loop.plant.qd.copy()
    qd[0] = speed
    if found == 'released':
        loop.send(loop.control.update(loop.now, loop.plant.q, qd))
        loop.control.requests.hold()
    else:
        loop.control.activation.resume(loop.now, loop.plant.q, qd)
    begin = len(loop.log)
    loop.run(1.0)
    assert loop.control.mode is Mode.HOLD
    # the brake of a joint that floats acts on the outlier, and fades
    assert np.abs(loop.q[begin:] - place).max() < (0.3 if found == 'released' else 0.02)


@pytest.mark.parametrize('speed', [1.9, -50.0])
def test_an_arm_that_is_too_fast_is_not_taken_over(speed):
    loop = arm()
    qd = loop.plant.qd.copy()
    qd[0] = speed
    with pytest.raises(StateError, match=f"refused: joint 'joint1' moves at {speed:g} .* 1.8"):
        loop.control.activate(loop.now, loop.plant.q, qd)
    qd[0] = 1.7
    loop.control.activate(loop.now, loop.plant.q, qd)


def test_a_fault_is_not_reset_while_the_arm_is_too_fast():
    loop = arm()
    loop.run(0.5)
    loop.control.requests.fail('a fault')
    loop.plant.qd[1] = 2.0
    loop.send(loop.control.update(loop.now, loop.plant.q, loop.plant.qd))
    with pytest.raises(StateError, match="fault is refused: joint 'joint2' moves at 2 .* 1.8"):
        loop.control.reset_fault()
    assert loop.control.fault == 'a fault'
    loop.run(1.0)
    loop.control.reset_fault()
    assert not loop.control.fault
