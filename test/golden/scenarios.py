"""All scenarios by name: the public functions of a robot alone, in the modules of scenarios."""

from dataclasses import replace
import inspect

from golden import (
    scenarios_contact, scenarios_laws, scenarios_limits, scenarios_motion, scenarios_node,
    scenarios_pose, scenarios_silence)
from golden.scenario import ROBOTS

_GROUPS = (scenarios_laws, scenarios_motion, scenarios_pose, scenarios_silence,
           scenarios_contact, scenarios_limits)
# what does not depend on the arm is recorded with the first one only
_ONCE = ('_refused', 'law_raises', 'law_nan', 'law_wrong', 'law_slow', 'before_activation')
_NODE_WITH_BOTH = ('joint_order', 'silences', 'process_paused', 'fixed_rate', 'lockstep',
                   'shutdown_moving', 'shutdown_release', 'guard_takes_over')


def scenarios(robot):
    """Return the scenarios of a robot at the controller."""
    return {name: each for module in _GROUPS for name, each in _made(module, robot)
            if robot.name == ROBOTS[0] or not name.endswith(_ONCE)}


def node_scenarios(robot):
    """Return the scenarios of a robot at the node."""
    return {f'node_{name}': replace(each, name=f'node_{name}')
            for name, each in _made(scenarios_node, robot)
            if robot.name == ROBOTS[0] or name in _NODE_WITH_BOTH}


def _made(module, robot):
    for name, make in vars(module).items():
        if (inspect.isfunction(make) and make.__module__ == module.__name__ and name[0] != '_'
                and list(inspect.signature(make).parameters) == ['robot']):
            scenario = make(robot)
            gains = {'armature': robot.rotors, **scenario.setup.get('gains', {})}
            yield name, replace(scenario, name=name, setup={**scenario.setup, 'gains': gains})
