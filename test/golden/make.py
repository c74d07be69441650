"""
Make golden logs anew.

    python test/golden/make.py [--force] [SCENARIO...]

A log that the present code reproduces is kept; for the others the differences are printed. The
reason for a change belongs into the message of the commit, see CONTRIBUTING.md.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path
import sys

if __name__ == '__main__':
    sys.path[:0] = map(str, (Path(__file__).resolve().parents[2], Path(__file__).parents[1]))

from golden.controller_host import ControllerHost  # noqa: E402
from golden.log_file import path_of, read, write  # noqa: E402
from golden.recorder import Recorder  # noqa: E402
from golden.replay import replay  # noqa: E402
from golden.scenario import Robot, ROBOTS  # noqa: E402
from golden.scenarios import node_scenarios, scenarios  # noqa: E402
from golden.simulated import Arm, faulty, Timetable  # noqa: E402


def record(robot, scenario):
    """Return header and arrays of a new log."""
    plain = scenario.plain()
    host = ControllerHost(robot.name, plain['setup'])
    options = dict(plain['arm'])
    recorder = Recorder(host, options.pop('effort', False))
    arm = Arm(robot, **options)
    pushed = {}
    for ns, spells, requests, kind in Timetable(scenario):
        pushes = {each[3]['link']: each[3]['wrench'] for each in plain['spells']
                  if each[2] == 'push' and each[0] <= 1e-9 * ns < each[1]}
        for link in {*pushed, *pushes}:
            arm.push(link, pushes.get(link))
        pushed = pushes
        state = faulty(arm.measured(), spells)
        for name, arguments in requests:
            if name in ('activate', 'resume'):
                recorder.step(ns, name, state)
            else:
                recorder.request(ns, name, arguments)
        if kind is not None:
            arm.torque = recorder.step(ns, kind, state).copy()
        arm.step()
    header = {'robot': robot.name, 'scenario': plain, 'requests': recorder.requests,
              'events': recorder.events}
    return header, recorder.arrays()


def record_node(robot, scenario, nodes):
    """Return header and arrays of a new log at the node."""
    from golden.node_log import NodeRecorder, Wire
    from golden.simulated_wire import SimulatedWire
    plain, wire = scenario.plain(), Wire()
    brakes = 'velocity' not in plain['arm']
    arm = SimulatedWire(robot, plain, Arm(robot, **plain['arm'], brakes=brakes), wire)
    order = plain['setup']['node'].get('command_joints') or robot.names
    recorder = NodeRecorder(robot.name, plain, nodes, arm.source, lambda torque: arm.send(
        [torque[order.index(name)] for name in robot.names]))
    header = {'robot': robot.name, 'scenario': plain, 'layouts': wire.layouts,
              'answers': recorder.answers, 'events': recorder.events}
    return header, {**wire.arrays(), **recorder.arrays()}


def main():
    """Make logs and print the differences to those before."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('scenario', nargs='*', help='names; default all')
    parser.add_argument('--robot', choices=ROBOTS, action='append', help='default both')
    parser.add_argument('--force', action='store_true', help='replace reproduced logs, too')
    options = parser.parse_args()
    known = [*scenarios(Robot(ROBOTS[0])), *node_scenarios(Robot(ROBOTS[0]))]
    unknown = [name for name in options.scenario if name not in known]
    if unknown:
        parser.error(f'no scenario {", ".join(unknown)}; there are {", ".join(known)}')
    chosen = options.scenario or known
    with ExitStack() as stack:
        nodes = any(name.startswith('node_') for name in chosen) and open_nodes(stack)
        for name in options.robot or ROBOTS:
            robot = Robot(name)
            for scenario in (*scenarios(robot).values(), *node_scenarios(robot).values()):
                if scenario.name in chosen:
                    print(f'{name}/{scenario.name}: '
                          f'{renew(robot, scenario, nodes, options.force)}', flush=True)


def open_nodes(stack):
    """Return the ROS nodes that scenarios at the node need."""
    from golden.node_host import ros_nodes
    return stack.enter_context(ros_nodes())


def renew(robot, scenario, nodes, force):
    """Make a log unless it is reproduced; return the result as text."""
    path, at_node = path_of(robot.name, scenario.name), scenario.name.startswith('node_')
    problems = ['new']
    if path.exists():
        problems = differences(*read(path), scenario, at_node and nodes)
        if not problems and not force:
            return 'kept'
    write(path, *(record_node(robot, scenario, nodes) if at_node else record(robot, scenario)))
    return '\n  '.join([f'made, {path.stat().st_size} bytes', *problems])


def differences(header, arrays, scenario, nodes):
    """Return the differences between a log and the present code."""
    if not scenario.is_that_of(header):
        return ['the script has changed']
    if nodes:
        from golden.node_log import replay_node
        return replay_node(header, arrays, nodes)
    return replay(header, arrays, ControllerHost(header['robot'], header['scenario']['setup']))


if __name__ == '__main__':
    main()
