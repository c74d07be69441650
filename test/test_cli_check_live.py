"""`robodyn check --live`: invented joint states, and a simulator in a process of its own."""
import json
import threading

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='--live needs ROS 2')

from controller_node import ARM, COMMANDS, HOME, MODEL, simulator  # noqa: E402
from ros_process import Probe  # noqa: E402

from robodyn_ros.cli.main import FAILURE, main, SUCCESS  # noqa: E402
from robodyn_ros.client.live_check import Seen, SeenState  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.inspection.finding import lines  # noqa: E402
from robodyn_ros.inspection.live import judge  # noqa: E402

DYNAMICS = Dynamics(MODEL)
GRAVITY = DYNAMICS.gravity(HOME)
NAMES = tuple(MODEL.joint_names)


def state(k, names=NAMES, position=HOME, velocity=0.0 * HOME, effort=GRAVITY, rate=500.0):
    """Return the k-th message of an arm at rest."""
    time = 1000.0 + k / rate
    return SeenState(time, time, time, names, *(np.array(row, dtype=float) for row in (
        position, velocity, effort)))


def seen(messages, **changes):
    """Return what is seen of an arm that is as it should be, but for some changes."""
    usual = Seen('/joint_states', messages, ('/driver',), (), '/effort_controller/commands', (),
                 (), ('/driver',), '/effort_controller', None, None)
    return usual._replace(**changes)


def found(messages, **changes):
    """Return the texts by (level, kind)."""
    result = judge(DYNAMICS, seen(messages, **changes))
    return {(each.level, each.kind): each.text for each in result.findings}


def states(**changes):
    return [state(k, **changes) for k in range(50)]


def stops(texts):
    return {kind: text for (level, kind), text in texts.items() if level == 'stop'}


# --- invented joint states ---------------------------------------------------------------------

def test_an_arm_as_it_should_be():
    texts = found(states())
    assert {level for level, _ in texts} == {'note'}
    assert '500 Hz' in texts['note', 'rate']
    assert 'agrees with the gravity torque' in texts['note', 'effort']


def test_silence_is_explained():
    assert 'no publisher' in stops(found([], publishers=()))['joint_states']
    assert '/arm/joint_states' in stops(found([], publishers=(), elsewhere=(
        '/arm/joint_states',)))['joint_states']
    assert 'publishers are /driver' in stops(found([]))['joint_states']


def test_missing_joints_are_all_named():
    partial = [state(k, NAMES[2:], HOME[2:], 0 * HOME[2:], GRAVITY[2:]) for k in range(50)]
    text = stops(found(partial))['joint_states']
    assert "'joint1', 'joint2'; reported are 'joint3'" in text


def test_another_order_and_additional_joints_are_accepted():
    order = [*range(6, -1, -1)]
    turned = [state(k, (*np.array(NAMES)[order], 'wheel'), [*HOME[order], 1.0], [0.0] * 8,
                    [*GRAVITY[order], 0.0]) for k in range(50)]
    result = judge(DYNAMICS, seen(turned))
    assert {each.level for each in result.findings} == {'note'}
    text = '\n'.join(each.text for each in result.findings)
    assert "'wheel'" in text and 'joint7, joint6' in text
    np.testing.assert_allclose(result.measured['effort'], GRAVITY)


def test_joints_in_two_messages_are_one_arm():
    halves = [state(k, NAMES[part], HOME[part], 0 * HOME[part], GRAVITY[part])
              for k in range(50) for part in (slice(0, 3), slice(3, 7))]
    texts = found(halves)
    assert not stops(texts) and 'agrees with the gravity torque' in texts['note', 'effort']


def test_numbers_that_are_none_are_counted():
    bad = HOME.copy()
    bad[3] = np.nan
    text = stops(found([*states(), state(50, position=bad)]))['joint_states']
    assert 'position' in text and 'joint4 (1 of 51)' in text
    text = found(states(velocity=[]))['warning', 'joint_states']
    assert 'velocity' in text and 'joint7 (50 of 50)' in text
    assert 'agrees with the gravity torque' in found(states(velocity=[]))['note', 'effort']


@pytest.mark.parametrize('effort, level, words', [
    (-GRAVITY, 'stop', 'sign of all efforts is flipped'), (2.0 * GRAVITY, 'stop', 'twice'),
    (0.0 * GRAVITY, 'stop', 'driver_compensates_gravity'), ([], 'warning', 'no effort'),
    ([], 'note', 'could not be compared')])
def test_effort_at_rest_is_compared_with_the_gravity_torque(effort, level, words):
    assert words in found(states(effort=effort))[level, 'effort']


def test_a_driver_that_compensates_gravity_may_report_nothing():
    result = judge(DYNAMICS, seen(states(effort=0.0 * GRAVITY)), driver_compensates_gravity=True)
    assert not [each for each in result.findings if each.level == 'stop']


@pytest.mark.parametrize('rate, level, words', [
    (10.0, 'stop', '10.0 Hz'), (60.0, 'warning', '60.0 Hz'), (1000.0, 'note', '1000 Hz')])
def test_the_rate_is_judged(rate, level, words):
    assert words in found(states(rate=rate))[level, 'rate']


def test_gaps_and_stamps_are_judged():
    late = [*states(), state(150)]
    assert '202 ms' in found(late)['warning', 'rate']
    frozen = [each._replace(stamp=1000.0) for each in states()]
    assert 'frozen' in stops(found(frozen))['stamps']
    skewed = [each._replace(stamp=each.stamp - 9.0) for each in states()]
    assert 'behind the clock' in stops(found(skewed))['stamps']
    assert not stops(found([each._replace(stamp=0.0) for each in states()]))


def test_simulated_time_is_no_late_stamp():
    simulated = [each._replace(stamp=each.stamp - 990.0) for each in states()]
    texts = found(simulated, simulated=True)
    assert not stops(texts) and 'lockstep or use_sim_time' in texts['note', 'stamps']
    assert ('note', 'stamps') not in found(states(), simulated=True)
    unstamped = [each._replace(stamp=0.0) for each in states()]
    assert ('note', 'stamps') not in found(unstamped, simulated=True)
    frozen = [each._replace(stamp=10.0) for each in states()]
    assert 'frozen' in stops(found(frozen, simulated=True))['stamps']


def test_names_in_messages_cannot_write_to_the_terminal():
    forged = [state(k, names=(*NAMES[1:], "x'\n\x1b[2J" + 'y' * 50_000)) for k in range(5)]
    result = judge(DYNAMICS, seen(forged))
    printed = lines(result.findings)
    assert any(r'\n\x1b[2J' in line for line in printed)
    assert all(line.isprintable() for line in printed) and sum(map(len, printed)) < 50_000


def test_an_arm_outside_its_limits():
    outside = HOME.copy()
    outside[1] = 2.5
    assert "'joint2' stands at 2.5" in stops(found(states(position=outside)))['state']
    outside[1] = 2.05
    printed = found(states(position=outside))
    assert "'joint2' is 50 mrad beyond its upper limit 2; recovery" in printed['warning', 'state']
    assert 'state' not in stops(printed)


def test_who_commands_the_arm():
    own = '/computed_torque_controller'
    assert not stops(found(states(), commanders=(own,)))
    assert '/other' in stops(found(states(), commanders=('/other',)))['commands']
    assert 'stop /other' in stops(found(states(), commanders=(own, '/other')))['commands']
    assert 'all but one' in stops(found(states(), commanders=(own, own)))['commands']


def test_a_guard_beside_the_controller_is_no_rival():
    own, guard = '/computed_torque_controller', '/guard'
    for commanders in ((guard,), (own, guard)):
        printed = found(states(), commanders=commanders, guards=(guard,))
        assert not stops(printed) and 'a guard publishes' in printed['note', 'commands']
    both = stops(found(states(), commanders=(guard, '/other'), guards=(guard,)))
    assert 'stop /other' in both['commands']
    # a topic with that name alone is not evidence
    assert 'stop /guard' in stops(found(states(), commanders=(own, guard)))['commands']
    assert 'no subscriber' in found(states(), listeners=())['warning', 'commands']


@pytest.mark.parametrize('parameters, words', [
    ({'joints': NAMES[::-1]}, 'set the parameter command_joints to [joint7, joint6'),
    ({'joints': NAMES[1:]}, "the model has 'joint1'"),
    ({'joints': NAMES, 'interface_name': 'position'}, "interface 'position'")])
def test_the_effort_controller_must_fit(parameters, words):
    assert words in stops(found(states(), parameters=parameters))['commands']


def test_an_order_that_the_controller_has_is_accepted():
    assert not stops(found(states(), parameters={'joints': NAMES[::-1]},
                           command_joints=NAMES[::-1]))


# --- a simulator in its own process ------------------------------------------------------------

@pytest.fixture(scope='module')
def arm():
    with simulator() as process:
        process.wait_for_output('held by brakes')
        yield process


def look(capsys, *options):
    """Check the running arm; return exit code, and the document."""
    code = main(['check', str(ARM), '--live', '--json', '--poses', '50', '--listen', '1',
                 *options])
    return code, json.loads(capsys.readouterr().out)


def texts_of(document, level):
    return '\n'.join(each['text'] for each in document['findings'] if each['level'] == level)


def test_a_simulated_arm_passes(arm, capsys):
    code, document = look(capsys)
    assert code == SUCCESS, document['findings']
    live = document['live']
    assert live['rate_hz'] > 20.0 and live['messages'] > 20, 'they depend on the machine'
    assert live['joint_states'] == '/joint_states' and live['listeners'] == ['/robot_simulator']
    np.testing.assert_allclose(live['position'], HOME, atol=1e-3)
    np.testing.assert_allclose(live['effort'], GRAVITY, atol=0.05)
    assert 'agrees with the gravity torque' in texts_of(document, 'note')


def test_a_topic_without_an_arm_names_the_one_with(arm, capsys):
    code, document = look(capsys, '--joint-states', 'nowhere', '--timeout', '2')
    assert code == FAILURE
    assert '/joint_states' in texts_of(document, 'stop')
    code, document = look(capsys, '--namespace', 'left', '--timeout', '2')
    assert document['live']['joint_states'] == '/left/joint_states'
    assert code == FAILURE and ' /joint_states' in texts_of(document, 'stop')


def test_another_commander_and_an_effort_controller_in_another_order(arm, capsys):
    from std_msgs.msg import Float64MultiArray
    with Probe('effort_controller') as probe:
        probe.node.declare_parameter('joints', list(NAMES[::-1]))
        publisher = probe.node.create_publisher(Float64MultiArray, COMMANDS, 1)
        probe.until(publisher.get_subscription_count, 'the simulator')
        done = threading.Event()

        def answer():
            while not done.is_set():
                probe.spin()

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            code, document = look(capsys, '--listen', '3')
        finally:
            done.set()
            thread.join()
    assert code == FAILURE
    stop = texts_of(document, 'stop')
    assert '/effort_controller publish' in stop
    assert 'command_joints to [joint7' in stop
    assert document['live']['effort_controller']['joints'] == list(NAMES[::-1])
