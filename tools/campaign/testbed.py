"""The processes of a fault campaign: simulator, guard, controller and recorder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from itertools import count
import os
from pathlib import Path
import signal
import time

import numpy as np

from robodyn_ros.client.session import Session
from robodyn_ros.exceptions import StateError
from robodyn_ros.montecarlo.judge import STILL
from robodyn_ros.montecarlo.plants import DrawnPlant, MEASURED
from robodyn_ros.montecarlo.study import COLLISION, RATE, ROTOR_ACCELERATION, TRACKING_ERROR
from robodyn_ros.nodes.children import Child
from robodyn_ros.nodes.controller import node as controller
from robodyn_ros.nodes.guard import node as guard
from robodyn_ros.nodes.simulator import node as simulator
from robodyn_ros.simulation.motion import Motion, STIFFNESS
from tools.campaign.network import Network
from tools.campaign.recorder import FaultRecorder

PRIORITY = 20    # real-time priority of the nodes, where permitted
_NUMBERS = count()
NODES = ('simulator', 'guard', 'controller')
NAMES = {'simulator': simulator.NAME, 'guard': guard.NAME, 'controller': controller.NAME}
_START = 40.0    # s until the guard must be armed; ROS lists a killed controller for 20 s
_ANSWER = 1.0    # s until a trajectory is accepted or refused
_SENDS = 5
_NEAR = 5e-3     # rad or m
_SLOW = 3.0      # ratio of duration to that at the velocity limit
_SETTLE = 4.0    # s after a motion


class Testbed(Session):
    """
    Processes that faults are injected into, and that are restored afterwards.

    Parameters
    ----------
    robot, model
        As for a `Session`.
    motion : Motion
        Motion of every run; the arm starts at its first point.
    logs : Path
        Folder of the log files.
    network : Network, optional
        Network on which the controller has a host of its own.
    settings : mapping, optional
        Parameters of the controller.
    plant : DrawnPlant, optional
        Plant that the controller does not know: it measures its loops before the first run.

    """

    recorder: FaultRecorder

    def __init__(self, robot, model, motion: Motion, logs: Path,
                 network: Network | None = None,
                 settings: Mapping[str, object] | None = None,
                 plant: DrawnPlant | None = None):
        super().__init__(robot, model, motion.start, RATE, logs)
        self.motion, self.network, self._settings = motion, network, dict(settings or {})
        self._plant = plant
        self.nodes: dict[str, Child] = {}
        self.urdf = Path(robot.urdf).read_text(encoding='utf-8')
        self._log_starts: list[tuple[Child, int]] = []
        if network is not None:  # neither shared memory nor the loopback interface
            os.environ.pop('FASTDDS_DEFAULT_PROFILES_FILE', None)
            os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE='SUBNET',
                              FASTDDS_BUILTIN_TRANSPORTS='UDPv4')

    def start(self) -> None:
        """Start all nodes, and wait until the guard is armed and the controller holds the arm."""
        with self._host('simulator'):
            self.recorder = FaultRecorder(self._alive)
        for name in NODES:
            self.start_node(name)
        self.wait_until_armed()
        if self._plant is not None:
            self.wait(MEASURED)

    def __exit__(self, *error) -> None:
        for child in self.nodes.values():
            child.signal(signal.SIGCONT)
        super().__exit__(*error)

    # --- processes --------------------------------------------------------------------------

    def start_node(self, name: str) -> None:
        """Start a node; it replaces one that has ended."""
        self._number = next(_NUMBERS)
        parameters = {**self._robot.parameters(), 'realtime.priority': PRIORITY}
        if name != 'guard' and self._plant is None:
            parameters['armature'] = (
                self.model.effort_limit / ROTOR_ACCELERATION).tolist()
        if name == 'simulator':
            parameters |= self._plant.parameters() if self._plant else {}
            parameters |= {'step': 1.0 / RATE, 'initial_positions': [
                f'{joint}:{q!r}' for joint, q in zip(self.model.joint_names,
                                                     self._start.tolist())]}
        else:  # as on a real arm, whose driver publishes robot_description
            del parameters['urdf_file']
        if name == 'controller':
            # doublets that measure a loop are motion; of a plant that is known they find nothing
            parameters |= {} if self._plant else {
                'natural_frequency': [STIFFNESS], 'measure_loop': False}
            parameters |= {'guard.use': 'expected',
                           'constraints.trajectory': [TRACKING_ERROR], 'collision.threshold':
                           (COLLISION * self.model.effort_limit).tolist(), **self._settings}
        with self._host(name):
            self.nodes[name] = self._child(name, parameters)
        self._log_starts.append((self.nodes[name], 0))

    def _log_of(self, name: str) -> Path:
        return self._logs / f'campaign_{name}_{self._number}.log'

    def _host(self, name: str):
        if self.network is None:
            return nullcontext()
        return self.network.on('there' if name == 'controller' else 'here')

    def end(self, name: str, number: int) -> None:
        """Send a signal to a node that ends it."""
        self.nodes[name].may_end = True
        self.nodes[name].signal(number)

    def wait_for_exit(self, name: str, timeout: float = 12.0) -> None:
        """Wait until a node has exited; raise StateError after a time in s."""
        if not self.recorder.wait(lambda: self.nodes[name].exit_code is not None, timeout):
            raise StateError(f'the {name} has not exited within {timeout:g} s')

    def name_of(self, node: str) -> str:
        """Return the ROS name of a node."""
        return NAMES[node]

    def load_processors(self, share: float) -> list[Child]:
        """Start a program for each processor that uses a share of it."""
        return [self._children.start(f'load {k}', 'tools.campaign.cpu_load', [str(share)],
                                     self._logs / f'campaign_load_{k}.log')
                for k in range(os.cpu_count() or 1)]

    def wait(self, duration: float) -> None:
        """Record for a time in s."""
        self.recorder.wait(timeout=duration)

    # --- logs -------------------------------------------------------------------------------

    def clear(self) -> None:
        """Delete what was recorded; `logged` returns later messages only."""
        self._log_starts = [(child, child.log.stat().st_size) for child in self.nodes.values()]
        self.recorder.clear()

    def logged(self) -> list[tuple[str, str, str]]:
        """Return (process, level, text) of the messages logged since `clear`."""
        return [(child.name, level, text) for child, start in self._log_starts
                for level, text in child.messages(start)]

    def remove_logs(self) -> None:
        """Remove the log files."""
        for log in self._logs.glob('campaign_*_*.log'):
            log.unlink(missing_ok=True)

    # --- motion -----------------------------------------------------------------------------

    def answered(self, *rows) -> tuple[int, str]:
        """Send points as `send` does; return the time in ns and the controller's answer."""
        for _ in range(_SENDS):
            start = self.nodes['controller'].log.stat().st_size
            sent = self.send(*rows)
            answer = self.answer(start)
            if answer:
                return sent, answer
        return sent, 'the controller does not answer a trajectory'

    def answer(self, start: int) -> str:
        """Return the controller's log message about a trajectory, from a byte of its log on."""
        def answers() -> list[str]:
            return [text for _, text in self.nodes['controller'].messages(start)
                    if text.startswith('trajectory ')]

        return answers()[-1] if self.recorder.wait(answers, _ANSWER) else ''

    def move(self) -> int:
        """Start the motion; return the time in ns (raises StateError if it is refused)."""
        motion = self.motion
        sent, answer = self.answered(motion.times, motion.positions, motion.velocities,
                                     motion.accelerations)
        if 'accepted' not in answer:
            raise StateError(answer)
        return sent

    def parameters(self, rows) -> list:
        """Return the values of the parameters in rows of (node, name, ...)."""
        values = []
        for node in NODES:
            names = [row[1] for row in rows if row[0] == node]
            values += self.recorder.get_parameters(NAMES[node], names)
        return values

    def true_state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return true position and velocity, each (nv,)."""
        newest = self.recorder.truth.newest(self.model.joint_names)
        return newest.position[-1], newest.velocity[-1]

    # --- recovery ---------------------------------------------------------------------------

    def recover_all(self) -> str:
        """
        Move the arm back to its start; restart nodes and reset faults where needed.

        Returns
        -------
        how : str
            'itself', 'reset' or 'restart'.

        Raises
        ------
        StateError
            The arm does not reach its start.

        """
        how = 'itself'
        for name in NODES:
            if self.nodes[name].exit_code is not None:
                self.start_node(name)
                self.recorder.clear_node_states()
                how = 'restart'
        if self.wait_until_armed() and how == 'itself':
            how = 'reset'
        if how == 'restart' and self._plant is not None:
            self.wait(MEASURED)
        for _ in range(4):
            answer = self._return()
            if not answer:
                return how
            if 'fault' in answer:
                self.recover()
                how = 'reset' if how == 'itself' else how
        raise StateError(answer)

    def wait_until_armed(self) -> bool:
        """Wait until the guard is armed; return whether it was reset, or activated."""
        reset, requested = False, 0.0

        def armed() -> bool:
            return (self.recorder.guard_state == 'armed'
                    and self.recorder.controller_state == 'active'
                    and len(self.recorder.truth) > 0)

        end = time.monotonic() + _START
        while not self.recorder.wait(armed, 0.3):
            now = time.monotonic()
            if now > end:
                raise StateError(
                    f'after {_START:g} s the guard is {self.recorder.guard_state!r} and the '
                    f'controller {self.recorder.controller_state!r}; the last line of its log: '
                    f'{self._last_message()}')
            if self.recorder.guard_state == 'commanding' and now > requested + 1.0:
                requested, reset = now, True
                self.recorder.request(f'{guard.NAME}/reset')
            elif self._let_go() and now > requested + 1.0:
                requested, reset = now, True
                self._activate()
        return reset

    def _let_go(self) -> bool:
        """Whether the controller has deactivated itself because its driver was replaced."""
        return (self.recorder.controller_state == 'standby'
                and self._last_message().startswith('deactivated: no further torque'))

    def _activate(self) -> None:
        try:
            self.recorder.change_state(True)
        except StateError:  # the last line of the log has the reason
            pass

    @property
    def loop(self) -> str:
        """Return the last message of the controller about its loop."""
        messages = [text for _, text in self.nodes['controller'].messages()
                    if text.startswith('loop: ')]
        return messages[-1] if messages else 'loop: unknown'

    def _last_message(self) -> str:
        messages = self.nodes['controller'].messages()
        return messages[-1][1] if messages else 'none'

    def _return(self) -> str:
        """Move to the start of the motion; return the reason of a failure, else ''."""
        start, (q, _) = self._start, self.true_state()
        with np.errstate(divide='ignore', invalid='ignore'):
            shortest = np.nanmax(np.abs(q - start) / self.model.velocity_limit)
        duration = max(0.4, _SLOW * float(shortest))
        _, answer = self.answered([duration], [start], [0.0 * start], [0.0 * start])
        if 'accepted' not in answer:
            return answer

        def arrived() -> bool:
            q, qd = self.true_state()
            return bool(np.abs(q - start).max() < _NEAR and np.abs(qd).max() < STILL)

        if self.recorder.wait(arrived, duration + _SETTLE):
            return ''
        errors = [text for _, level, text in self.logged() if level == 'ERROR']
        return f'the arm does not reach its start; {errors[-1] if errors else "no error"}'
