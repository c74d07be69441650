"""Commands and wrenches for the simulated arm, from messages."""

from __future__ import annotations

from functools import partial

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.nodes import qos
from robodyn_ros.nodes.command_message import CommandMessage
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.containment import contained
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.simulator.simulated_arm import SimulatedArm

QUEUE = 10  # commands that can wait for a step; all are checked, the newest counts


class Inputs:
    """
    Topics of commands and wrenches.

    Parameters
    ----------
    node : Node
        The simulator node.
    arm : SimulatedArm
        The simulated arm.
    commands : CommandReader
        Reader of the commands.
    table : Parameters
        Parameters of the node.

    Attributes
    ----------
    arrays, named, wrenches : PolledSubscription
        Commands of `command_type`, joints in the order of `command_joints`; torques by name; and
        wrenches on links.

    """

    def __init__(self, node: Node, arm: SimulatedArm, commands: CommandReader,
                 table: Parameters):
        self._log, self._arm, self._commands, self._table = (
            node.get_logger(), arm, commands, table)
        form = CommandMessage(arm.plant.model.joint_names, commands.command_joints,
                              table.values.message)
        self._read = (commands.read_array if table.values.message.usual else
                      partial(commands.read, form=form))
        self.arrays = PolledSubscription(
            node, form.type, 'effort_controller/commands', qos.reliable(QUEUE))
        self.named = PolledSubscription(node, JointState, 'joint_commands', qos.reliable(QUEUE))
        self.wrenches = PolledSubscription(node, WrenchStamped, '~/wrench', qos.reliable(QUEUE))

    def poll(self) -> None:
        """Take all waiting messages."""
        commands, dropped, valid = self._commands, self._arm.measurement.commands_dropped, False
        for message in self.arrays.waiting():
            valid |= not dropped and self._read(message)
        for message in self.named.waiting():
            valid |= not dropped and commands.read_named(message)
        self._poll_wrenches()
        if valid:
            self._arm.command_received()

    def take_answer(self, message: JointState) -> None:
        """Take the command that answers the last state, in lockstep; and all wrenches."""
        self._poll_wrenches()
        if self._commands.read_named(message):
            self._arm.command_received()

    def read(self, source: str, data: bytes) -> bool:
        """
        Read a serialized message that the native loop could not read.

        Parameters
        ----------
        source : str
            One of `plant_code.INPUTS`.
        data : bytes
            The message.

        Returns
        -------
        bool
            Whether it was a valid command.

        """
        kind, take = {'arrays': (Float64MultiArray, self._commands.read_array),
                      'named': (JointState, self._commands.read_named),
                      'wrenches': (WrenchStamped, self._push)}[source]
        message = contained(self._log, deserialize_message, data, kind)
        valid = message is not None and bool(take(message))
        if valid:
            self._arm.command_received()
        return valid

    def _poll_wrenches(self) -> None:
        for message in self.wrenches.waiting():
            self._push(message)

    def _push(self, message: WrenchStamped) -> None:
        self._arm.pushes.take(message, self._table.values.wrench_timeout)
