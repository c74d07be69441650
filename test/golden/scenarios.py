"""All scenarios at the controller, by name."""

from dataclasses import replace

from golden import (
    scenarios_contact, scenarios_laws, scenarios_limits, scenarios_motion, scenarios_silence)

_GROUPS = (scenarios_laws, scenarios_motion, scenarios_silence, scenarios_contact,
           scenarios_limits)


def scenarios(robot):
    """Return the scenarios of a robot."""
    made = [_with_rotors(make(robot), robot) for group in _GROUPS for make in group.ALL]
    return {each.name: each for each in made}


def _with_rotors(scenario, robot):
    gains = {'armature': robot.rotors, **scenario.setup.get('gains', {})}
    return replace(scenario, setup={**scenario.setup, 'gains': gains})
