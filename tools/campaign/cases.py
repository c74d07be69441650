"""The faults of the campaign: those of compiled runs, and those that take processes."""

from __future__ import annotations

from collections.abc import Callable
import signal

from robodyn_ros.montecarlo.cases import (
    Case, CASES as OF_THE_ARM, ENDS, REORDERED, SILENCE, SILENT, SURE, UNDISTURBED)
from robodyn_ros.montecarlo.effects import Faulty
from tools.campaign import injections as inject

_GUARD_COMMANDS = 'the guard commands the arm'
_STOPPED = 'deactivated: the last torque is the gravity torque'

# their effect is a function that injects the fault and returns when it is over
CASES = (
    # --- processes
    Case('controller killed', 'kill -9', inject.killed('controller'), ENDS,
         'the guard brings the arm to rest and holds it; a new controller takes over after a '
         'reset', ((0.0, _GUARD_COMMANDS),)),
    Case('driver killed', 'kill -9 of the simulator; it is started again',
         inject.driver_killed, ENDS, 'a fault is reported, and no torque is sent to the new '
         'driver; its brakes hold the arm until the controller is activated again',
         ((SURE, SILENT),), (0.4, 1.0)),
    Case('guard killed', 'kill -9', inject.killed('guard'), UNDISTURBED,
         'the controller reports it; the motion continues', ((0.0, 'the guard is silent'),)),
    Case('controller held up', 'SIGSTOP, then SIGCONT', inject.paused('controller'), ENDS,
         'a short pause may end the motion; after a long one the guard commands the arm, and the '
         'controller sends no torques', ((SURE, _GUARD_COMMANDS),), (0.05, 2.0)),
    Case('driver held up', 'SIGSTOP of the simulator, then SIGCONT', inject.paused('simulator'),
         ENDS, 'the arm is brought to rest; a fault after 0.25 s', ((SURE, SILENT),),
         (0.05, 2.0)),
    Case('guard held up', 'SIGSTOP, then SIGCONT', inject.paused('guard'), UNDISTURBED,
         'the motion continues; the guard sends no torques', (), (0.05, 2.0)),
    Case('Ctrl-C', 'SIGINT of the controller', inject.interrupted(signal.SIGINT), ENDS,
         'the arm comes to rest; the last torque is the gravity torque; exit code 0',
         ((0.0, _STOPPED),)),
    Case('SIGTERM', 'SIGTERM of the controller', inject.interrupted(signal.SIGTERM), ENDS,
         'the same', ((0.0, _STOPPED),)),
    Case('busy machine', 'programs that use 30 % of each processor', inject.cpu_loaded,
         UNDISTURBED, 'the motion continues', (), (1.5, 1.5)),
    Case('network cut', 'the link between the hosts of controller and driver is cut and restored',
         inject.network_cut, ENDS, 'the guard, on the host of the driver, brings the arm to '
         'rest; the controller sends no torques afterwards', ((SURE, _GUARD_COMMANDS),),
         (0.5, 3.0)),
    # --- joint states, commands, motors and loads
    *OF_THE_ARM,
    Case('other order', 'joints in reverse order, with their names', Faulty('reorder'),
         SILENCE, 'new under control, it counts as silence; the log names the joints',
         ((SURE, REORDERED),), (0.002, 1.0)),
    Case('extra joint', 'a joint that the arm does not have', Faulty('extra'), UNDISTURBED,
         'the motion continues', (), (0.1, 1.0)),
    Case('forgotten publisher', 'another node publishes joint states of the home position, 200 Hz',
         inject.forgotten_publisher, UNDISTURBED, 'it was not there at activation, so that its '
         'states are not used; the motion continues', (), (0.5, 2.0)),
    # --- requests
    Case('bad trajectories', 'one with every defect, during a motion',
         inject.bad_trajectories, UNDISTURBED, 'each is refused with its reason; the motion '
         'continues'),
    Case('bad parameters', 'out of range, of another type or length, unknown, read-only',
         inject.set_bad_parameters, UNDISTURBED, 'each is refused with its reason; no parameter '
         'changes; the motion continues'),
    Case('bad loads', 'an empty message on ~/gravity, a car on ~/payload', inject.bad_loads,
         UNDISTURBED, 'each is refused with its reason; the motion continues',
         ((0.0, r'refused on ~/gravity: .* 0 long'), (0.0, r'refused on ~/payload')), (0.5, 1.5)),
    Case('other URDF', 'robot_description of an arm twice as heavy', inject.other_urdf,
         UNDISTURBED, 'used by the next configuration only; the motion continues', (),
         (0.3, 1.0)),
    # --- other nodes in place of ours
    Case('two controllers', 'the same controller waits beside the first one; kill -9 of that one',
         inject.first_controller_killed, ENDS, 'the guard brings the arm to rest; the other '
         'controller takes over after a reset', ((0.0, _GUARD_COMMANDS),)),
    Case('heartbeats forged', 'another node publishes heartbeats, 200 Hz, while the controller is '
         'killed', inject.forged_heartbeats, ENDS, 'the guard brings the arm to rest; a new '
         'controller takes over after a reset', ((0.0, _GUARD_COMMANDS),), (0.5, 1.5)),
    Case('guard states forged', 'another node reports, 50 Hz, that the guard commands the arm',
         inject.forged_guard_states, UNDISTURBED, 'the motion continues', (), (0.5, 1.5)),
    Case('bad contract', 'another node publishes a configuration for the guard that is none',
         inject.other_contract, UNDISTURBED, 'logged and ignored; the motion continues', (),
         (0.5, 1.5)))

# faults that need two hosts
NETWORK = frozenset({'network cut'})
# called before the motion
PREPARED: dict[str, Callable] = {'two controllers': inject.second_controller}
