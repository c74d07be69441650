"""Subscriptions of an arm and its controller, for a page, and their names."""

from __future__ import annotations

from collections.abc import Sequence
import time
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robodyn_ros.control import Term
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.controller.node import NAME as CONTROLLER
from robodyn_ros.nodes.conversions import nanoseconds, vector
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.publishers import full_name
from robodyn_ros.nodes.simulator import NAME as SIMULATOR
from robodyn_ros.trajectory import shortest_turn
from robodyn_ros.view.snapshot import NO_CONTROLLER, Push, Snapshot
from robodyn_ros.view.status import LAST_MOTION

STATES = 8  # messages that can wait: some may be of other joints
_SILENT = 2.5    # s without diagnostics, published once a second, after which a node is gone
_FORGET = 0.5    # s for which a reference or a torque term is shown
_PUSHED = 0.3    # s for which a push is shown
_DISCOVER = 1.0  # s between two checks for a simulator
_NOTES = ('law', 'recovery', LAST_MOTION, 'saturated joints')  # of the diagnostics


class Names(NamedTuple):
    """
    Names of nodes and topics, each relative to the namespace.

    Attributes
    ----------
    joint_states : str
        Topic of the joint states.
    controller, simulator : str
        Names of the nodes.

    """

    joint_states: str = 'joint_states'
    controller: str = CONTROLLER
    simulator: str = SIMULATOR


class JointValues:
    """
    Position, velocity and effort of joints, as far as they are reported.

    Unlike for a controller, a message may lack joints, velocities or efforts.

    Parameters
    ----------
    joint_names : sequence of str
        Order of the values.
    position : (nv,) array
        Initial positions.

    Attributes
    ----------
    position, velocity, effort : (nv,) array
        Last values; velocity is 0 and effort NaN until they are reported.
    named : tuple of str
        Those of the joints that are in the last message.

    """

    def __init__(self, joint_names: Sequence[str], position: np.ndarray):
        self._column = {name: i for i, name in enumerate(joint_names)}
        self.position = np.array(position, dtype=float)
        self.velocity = np.zeros(len(joint_names))
        self.effort = np.full(len(joint_names), np.nan)
        self.named: tuple[str, ...] = ()

    def read(self, message: JointState) -> bool:
        """Read a message; return whether it has values of these joints."""
        pairs = [(k, self._column[name]) for k, name in enumerate(message.name)
                 if name in self._column]
        source, target = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        for values, into in ((message.position, self.position), (message.velocity, self.velocity),
                             (message.effort, self.effort)):
            if len(values) == len(message.name):
                numbers = np.asarray(values, dtype=float)[source]
                finite = np.isfinite(numbers)
                into[target[finite]] = numbers[finite]
        self.named = tuple(message.name[k] for k in source)
        return bool(pairs)


class Feed:
    """
    Newest message of each topic.

    Parameters
    ----------
    node : Node
        Owner of the subscriptions.
    model : RobotModel
        Model of the arm.
    names : Names

    """

    def __init__(self, node: Node, model: RobotModel, names: Names):
        self._node, self._model, self._names = node, model, names
        rest = np.clip(np.zeros(model.nv), model.lower, model.upper)
        self._state = JointValues(model.joint_names, rest)
        self._reference = JointValues(model.joint_names, rest)
        self._states = PolledSubscription(node, JointState, names.joint_states,
                                          qos.newest(STATES))
        self._references = PolledSubscription(node, JointState, f'{names.controller}/reference',
                                              qos.newest())
        self._diagnostics = PolledSubscription(node, DiagnosticArray, '/diagnostics',
                                               qos.newest(20))
        self._wrenches = PolledSubscription(node, WrenchStamped, f'{names.simulator}/wrench',
                                            qos.newest(10))
        self._terms: dict[str, PolledSubscription] = {}
        self._term_values: dict[str, tuple[float, np.ndarray]] = {}
        self._figures: dict[str, tuple[float, dict[str, str]]] = {}
        self._pushes: dict[str, tuple[float, Push]] = {}
        self._state_time = self._reference_time = self._discovered = -np.inf
        self._error = np.full(model.nv, np.nan)
        self._stamp = 0
        self._simulated = False
        space = node.get_namespace().rstrip('/')
        self._controller, self._simulator = (
            name if name.startswith('/') else f'{space}/{name}'
            for name in (names.controller, names.simulator))

    def explain(self, on: bool) -> None:
        """Subscribe to the terms of the torque, or unsubscribe."""
        for subscription in self._terms.values():
            subscription.destroy()
        self._terms, self._term_values = {}, {}
        if on:
            self._terms = {term.name.lower(): PolledSubscription(
                self._node, JointState,
                f'{self._names.controller}/torque_terms/{term.name.lower()}', qos.newest())
                for term in Term}

    @property
    def refusal(self) -> tuple[str, str] | None:
        """Return the number of refused trajectories and the last reason; None if unknown."""
        values = self._diagnostics_of(time.monotonic(), self._controller)
        if 'trajectories refused' not in values:
            return None
        return values['trajectories refused'], values.get('last refusal', '')

    def poll(self) -> Snapshot:
        """Take new messages, and return a snapshot of arm and controller."""
        now = time.monotonic()
        self._take(now)
        if now - self._discovered > _DISCOVER:
            self._discovered = now
            self._simulated = self._simulator in map(
                full_name, self._node.get_subscriptions_info_by_topic(self._wrenches.topic))
        controlled = now - self._reference_time < _FORGET
        mode, notes = self._mode_and_notes(now)
        simulator = self._diagnostics_of(now, self._simulator)
        reference, state = self._reference, self._state
        sent = reference.effort if controlled else state.effort
        return Snapshot(
            now, now - self._state_time, state.position.copy(), state.velocity.copy(),
            np.where(self._named(), reference.position, state.position) if controlled else None,
            self._error.copy() if controlled else np.full(self._model.nv, np.nan),
            np.where(np.isfinite(sent), sent, state.effort),
            {name: values for name, (received, values) in self._term_values.items()
             if now - received < _FORGET},
            reference.named if controlled else (), mode,
            notes.pop('fault', '') or simulator.get('fault', ''), notes,
            bool(notes.pop('aborted', '')), self._simulated, simulator.get('paused') == 'true',
            tuple(push for end, push in self._pushes.values() if now < end))

    def _take(self, now: float) -> None:
        for message in self._states.waiting():
            if self._state.read(message):
                self._state_time, self._stamp = now, nanoseconds(message.header.stamp)
        if (message := self._references.take()) is not None and self._reference.read(message):
            self._reference_time = now
            self._compare(nanoseconds(message.header.stamp))
        for message in self._diagnostics.waiting():
            for status in message.status:
                self._figures[status.name] = now, {
                    pair.key: pair.value for pair in status.values}
        for name, subscription in self._terms.items():
            if (message := subscription.take()) is not None:
                values = JointValues(self._model.joint_names, np.zeros(self._model.nv))
                values.read(message)
                self._term_values[name] = now, np.nan_to_num(values.effort)
        for message in self._wrenches.waiting():
            self._note_push(now, message)

    def _compare(self, stamp: int) -> None:
        """Compute the tracking error, with the reference extrapolated to the time of the state."""
        reference, state = self._reference, self._state
        between = 1e-9 * (self._stamp - stamp)
        if abs(between) > _FORGET:  # another clock
            between = 0.0
        self._error = reference.position + between * reference.velocity - state.position
        for j in np.flatnonzero(self._model.continuous):
            self._error[j] = shortest_turn(float(self._error[j]))
        self._error[~self._named()] = np.nan

    def _named(self) -> np.ndarray:
        """Return which joints are in the reference, (nv,) of bool."""
        return np.array([name in self._reference.named for name in self._model.joint_names])

    def _note_push(self, now: float, message: WrenchStamped) -> None:
        link = message.header.frame_id
        if link in self._model.links:
            self._pushes[link] = now + _PUSHED, Push(
                link, np.array(vector(message.wrench.force)),
                np.array(vector(message.wrench.torque)))

    def _mode_and_notes(self, now: float) -> tuple[str, dict[str, str]]:
        """Return mode, fault and notes of the controller."""
        values = self._diagnostics_of(now, self._controller)
        if not values:
            return NO_CONTROLLER, {}
        fault = values.get('fault', '')
        notes = {key: values[key] for key in _NOTES if values.get(key) not in (None, fault)}
        aborted = 'yes' if values.get('motion aborted') == 'True' else ''
        return values.get('mode', NO_CONTROLLER), {'fault': fault, 'aborted': aborted, **notes}

    def _diagnostics_of(self, now: float, node: str) -> dict[str, str]:
        """Return the values in the diagnostics of a node; empty if it is silent."""
        for status, (received, values) in self._figures.items():
            if status.partition(':')[0] == node and now - received < _SILENT:
                return values
        return {}
