"""
Controller of one arm: requests to its control cycle, and its state.

A request that is refused raises, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from robodyn_ros.control.arm.activation import Activation
from robodyn_ros.control.arm.contact import ContactObserver
from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.cycle_calls import CycleCalls
from robodyn_ros.control.arm.design import Bounds, Design
from robodyn_ros.control.arm.external_inputs import ExternalInputs
from robodyn_ros.control.arm.load_changes import Adaptation, LoadChanges
from robodyn_ros.control.arm.loop_measurement import LoopMeasurement
from robodyn_ros.control.arm.loop_response import MeasuredLoop
from robodyn_ros.control.arm.messages import Messages
from robodyn_ros.control.arm.motions import Motions
from robodyn_ros.control.arm.path_speed import PathSpeed
from robodyn_ros.control.arm.program_writer import (
    write_constants, write_gains, write_initial_memory)
from robodyn_ros.control.arm.request_writer import RequestWriter, require_slow_for_reset
from robodyn_ros.control.arm.setting_changes import SettingChanges
from robodyn_ros.control.arm.status import Status
from robodyn_ros.control.arm.stream import Stream
from robodyn_ros.control.arm.trajectory_table import Paths
from robodyn_ros.control.compiled import CompiledCycle
from robodyn_ros.control.host import Host
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.own_law import OwnLaw
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.exceptions import StateError
from robodyn_ros.trajectory import Reference, Tolerances, TrajectoryPoint

_USUAL_LAW = 'computed_torque'


class ArmController:
    """
    Closes the torque loop of one arm: hosts its control cycle.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm; of `with_slots(model)` for payloads on any link.
    settings : Settings, optional
        Settings of the cycle; default the usual ones.
    own_law : OwnLaw, optional
        Law of the user, for the mode own_law.
    simulated : bool
        Whether the time of the cycle is that of the stamps of the states.

    Attributes
    ----------
    host : Host
        Memory and program of the cycle.
    status : Status
        Mode, fault and reports.
    activation : Activation
        Begin and end of control.
    cycle : CycleCalls
        Calls of the control cycle, one per state.
    requests : RequestWriter
        Requests of a mode, of rest, and of faults.
    motions : Motions
        Trajectories and poses.
    changes : SettingChanges
        Changes of mode, law and settings.
    loads : Loads
        Known payloads.
    adaptation : Adaptation
        Payload estimated by the adaptive law.
    load_changes : LoadChanges
        Changes of payload and gravity.
    inputs : ExternalInputs
        Wrenches, reflected torque and linear feedback, from outside and with a timeout.
    loop : LoopMeasurement
        Measurement of the loop of each joint.
    observation : ContactObserver
        External torque and collisions.
    path_speed : PathSpeed
        Scaling and pause of motions.
    stream : Stream
        Targets that arrive at any rate.
    reference : Reference
        Present reference of the joints.
    terms : (12, nv) array
        Terms of the last torque, rows as in `Term`. TOTAL is the torque sent; LIMIT its difference
        from that of the law: saturation, brakes at position limits, transitions, and the limits of
        rate and effort.

    """

    def __init__(self, dynamics: Dynamics, settings: Settings | None = None,
                 own_law: OwnLaw | None = None, simulated: bool = False):
        settings = settings or Settings()
        self.model = model = dynamics.model
        design = Design.make(dynamics, settings)
        law = settings.mode if settings.mode in TRACKING else _USUAL_LAW
        self.loads = Loads(dynamics)
        tool = design.link
        compiled = CompiledCycle(
            dynamics, tool, self.loads.parameter_index(tool) if self.loads.has_slot(tool)
            else None, settings.stale.stop)
        compiled.prepare(law)
        self.host = host = Host(
            compiled, None if own_law is None else own_law.function(compiled.dimensions))
        self._m, self._p = host.memory, host.program
        messages = Messages(model, tool)
        self._arm = arm = ControlledArm(dynamics, host, messages, self.loads, design, law)
        paths = Paths(host)
        self.status = status = Status(arm, paths)
        self.requests = RequestWriter(arm, status)
        self.motions = Motions(arm, status, paths, self.requests)
        self.path_speed = PathSpeed(arm, status)
        self.stream = Stream(arm, status, paths, self.motions)
        self.inputs = inputs = ExternalInputs(arm, status)
        self.adaptation = Adaptation(arm)
        self.load_changes = LoadChanges(arm, status)
        self.loop = LoopMeasurement(arm, status)
        self.observation = ContactObserver(arm, tool)
        self.changes = SettingChanges(arm, status, self.requests, inputs,
                                      self.adaptation, self.observation, own_law is not None)
        reference = self._m.motion.reference
        self.reference = Reference(reference.q, reference.qd, reference.qdd, reference.effort)
        self.terms = self._m.terms.reshape(len(Term), model.nv)
        self.cycle = CycleCalls(arm, self.requests, inputs)
        self.activation = Activation(arm, status, self.requests, inputs, self.path_speed)
        self.changes.check_mode(settings.mode)
        write_constants(self._p, design, model, simulated)
        write_gains(self._p, design, law)
        self.changes.write(design)
        write_initial_memory(self._m, self._p, design, model)

    # --- what it takes to close the loop: other requests and reports are those of the parts ------

    @property
    def mode(self) -> Mode:
        """Return the mode; see `Status`."""
        return self.status.mode

    @property
    def fault(self) -> str:
        """Return the fault that is latched; '' if there is none; see `Status`."""
        return self.status.fault

    @property
    def message(self) -> str:
        """Return what happened last; see `Status`."""
        return self.status.message

    def gravity_torque(self) -> np.ndarray:
        """Return the torque that carries the arm where it is; see `Status`."""
        return self.status.gravity_torque()

    def activate(self, now: float, q: np.ndarray, qd: np.ndarray, arrival: float = 0.0) -> None:
        """Take over the arm at a measured state; see `Activation`."""
        self.activation.activate(now, q, qd, arrival)

    def update(self, now: float, q: np.ndarray, qd: np.ndarray, effort: np.ndarray | None = None
               ) -> np.ndarray:
        """Return the torque for a fresh state; see `CycleCalls`."""
        return self.cycle.update(now, q, qd, effort)

    def receive(self, arrival: float, stamp: float, clock: float, permitted: bool = True
                ) -> np.ndarray | None:
        """Return the torque for a state that was received, or None; see `CycleCalls`."""
        return self.cycle.receive(arrival, stamp, clock, permitted)

    def follow(self, now: float, joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
               start_delay: float = 0.0, tolerances: Tolerances | None = None) -> float:
        """Follow a trajectory; return its duration; see `Motions`."""
        return self.motions.follow(now, joint_names, points, start_delay, tolerances)

    def compile_others(self, done: Callable[[], object]) -> list[str]:
        """
        Return the laws that are not compiled yet, and compile them in the background.

        Without this each is compiled when its mode is entered, which takes up to some seconds.
        `done` is called at the end, maybe by a thread.
        """
        return self.host.compiled.prepare_others(done)

    def compile_all(self) -> None:
        """Compile all laws now, or load them from the cache."""
        self.host.compiled.prepare(*TRACKING)

    def close(self) -> None:
        """Stop the compilation that `compile_others` started, and a measurement."""
        self.loop.stop()
        self.host.compiled.stop()

    def reset_fault(self) -> None:
        """
        Allow motion again.

        Raises
        ------
        StateError
            A collision is not over, or a joint moves too fast.

        """
        if self.status.fault and self.observation.collision_text:
            raise StateError(f'the cause is still there: {self.observation.collision_text}')
        if self.status.fault:
            require_slow_for_reset(self.status)
        self.requests.reset_fault()

    @property
    def settings(self) -> Settings:
        """Return the settings as changed last."""
        return self._arm.design.settings

    @property
    def design(self) -> Design:
        """Return these settings, and the gains and bounds of this arm made of them."""
        return self._arm.design

    @property
    def law(self) -> str:
        """Return the law that follows references, a key of `laws.table.TRACKING`."""
        return self._arm.law

    @property
    def bounds(self) -> Bounds:
        """Return the bounds of the torque of this arm."""
        return self._arm.bounds

    def continue_as(self, design: Design, loop: LoopMeasurement) -> None:
        """Go on with the design and the measurement of an arm whose blocks are in the host."""
        self._arm.design, self.loop = design, loop

    def update_loop(self, wait: bool = False) -> bool:
        """Continue the measurement of the loop; return True when its result comes into use."""
        over = self.loop.update(wait)
        if over:
            self.changes.use_loop(cast(MeasuredLoop, self.loop.result))
        return over

    @property
    def dynamics(self) -> Dynamics:
        """Return the dynamics, with the present blend of loads."""
        return self._arm.loaded_dynamics()

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Return the pose of the link at joint positions, (4, 4) in the base frame."""
        return self._arm.dynamics.forward_kinematics(q, self.design.link)

    def tool_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the measured pose of the link, and that of its reference."""
        return self.pose(self._m.q), self.pose(self.reference.q)
