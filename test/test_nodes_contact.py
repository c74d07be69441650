"""A push against the simulated arm, over topics: reports and reactions of the controller."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, HOME, logged, MODEL, NODE, PATIENT, RELEASED, SIMULATOR)
from design import settings_of  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import ParameterError  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

TIP = 'tool0'
SMALL, HARD = np.array([6.0, -4.0, 3.0]), np.array([0.0, 60.0, 0.0])


class Hand:
    """Pushes the tip with a force in base axes, until it pushes otherwise."""

    def __init__(self, probe):
        self._publisher = probe.publisher(WrenchStamped, 'robot_simulator/wrench')
        self._turned = Dynamics(MODEL).forward_kinematics(HOME, TIP)[:3, :3].T

    def push(self, force):
        message = WrenchStamped()
        message.header.frame_id = TIP
        vector = message.wrench.force
        vector.x, vector.y, vector.z = (self._turned @ force).tolist()
        self._publisher.publish(message)


def force_of(message):
    vector = message.wrench.force
    return np.array([vector.x, vector.y, vector.z])


def figures(arrays):
    """Return the newest diagnostics of the controller."""
    for array in reversed(arrays):
        for status in array.status:
            if status.name.endswith('controller'):
                return {pair.key: pair.value for pair in status.values}
    return {}


def test_the_torque_of_the_motors_must_not_be_ambiguous():
    settings_of(driver_compensates_gravity=True)
    with pytest.raises(ParameterError, match='measured does not go with driver_compensates_grav'):
        settings_of(driver_compensates_gravity=True, observer__torque_source='measured')


def test_a_push_is_reported_and_a_hard_one_stops_the_arm():
    expected = Dynamics(MODEL).jacobian(HOME, TIP)[:3].T @ SMALL
    rotors = (2e-3 * MODEL.effort_limit).tolist()
    parameters = {'urdf_file': str(ARM), 'armature': rotors,
                  'collision.threshold': (0.1 * MODEL.effort_limit).tolist(), **PATIENT}
    places = [f'{name}:{q}' for name, q in zip(MODEL.joint_names, HOME.tolist())]
    simulation = {'urdf_file': str(ARM), 'armature': rotors, 'initial_positions': places,
                  'wrench_timeout': 60.0}
    with NodeProcess(SIMULATOR, simulation) as plant, NodeProcess(
            CONTROLLER, parameters) as process, Probe('contact') as probe:
        process.wait_for_output(ACTIVE)
        plant.wait_for_output(RELEASED)
        torques = probe.subscribe(JointState, f'{NODE}/external_torque')
        wrenches = probe.subscribe(WrenchStamped, f'{NODE}/estimated_wrench')
        diagnostics = probe.subscribe(DiagnosticArray, '/diagnostics')
        hand = Hand(probe)
        probe.until(lambda: torques and wrenches, 'an estimate')
        assert list(torques[-1].name) == list(MODEL.joint_names)
        assert wrenches[-1].header.frame_id == MODEL.base_link

        hand.push(SMALL)
        probe.until(lambda: np.abs(force_of(wrenches[-1]) - SMALL).max() < 0.8
                    and np.abs(np.array(torques[-1].effort) - expected).max() < 0.5,
                    f'force {SMALL}, and its torques')
        assert not logged(process, 'collision')
        hand.push(HARD)
        fault = 'fault: collision: external torque of joint'
        probe.until(lambda: logged(process, fault), 'a stop')
        answer = probe.call(Trigger, f'{NODE}/reset_fault')
        assert not answer.success and 'the cause is still there: external torque' in answer.message
        hand.push(np.zeros(3))
        probe.until(lambda: probe.call(Trigger, f'{NODE}/reset_fault').success, 'no fault')
        probe.until(lambda: figures(diagnostics).get('collisions', '0') != '0', 'diagnostics')
        assert 'joint' in figures(diagnostics)['largest external torque']
        assert 'Traceback' not in process.output
