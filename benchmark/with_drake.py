"""Calls of Drake's Python bindings, with the state in a context."""
from importlib import metadata
import logging

from calls import Order
import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import JacobianWrtVariable, MultibodyForces
from timing import Call

logging.getLogger('drake').setLevel(logging.ERROR)


class Drake:
    """
    Calls of Drake for a robot.

    Parameters
    ----------
    robot : BenchRobot
    law : dict
        State, reference and gains of the law.

    """

    name, version = 'Drake', metadata.version('drake')

    def __init__(self, robot, law):
        self.robot, self.law = robot, law
        plant = MultibodyPlant(0.0)
        Parser(plant).AddModelsFromString(robot.text, 'urdf')
        base = robot.model.base_link
        if base != 'world':
            plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(base))
        plant.Finalize()
        self.order = Order(robot.model.joint_names, joint_names(plant))
        context = plant.CreateDefaultContext()
        applied = plant.get_applied_generalized_force_input_port()
        applied.FixValue(context, self.order.of(robot.state)['tau'])
        self.names = {
            'plant': plant, 'context': context, 'forces': MultibodyForces(plant),
            'world': plant.world_frame(), 'frame': plant.GetFrameByName(robot.link),
            'origin': np.zeros(3), 'velocity': JacobianWrtVariable.kV,
            'acceleration': plant.get_generalized_acceleration_output_port()}

    def calls(self):
        """Return a call for each quantity, without derivatives, which need AutoDiff."""
        state = self.order.of(self.robot.state)
        names = {**self.names, **state, 'x': np.concatenate([state['q'], state['qd']])}
        vector, square = self.order.columns, self.order.square
        set_positions, inverse = 'plant.SetPositions(context, q)\n', (
            'plant.SetPositionsAndVelocities(context, x)\n'
            'plant.CalcForceElementsContribution(context, forces)\n')
        law = self.order.of(self.law)
        return {quantity: Call(text, names, convert) for quantity, (text, convert) in {
            'inverse dynamics': (
                inverse + 'plant.CalcInverseDynamics(context, qdd, forces)', vector),
            'gravity': (set_positions + 'plant.CalcGravityGeneralizedForces(context)',
                        lambda forces: -vector(forces)),
            'mass matrix': (set_positions + 'plant.CalcMassMatrix(context)', square),
            # with tau at the input port for generalized forces
            'forward dynamics': ('plant.SetPositionsAndVelocities(context, x)\n'
                                 'acceleration.Eval(context)', vector),
            'Jacobian': (
                set_positions + 'plant.CalcJacobianSpatialVelocity(context, velocity, frame, '
                'origin, world, world)', lambda J: vector(np.vstack([J[3:], J[:3]]))),
            'forward kinematics': (set_positions + 'frame.CalcPoseInWorld(context)',
                                   lambda pose: pose.GetAsMatrix4()),
        }.items()} | {'computed-torque law': Call(
            inverse + 'plant.CalcInverseDynamics(context, qdd_ref + kp * (q_ref - q) + kd * '
            '(qd_ref - qd), forces)',
            {**self.names, **law, 'x': np.concatenate([law['q'], law['qd']])}, vector)}


def joint_names(plant):
    """Return the names of the moving joints in the order of Drake's velocities."""
    joints = [plant.get_joint(j) for j in plant.GetJointIndices()]
    moving = [joint for joint in joints if joint.num_velocities()]
    return [joint.name() for joint in sorted(moving, key=lambda joint: joint.velocity_start())]
