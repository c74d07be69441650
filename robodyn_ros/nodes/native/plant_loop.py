"""Native loop of a simulator: its arrays, its thread, and its exchange of data with Python."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from robodyn_ros.nodes.cdr import JointStateWriter, LITTLE_ENDIAN
from robodyn_ros.nodes.native import plant_code, rcl
from robodyn_ros.nodes.native.block import Block, CommandLayouts
from robodyn_ros.nodes.native.plant_code import DELAYS, INPUTS, PLACES, UNKNOWN_MESSAGE
from robodyn_ros.nodes.native.rcl import probe
from robodyn_ros.nodes.native.thread import check_platform, LoopThread
from robodyn_ros.simulation import Plant

_CAPACITY = 65_536  # bytes of a message without reallocation


class PlantHandles(NamedTuple):
    """
    Subscriptions and publishers of a simulator's loop, and the joints in its messages.

    Attributes
    ----------
    node : Node
        Owner of the handles.
    arrays, named, wrenches : Subscription
        Subscriptions of Float64MultiArray, JointState and WrenchStamped.
    depth : int
        Number of messages taken of each in an iteration.
    states, truth, clock : Publisher
        Publishers of joint states, of true joint states, and of Clock, which may be None.
    wake : GuardCondition
        Triggered when Python has something to do.
    names, coordinate, multiplier, offset, independent
        Joints in a message, see `StatePublisher`.

    """

    node: Node
    arrays: Subscription
    named: Subscription
    wrenches: Subscription
    depth: int
    states: Publisher
    truth: Publisher
    clock: Publisher | None
    wake: GuardCondition
    names: tuple[str, ...]
    coordinate: NDArray
    multiplier: NDArray
    offset: NDArray
    independent: NDArray


class PlantLoop:
    """
    Steps a plant in a thread that needs no Python interpreter.

    Between `start` and `stop` only the loop may change the state of the plant and the torques.

    Parameters
    ----------
    handles : PlantHandles
        Subscriptions and publishers.
    joint_names, command_joints : sequence of str
        The model's joints; their order in commands without names.

    Attributes
    ----------
    block : Block
        Block of the loop, see `plant_code`.
    layouts : dict of str to CommandLayouts
        Registered layouts of each of the inputs.

    Raises
    ------
    NativeLoopError
        The platform or the middleware does not support the native loop.

    """

    def __init__(self, handles: PlantHandles, joint_names, command_joints):
        check_platform()
        self._handles = handles
        self._rcl = functions = rcl.Rcl()
        inputs = (handles.arrays, handles.named, handles.wrenches)
        publishers = [each for each in (handles.states, handles.truth, handles.clock) if each]
        self._owners = handles.node, *inputs, *publishers, handles.wake
        probe(handles.node, functions, {
            **{each.topic_name: ('subscription', each.handle.pointer) for each in inputs},
            **{each.topic_name: ('publisher', each.handle.pointer) for each in publishers}})
        self._code = plant_code.compiled()
        self.block = block = Block(PLACES)
        block.set_functions(functions.addresses)
        self.layouts = {
            name: CommandLayouts(block, f'{name}_layouts', f'{name}_count', joint_names,
                                 command_joints) for name in INPUTS}
        for name, each in zip(INPUTS, inputs):
            block[f'{name}_subscription'] = each.handle.pointer
        owners: dict[str, Any] = {'states': handles.states, 'truth': handles.truth,
                                  'clock': handles.clock, 'wake': handles.wake}
        for name, owner in owners.items():
            block[name] = owner.handle.pointer if owner else 0
        block['depth'] = handles.depth
        self._messages(handles)
        self._delays = np.zeros(DELAYS)
        block['delays'] = self._delays.ctypes.data
        self._read = 0
        self._message: Any = functions.buffer(_CAPACITY)
        block['message'] = ctypes.addressof(self._message)
        self._thread = LoopThread('simulation', self._code, block, self.stop)
        self._plant: tuple = ()

    def _messages(self, handles: PlantHandles) -> None:
        block, functions = self.block, self._rcl
        writer = JointStateWriter(handles.names)
        clock = np.frombuffer(bytearray(LITTLE_ENDIAN + bytes(8)), dtype=np.uint8)
        messages = (rcl.SerializedMessage * 2)(
            functions.message(np.frombuffer(writer.data, dtype=np.uint8)),
            functions.message(clock))
        block['state_message'] = ctypes.addressof(messages)
        block['clock_message'] = ctypes.addressof(messages[1])
        arrays = {'position': writer.position, 'velocity': writer.velocity,
                  'effort': writer.effort,
                  'coordinate': np.ascontiguousarray(handles.coordinate, dtype=np.int64)}
        for name in ('multiplier', 'offset', 'independent'):
            arrays[name] = np.ascontiguousarray(getattr(handles, name), dtype=np.float64)
        for name, array in arrays.items():
            block[name] = array.ctypes.data
        block['published'] = len(handles.names)
        self._kept = writer, clock, messages, arrays

    def set_plant(self, plant: Plant, torque: NDArray) -> str:
        """
        Set the plant for the next start; return why it cannot be stepped, empty if it can.

        Parameters
        ----------
        plant : Plant
            Plant whose arrays are changed in place.
        torque : (nv,) array
            Array for the commands.

        """
        codes, block = plant.machine_code(), self.block
        if codes is None:
            return f'the dynamics of {plant.nv} joints are not compiled'
        block['plant_step'], block['gravity'] = (code.address('kernel') for code in codes)
        arrays: dict[str, np.ndarray] = {
            'runtime': plant.dynamics.runtime, 'state': plant.state, 'torque': torque,
            'external': plant.external, 'constants': plant.constants, 'applied': plant.applied}
        for name, array in arrays.items():
            block[name] = array.ctypes.data
        block['joints'], block['state_rest'] = plant.nv, plant.state.size - 1 - plant.nv
        block.set_number('step', plant.step_size)
        self._plant = plant, codes, arrays
        return ''

    # --- the thread -------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether the loop was started and not stopped since."""
        return self._thread.running

    @property
    def thread(self) -> int:
        """Return the id of the thread."""
        return self._thread.native_id

    @property
    def ended(self) -> bool:
        """Whether the loop has ended, because the next step needs Python."""
        return self.block['reason'] != 0

    def start(self) -> None:
        """
        Start with the numbers in the block.

        Raises
        ------
        NativeLoopError
            The system cannot create a thread.

        """
        self.block['reason'] = 0
        self._thread.start(*self._owners)

    def stop(self) -> None:
        """Stop the loop, if it runs."""
        if self.running:
            self._thread.stop()

    def close(self) -> None:
        """Stop the loop and release its resources."""
        self.stop()
        if self._message is not None:
            self._rcl.close(self._message)
            self._message = None

    # --- results ----------------------------------------------------------------------------

    def unknown_message(self) -> tuple[str, bytes] | None:
        """Return input and data of the message that ended the loop, once; None without one."""
        if self.block['reason'] != UNKNOWN_MESSAGE:
            return None
        self.block['reason'] = 0
        return INPUTS[self.block['source']], ctypes.string_at(
            self._message.buffer, self._message.length)

    def delays(self) -> NDArray:
        """Return the delays of the steps since the last call, in s; at most the last `DELAYS`."""
        count = self.block['delay_count']
        numbers = np.arange(max(self._read, count - DELAYS), count)
        self._read = count
        return self._delays[numbers % DELAYS]
