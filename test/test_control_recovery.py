"""An arm beyond its position limits: taken over, and moved inwards only."""

from closed_loop import BENT, FLOATING, Loop, MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import Mode, with_slots
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.settings import PositionLimits
from robodyn_ros.exceptions import ParameterError, StateError, TrajectoryError
from robodyn_ros.model import RobotModel
from robodyn_ros.trajectory import TrajectoryPoint

LIMITS = PositionLimits()
JOINT = 3           # its limits are -2.2 and 2.2 rad
WIDE = {'lower': MODEL.lower - 0.5, 'upper': MODEL.upper + 0.5}  # stops of the simulated arm
NAMES, SLOTTED = MODEL.joint_names, with_slots(MODEL)


def beyond(distance, side=1.0, joint=JOINT):
    """Return a pose with a joint so far beyond its limit."""
    q = BENT.copy()
    q[joint] = (MODEL.upper if side > 0.0 else MODEL.lower)[joint] + side * distance
    return q


def loop_at(q, settings=None, **options):
    """Return a loop around an arm that rests somewhere, maybe beyond its limits."""
    return Loop(SLOTTED, settings, q=q, period=2e-3, **WIDE, **options)


def going(q, *positions, joint=JOINT, seconds=1.0):
    """Return points from rest to rest at some positions of a joint."""
    points, zero = [], np.zeros(7)
    for k, position in enumerate(positions):
        goal = q.copy()
        goal[joint] = position
        points.append(TrajectoryPoint(goal, zero, zero, (), seconds * (k + 1)))
    return points


# --- within the tolerance -----------------------------------------------------------------------

@pytest.mark.parametrize('distance', [1e-7, 2e-6, 1e-4, 4e-3])
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_an_arm_within_the_tolerance_is_held_where_it_is_and_goes_there(distance, side):
    q = beyond(distance, side)
    loop = loop_at(q)
    loop.run(1.0)
    assert np.abs(loop.q - q).max() < 1e-6 and not loop.control.status.recovery
    loop.control.follow(loop.now, NAMES, going(q, q[JOINT]))  # where it is
    loop.run(1.1)
    assert loop.control.status.code == 0 and np.abs(loop.plant.q - q).max() < 1e-6
    loop.follow(BENT, 4.0)
    loop.run(4.1)
    assert loop.control.status.code == 0 and np.abs(loop.plant.q - BENT).max() < 1e-5


def test_a_goal_where_a_push_has_left_the_arm_is_no_goal_beyond_the_limit():
    loop = loop_at(beyond(-1e-3))
    loop.run(0.6)
    push = np.zeros(7)
    push[JOINT] = 8.0
    for _ in range(500):
        loop.send(loop.control.update(loop.now, loop.plant.q, loop.plant.qd) + push)
    place = loop.plant.q.copy()
    assert 1e-5 < place[JOINT] - MODEL.upper[JOINT] < LIMITS.tolerance
    loop.control.follow(loop.now, NAMES, going(place, place[JOINT]))


def test_a_goal_farther_out_is_refused_with_numbers_that_differ():
    loop = loop_at(BENT)
    loop.run(0.6)
    with pytest.raises(TrajectoryError, match='2.200002 is above the upper limit 2.2'):
        loop.control.follow(loop.now, NAMES, going(BENT, 2.200002))
    out = loop_at(beyond(4e-3))
    out.run(0.6)
    with pytest.raises(TrajectoryError, match='position 2.205 is above the upper limit 2.2'):
        out.control.follow(out.now, NAMES, going(beyond(0.0), 2.205))


# --- recovery -----------------------------------------------------------------------------------

@pytest.mark.parametrize('law', TRACKING)
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_an_arm_farther_out_is_held_and_guided_inside(law, side):
    q = beyond(0.05, side)
    loop = loop_at(q, settings_of(mode=law))
    loop.run(1.0)
    assert loop.control.mode is Mode.HOLD
    assert np.abs(loop.plant.q - q).max() < 3e-3
    name = 'upper limit 2.2' if side > 0.0 else 'lower limit -2.2'
    recovery = loop.control.status.recovery
    assert name in recovery and "'joint4'" in recovery
    assert 'mrad' in recovery and 'only inward motion' in recovery
    inside = beyond(-0.05, side)
    loop.control.follow(loop.now, NAMES, going(q, inside[JOINT], seconds=3.0))
    loop.run(3.5)
    assert loop.control.status.code == 0 and not loop.control.status.recovery
    out = side * (loop.q[:, JOINT] - q[JOINT])
    assert out.max() < 1e-4, 'never farther out'
    assert np.abs(loop.column(2)).max() < 2.0 * LIMITS.recovery_speed
    # as always
    loop.follow(BENT, 4.0)
    loop.run(4.5)
    assert np.abs(loop.plant.q - BENT).max() < 1e-2


def test_what_leads_outwards_or_fast_is_refused():
    q = beyond(0.05)
    loop = loop_at(q)
    loop.run(0.6)
    here = loop.control.reference.q[JOINT]
    with pytest.raises(TrajectoryError, match="'joint4'.*2.26 is above the upper limit 2.2"):
        loop.control.follow(loop.now, NAMES, going(q, 2.26))
    with pytest.raises(TrajectoryError, match="'joint4'.*only move inwards.*by hand") as error:
        loop.control.follow(loop.now, NAMES, going(q, 2.22, here - 1e-3, 2.0, seconds=3.0))
    assert error.value.evidence['joint'] == 'joint4' and error.value.evidence['limit'] == 2.2
    with pytest.raises(TrajectoryError, match="'joint4'.*0.1 at most.*stretch the times by"):
        loop.control.follow(loop.now, NAMES, going(q, 2.0))
    with pytest.raises(StateError, match="'joint4' is .* mrad beyond .*a pose is refused"):
        loop.control.motions.reach((0.3, 0.0, 0.5), (0.0, 0.0, 0.0, 1.0))
    # other joints may move, and a part of the way is a way
    other = q.copy()
    other[0] += 0.3
    loop.control.follow(loop.now, NAMES, going(other, 2.22, seconds=2.0))
    loop.run(2.5)
    assert loop.control.status.code == 0 and loop.control.status.recovery
    assert abs(loop.plant.q[JOINT] - 2.22) < 1e-3 and abs(loop.plant.q[0] - other[0]) < 1e-3


@pytest.mark.parametrize('settings', [None, FLOATING], ids=['held', 'floating'])
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_hand_leads_it_inwards_and_not_outwards(settings, side):
    loop = loop_at(beyond(0.05, side), settings)
    loop.run(0.6)
    start = side * loop.plant.q[JOINT]
    push, hand = np.zeros(7), 3.0 if settings is None else 0.3

    def pushed(force, seconds):
        push[JOINT] = side * force
        for _ in range(round(seconds / loop.period)):
            torque = loop.control.update(loop.now, loop.plant.q, loop.plant.qd)
            loop.send(torque + push)

    pushed(hand, 0.5)
    assert side * loop.plant.q[JOINT] < start + 5e-3, 'outwards there is a wall'
    pushed(-hand, 2.0)
    assert side * loop.plant.q[JOINT] < start - 0.04, 'inwards it yields'
    moved = side * loop.plant.q[JOINT]
    loop.run(0.5)
    edge = abs(MODEL.upper[JOINT])
    assert side * loop.plant.q[JOINT] < max(moved, edge) + 1e-3, 'and does not come back'


def test_torque_above_the_gravity_torque_does_not_push_outwards():
    q = beyond(0.05)
    loop = loop_at(q)
    loop.run(0.6)
    lead = q.copy()
    lead[JOINT] -= 0.01
    for _ in range(100):  # what an arm that was pushed inwards reports
        loop.now += loop.period
        torque = loop.control.update(loop.now, lead, np.zeros(7))
        assert torque[JOINT] <= loop.dynamics.gravity(lead)[JOINT] + 1e-9


def test_it_creeps_inwards_at_most_under_a_load_that_is_not_known():
    q = beyond(0.05)
    heavy = MODEL.with_payload('link6', 1.0, (0.0, 0.0, 0.1))
    loop = loop_at(q, plant=heavy)
    loop.run(2.0)
    assert np.abs(loop.column(2)[:, JOINT]).max() < 3.0 * LIMITS.recovery_speed
    assert (loop.q[:, JOINT] < q[JOINT] + 5e-3).all()


def test_silence_and_what_is_found_after_it():
    q = beyond(0.05)
    loop = loop_at(q)
    loop.run(0.6)
    loop.coast(0.1)
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    loop.run(0.6)
    assert loop.control.status.recovery and np.abs(loop.plant.q - q).max() < 2e-3


# --- what is not taken over ---------------------------------------------------------------------

def test_an_arm_too_far_out_is_refused_with_the_numbers():
    for settings, distance, words in (
            (None, 0.25, r'2.4500, 0.25 rad beyond its upper limit 2.2, more than the 0.2'),
            (settings_of(position_limits__recovery=0.0), 0.02,
             r'2.2200, 20 mrad beyond its upper limit 2.2, more than the 0.01 of '
             'position_limits.tolerance')):
        with pytest.raises(StateError, match=f"'joint4' stands at {words}.*encoder"):
            loop_at(beyond(distance), settings)


def test_an_arm_that_moves_out_there_is_refused():
    with pytest.raises(StateError, match="'joint4' stands at .* and moves at 0.2"):
        loop_at(beyond(0.05), qd=[0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0])


@pytest.mark.parametrize('name, value', [
    ('tolerance', -1.0), ('recovery', np.inf), ('recovery', np.nan), ('recovery_speed', 0.0)])
def test_settings_that_make_no_sense_are_refused(name, value):
    with pytest.raises(ParameterError, match=f"position_limits.{name}' is"):
        PositionLimits(**{name: value})


SLIDE = """<robot name="slide"><link name="base"/>
<link name="rail"><inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0"
 izz="0.1"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="rail"/><axis xyz="0 0 1"/>
<limit lower="0" upper="0.5" effort="100" velocity="1"/></joint>
<link name="disc"><inertial><origin xyz="0.1 0 0"/><mass value="1"/><inertia ixx="0.1" ixy="0"
 ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="turn" type="continuous"><parent link="rail"/><child link="disc"/><axis xyz="1 0 0"/>
<limit effort="20" velocity="2"/></joint></robot>"""


def test_prismatic_joints_are_reported_in_millimetres_and_joints_without_limits_have_no_walls():
    q = np.array([0.53, 4.0])
    loop = Loop(RobotModel.from_urdf(SLIDE), q=q, period=2e-3, lower=[-1.0, -np.inf],
                upper=[2.0, np.inf])
    loop.run(1.0)
    assert np.abs(loop.plant.q - q).max() < 1e-6
    assert "'slide' is 30 mm beyond its upper limit 0.5;" in loop.control.status.recovery
    assert "'turn'" not in loop.control.status.recovery
    walls = loop.control.host.memory.walls
    assert walls.lower[1] == -np.inf and walls.upper[1] == np.inf
    zero = np.zeros(2)
    loop.control.follow(loop.now, ('slide', 'turn'), [
        TrajectoryPoint([0.4, 5.0], zero, zero, (), 3.0)])
    loop.run(3.5)
    assert loop.control.status.code == 0 and not loop.control.status.recovery
    assert np.abs(loop.plant.q - [0.4, 5.0]).max() < 1e-5
