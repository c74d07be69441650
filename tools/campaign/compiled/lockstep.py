"""A run in lockstep through the real nodes, simulator and controller, beside the compiled loop."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.client.session import Session
from robodyn_ros.exceptions import StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.montecarlo.effects import Faulty, InLoop
from robodyn_ros.montecarlo.plans import HOLD, plan_of
from robodyn_ros.montecarlo.scenario import Scenario, SEEDS
from robodyn_ros.montecarlo.study import (
    ACTIVATION, COLLISION, FaultStudy, RATE, ROTOR_ACCELERATION, TRACKING_ERROR)
from robodyn_ros.nodes.simulator import node as simulator
from robodyn_ros.simulation.fault_loop import CHUNK, fault_numbers
from robodyn_ros.simulation.motion import STIFFNESS
from tools.campaign.compiled.replay import length_of, steps_of
from tools.campaign.recorder import FaultRecorder

# stamps answer the states in lockstep, and commands are waited for
_OTHER_TIME = ('delay', 'clock_jump', 'deaf')
_START, _ACCEPTED = 40.0, 20.0  # s


class Comparison(NamedTuple):
    """
    Torques of the nodes and of the compiled loop.

    Attributes
    ----------
    steps : int
        Number of torques that both have.
    missing : int
        Number of torques of the loop that the nodes did not send.
    difference : float
        Largest difference, N m or N.

    """

    steps: int
    missing: int
    difference: float


def obstacle(run: Scenario) -> str:
    """Return why a run cannot go through the nodes in lockstep; '' if it can."""
    effect = run.case.effect
    if run.plant is not None:
        return 'the loop is measured in real time'
    if isinstance(effect, Faulty):
        if effect.kind in _OTHER_TIME or effect.timeout:
            return 'in lockstep commands and stamps of states must arrive as they are'
        return ''
    return '' if effect == InLoop('nothing') else 'the simulator has no such fault'


class LockstepSession(Session):
    """
    Simulator and controller in lockstep, with the arm, motion and fault of a run.

    Parameters
    ----------
    study, run
        What the runs have in common, and this one.
    robot, model, logs
        As for a `Session`.

    """

    recorder: FaultRecorder

    def __init__(self, study: FaultStudy, run: Scenario, robot: Robot, model: RobotModel,
                 logs: Path):
        super().__init__(robot, model, run.motion.start, RATE, logs)
        self._study, self._run = study, run

    def start(self) -> None:
        """Start both nodes, paused at the first state, and wait until the controller answers."""
        self.recorder = FaultRecorder(self._alive)
        self.commands = self.recorder.record('joint_commands')
        model, common = self.model, self._robot.parameters()
        self.simulator = self._child('simulator', {
            **common, 'urdf_file': str(self._rubbed_urdf()), **self._mismatch(), **self._arm(),
            'lockstep': True, 'start_paused': True})
        self.controller = self._child('controller', {
            **common, 'lockstep': True, 'natural_frequency': [STIFFNESS],
            'activation_time': ACTIVATION,
            'armature': (model.effort_limit / ROTOR_ACCELERATION).tolist(),
            'constraints.trajectory': [TRACKING_ERROR],
            'collision.threshold': (COLLISION * model.effort_limit).tolist()})
        if not self.recorder.wait(lambda: len(self.commands), _START):
            raise StateError('the controller has not answered the first state; its last message: '
                             f'{self.controller.last_message()}')

    def _rubbed_urdf(self) -> Path:
        """Write the URDF of an arm with the friction of the run; return its path."""
        tree = ElementTree.parse(self._robot.urdf)
        factors = dict(zip(self.model.joint_names, self._run.friction.tolist()))
        for joint in tree.getroot().iter('joint'):
            factor = factors.get(joint.get('name', ''), 1.0)
            for dynamics in joint.iter('dynamics'):
                for name, value in dynamics.attrib.items():
                    dynamics.set(name, repr(float(value) * factor))
        path = self._logs / 'robodyn_replay.urdf'
        tree.write(path)
        return path

    def _mismatch(self) -> dict:
        """Return the parameters of the simulator for the inertias of the run."""
        usual = self._study.plant.dynamics.parameters.reshape(-1, 10)
        own = self._run.inertias.reshape(-1, 10)
        names, masses = self.model.body_names, own[:, 0] / usual[:, 0]
        shifts = own[:, 1:4] / own[:, :1] - usual[:, 1:4] / usual[:, :1]
        return {
            'mismatch.link_mass_scale': [f'{name}:{scale!r}' for name, scale in zip(
                names, masses.tolist())],
            'mismatch.com_shift': [f'{name}:' + ','.join(map(repr, row)) for name, row in zip(
                names, shifts.tolist())]}

    def _arm(self) -> dict:
        """Return the parameters of the simulator for arm, sensors and fault."""
        study, run = self._study, self._run
        plan, nv = plan_of(study, run), study.plant.nv
        model, begin, end = self.model, *(
            plan.numbers[fault_numbers.place(nv, name)][0] for name in ('start', 'end'))
        faults = []
        effect = run.case.effect
        if isinstance(effect, Faulty):
            joints = [model.joint_names[j] for j in run.draw.joints[:effect.joints]]
            amount = [repr(float(effect.size(run.draw)))] if effect.amount else []
            faults = [' '.join([repr(float(begin)), effect.kind, *joints,
                                repr(float(end - begin)), *amount])]
        return {
            'step': study.plant.step_size, 'faults': faults or [''],
            'initial_positions': [f'{name}:{q!r}' for name, q in zip(
                model.joint_names, run.motion.start.tolist())],
            'armature': run.armature.tolist(),
            'sensors.position_noise': [float(run.noise[0])],
            'sensors.velocity_noise': [float(run.noise[1])],
            'sensors.resolution': [float(run.resolution)], 'seed': run.seed % SEEDS}

    def step(self, count: int) -> None:
        """Exchange so many states and answers."""
        have = len(self.commands) + count
        self.recorder.set_parameter(simulator.NAME, 'steps_per_call', count)
        refusal = self.recorder.request(f'{simulator.NAME}/step')
        if refusal:
            raise StateError(refusal)
        while len(self.commands) < have:
            known = len(self.commands)
            if not self.recorder.wait(lambda: len(self.commands) > known, _ACCEPTED):
                return

    def move(self) -> None:
        """Start the motion (raises StateError if it is refused)."""
        motion, start = self._run.motion, self.controller.log.stat().st_size

        def answers() -> list[str]:
            return [text for _, text in self.controller.messages(start)
                    if text.startswith('trajectory ')]

        self.send(motion.times, motion.positions, motion.velocities, motion.accelerations)
        if not self.recorder.wait(answers, _ACCEPTED) or 'accepted' not in answers()[-1]:
            raise StateError(f'the motion was not accepted: {answers() or "no answer"}')


def torques_of_nodes(session: LockstepSession, steps: int) -> dict[int, NDArray]:
    """Return the torques that the controller sends, by the number of the state it answers."""
    session.start()
    session.step(HOLD * CHUNK)
    session.move()
    session.step(steps - HOLD * CHUNK)
    log = session.commands.log(session.model.joint_names)
    dt = session._study.plant.step_size
    # a state that is published again has the same answer
    return {round(1e-9 * stamp / dt): torque for stamp, torque in zip(log.stamp, log.effort)}


def compare(study: FaultStudy, run: Scenario, robot: Robot, logs: Path, steps: int = 0
            ) -> Comparison:
    """Return how far nodes and compiled loop agree; steps: 0 for the whole run."""
    plan = plan_of(study, run)
    steps = steps or length_of(study, plan)
    nv = study.plant.nv
    expected = {each.number: each.record[:nv] for each in steps_of(study, plan, steps, True)
                if each.record[nv] > 0.0}
    with LockstepSession(study, run, robot, study.model, logs) as session:
        found = torques_of_nodes(session, steps)
    # the last states may not be answered yet
    last = max(found)
    both = [k for k in expected if k in found]
    return Comparison(len(both), sum(k not in found for k in expected if k <= last),
                      max(float(np.abs(expected[k] - found[k]).max()) for k in both))
