"""The processes of a fault campaign: arm, guard, controller and witness, whoever dies."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from itertools import count
import os
from pathlib import Path
import signal
import time

import numpy as np

from robodyn_ros.cli.motion import Motion
from robodyn_ros.cli.processes import Child
from robodyn_ros.cli.session import Session, STIFFNESS
from robodyn_ros.exceptions import StateError
from robodyn_ros.nodes.controller import node as controller
from robodyn_ros.nodes.guard import node as guard
from robodyn_ros.nodes.simulator import node as simulator
from robodyn_ros.reliability.fault_publisher import defective, joint_state
from robodyn_ros.reliability.fault_recorder import FaultRecorder
from robodyn_ros.reliability.network import Network

RATE = 500.0     # Hz
PRIORITY = 20    # of the nodes among real-time processes, where that is allowed
# rad/s^2, with which a motor could turn its own rotor. Wrists of URDFs have next to no inertia
# without: they would be shaken by what no real arm feels.
SPRINT = 500.0
COLLISION = 0.3  # part of the effort limits: an unknown torque that ends a motion
FOLLOWING = 0.2  # rad or m of error that end a motion
_NUMBERS = count()
NODES = ('simulator', 'guard', 'controller')
NAMES = {'simulator': simulator.NAME, 'guard': guard.NAME, 'controller': controller.NAME}
_START = 40.0    # s until the guard must be armed; a dead controller is remembered for 20
_ANSWER = 1.0    # s until a trajectory is accepted or refused
_SENDS = 5
_NEAR = 5e-3     # rad or m
_STILL = 0.02    # rad/s or m/s
_SLOW = 3.0      # part of the time that a way takes at the velocity limit
_SETTLE = 4.0    # s after a way


class Testbed(Session):
    """
    Processes that can be hurt, and set up again.

    Parameters
    ----------
    robot, model
        As for a `Session`.
    motion : Motion
        Where the arm begins, and what it does.
    logs : Path
        Folder for what they say.
    network : Network, optional
        On which the controller is on a host of its own.
    settings : mapping, optional
        Parameters of the controller.

    """

    recorder: FaultRecorder

    def __init__(self, robot, model, motion: Motion, logs: Path,
                 network: Network | None = None,
                 settings: Mapping[str, object] | None = None):
        super().__init__(robot, model, motion.start, RATE, logs)
        self.motion, self.network, self._settings = motion, network, dict(settings or {})
        self.nodes: dict[str, Child] = {}
        self.urdf = Path(robot.urdf).read_text(encoding='utf-8')
        self._begun: list[tuple[Child, int]] = []
        if network is not None:  # shared memory would pass by the wire
            os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE='SUBNET',
                              FASTDDS_BUILTIN_TRANSPORTS='UDPv4')

    def start(self) -> None:
        """Start all, and wait until the guard watches over the controller that holds the arm."""
        with self._host('simulator'):
            self.recorder = FaultRecorder(self._alive)
        for name in NODES:
            self.start_node(name)
        self.until_armed()

    def __exit__(self, *error) -> None:
        for child in self.nodes.values():
            child.signal(signal.SIGCONT)
        super().__exit__(*error)

    # --- processes --------------------------------------------------------------------------

    def start_node(self, name: str) -> None:
        """Start a node, in place of one that has ended."""
        self._number = next(_NUMBERS)
        parameters = {**self._robot.parameters(), 'realtime.priority': PRIORITY}
        if name != 'guard':
            parameters['armature'] = (self.model.effort_limit / SPRINT).tolist()
        if name == 'simulator':
            parameters |= {'step': 1.0 / RATE, 'initial_positions': [
                f'{joint}:{q!r}' for joint, q in zip(self.model.joint_names,
                                                     self._start.tolist())]}
        else:  # as on a real arm, whose driver publishes robot_description
            del parameters['urdf_file']
        if name == 'controller':
            parameters |= {'natural_frequency': [STIFFNESS], 'guard.expected': True,
                           'constraints.trajectory': [FOLLOWING], 'collision.threshold':
                           (COLLISION * self.model.effort_limit).tolist(), **self._settings}
        with self._host(name):
            self.nodes[name] = self._child(name, parameters)
        self._begun.append((self.nodes[name], 0))

    def _log_of(self, name: str) -> Path:
        return self._logs / f'campaign_{name}_{self._number}.log'

    def _host(self, name: str):
        if self.network is None:
            return nullcontext()
        return self.network.on('there' if name == 'controller' else 'here')

    def end(self, name: str, number: int) -> None:
        """Send a signal to a node that ends it, sooner or later."""
        self.nodes[name].may_end = True
        self.nodes[name].signal(number)

    def until_gone(self, name: str, patience: float = 12.0) -> None:
        """Wait for the end of a node."""
        if not self.recorder.wait(lambda: self.nodes[name].exit_code is not None, patience):
            raise StateError(f'the {name} has not left within {patience:g} s')

    def name_of(self, node: str) -> str:
        """Return the name under which ROS knows a process."""
        return NAMES[node]

    def crowd(self, share: float) -> list[Child]:
        """Start a program for each processor that wants a share of it."""
        return [self._children.start(f'hog {k}', 'robodyn_ros.reliability.cpu_load', [str(share)],
                                     self._logs / f'campaign_hog_{k}.log')
                for k in range(os.cpu_count() or 1)]

    def wait(self, duration: float) -> None:
        """Go on recording for a time in s."""
        self.recorder.wait(timeout=duration)

    # --- what was said ----------------------------------------------------------------------

    def mark(self) -> None:
        """Forget what was recorded and said until now."""
        self._begun = [(child, child.log.stat().st_size) for child in self.nodes.values()]
        self.recorder.forget()

    def said(self) -> list[tuple[str, str, str]]:
        """Return (process, level, text) of what was logged since the mark."""
        return [(child.name, level, text) for child, heard in self._begun
                for level, text in child.messages(heard)]

    def remove_logs(self) -> None:
        """Remove what the processes said."""
        for log in self._logs.glob('campaign_*_*.log'):
            log.unlink(missing_ok=True)

    # --- motion -----------------------------------------------------------------------------

    def answered(self, *rows) -> tuple[int, str]:
        """Send points as `send` does; return when that was, in ns, and the controller's answer."""
        for _ in range(_SENDS):
            heard = self.nodes['controller'].log.stat().st_size
            sent = self.send(*rows)
            answer = self.answer(heard)
            if answer:
                return sent, answer
        return sent, 'the controller does not answer a trajectory'

    def answer(self, heard: int) -> str:
        """Return what the controller logs about a trajectory; empty if nothing."""
        def said() -> list[str]:
            return [text for _, text in self.nodes['controller'].messages(heard)
                    if text.startswith('trajectory ')]

        return said()[-1] if self.recorder.wait(said, _ANSWER) else ''

    def move(self) -> int:
        """Begin the motion; return when, in ns (raises StateError if that is refused)."""
        motion = self.motion
        sent, answer = self.answered(motion.times, motion.positions, motion.velocities,
                                     motion.accelerations)
        if 'accepted' not in answer:
            raise StateError(answer)
        return sent

    def defective(self, joint: int):
        """Yield defective trajectories with words of their refusal."""
        return defective(self.model, self._start, joint)

    def false_state(self, names, q: np.ndarray):
        """Return a joint state of an arm that stands still somewhere."""
        return joint_state(names, q, 0.0 * q)

    def parameters(self, rows) -> list:
        """Return the values that the parameters of (node, name, ...) rows have."""
        values = []
        for node in NODES:
            names = [row[1] for row in rows if row[0] == node]
            values += self.recorder.get_parameters(NAMES[node], names)
        return values

    def where(self) -> tuple[np.ndarray, np.ndarray]:
        """Return true position and velocity."""
        newest = self.recorder.truth.newest(self.model.joint_names)
        return newest.position[-1], newest.velocity[-1]

    # --- recovery ---------------------------------------------------------------------------

    def recover_all(self) -> str:
        """
        Bring the arm back to where it began, with what is needed for it.

        Returns
        -------
        how : str
            'itself', 'reset' or 'restart'.

        Raises
        ------
        StateError
            It cannot be brought back.

        """
        how = 'itself'
        for name in NODES:
            if self.nodes[name].exit_code is not None:
                self.start_node(name)
                self.recorder.forget_words()
                how = 'restart'
        if self.until_armed() and how == 'itself':
            how = 'reset'
        for _ in range(4):
            answer = self._return()
            if not answer:
                return how
            if 'fault' in answer:
                self.recover()
                how = 'reset' if how == 'itself' else how
        raise StateError(answer)

    def until_armed(self) -> bool:
        """Wait until the guard is armed; return whether it had to be reset for that."""
        reset, asked = False, 0.0

        def armed() -> bool:
            return (self.recorder.word == 'armed' and self.recorder.phase == 'active'
                    and len(self.recorder.truth) > 0)

        end = time.monotonic() + _START
        while not self.recorder.wait(armed, 0.3):
            now = time.monotonic()
            if now > end:
                raise StateError(
                    f'within {_START:g} s the guard is {self.recorder.word!r}, the controller '
                    f'{self.recorder.phase!r}; it said: {self._last_words()}')
            if self.recorder.word == 'commanding' and now > asked + 1.0:
                asked, reset = now, True
                self.recorder.call(f'{guard.NAME}/reset')
        return reset

    @property
    def loop(self) -> str:
        """Return which loop the controller said last that it has."""
        said = [text for _, text in self.nodes['controller'].messages()
                if text.startswith('loop: ')]
        return said[-1] if said else 'loop: unknown'

    def _last_words(self) -> str:
        said = self.nodes['controller'].messages()
        return said[-1][1] if said else 'nothing'

    def _return(self) -> str:
        """Go to where the motion begins; return why not, empty if the arm is there."""
        start, (q, _) = self._start, self.where()
        with np.errstate(divide='ignore', invalid='ignore'):
            way = np.nanmax(np.abs(q - start) / self.model.velocity_limit)
        duration = max(0.4, _SLOW * float(way))
        _, answer = self.answered([duration], [start], [0.0 * start], [0.0 * start])
        if 'accepted' not in answer:
            return answer

        def there() -> bool:
            q, qd = self.where()
            return bool(np.abs(q - start).max() < _NEAR and np.abs(qd).max() < _STILL)

        if self.recorder.wait(there, duration + _SETTLE):
            return ''
        errors = [text for who, level, text in self.said() if level == 'ERROR']
        return f'the arm does not arrive where it began; {errors[-1] if errors else "no error"}'
