"""Parameters of nodes that command torques, the controller and its guard."""

from __future__ import annotations

from robodyn_ros.settings import parameter, settings, Texts


@settings()
class CommandSettings:
    """Topics of the commands."""

    effort_command_topic: str = parameter(
        'effort_controller/commands', 'Topic on which torques are published, as '
        'forward_command_controller subscribes to them.', read_only=True)
    command_joints: Texts = parameter(
        (), 'Order of the joints in the command; empty: the order of the model.',
        kind='string_array', read_only=True)
    publish_joint_commands: bool = parameter(
        False, 'Publication of named efforts on joint_commands, too.', read_only=True)
