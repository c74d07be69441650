"""Trajectories as text, for files and `ros2 topic pub`."""

from __future__ import annotations

from collections.abc import Sequence


def trajectory_message(joint_names: Sequence[str], times, positions, velocities=None,
                       accelerations=None) -> str:
    """Return a trajectory_msgs/JointTrajectory as YAML; (n,) times and (n, nv) rows."""
    rows = {name: values for name, values in (
        ('positions', positions), ('velocities', velocities), ('accelerations', accelerations))
        if values is not None}
    lines = ['joint_names: [' + ', '.join(f"'{name}'" for name in joint_names) + ']', 'points:']
    for k, time in enumerate(times):
        seconds, nanoseconds = divmod(round(1e9 * time), 1_000_000_000)
        fields = [f'{name}: [{", ".join(f"{value:.7f}" for value in values[k])}]'
                  for name, values in rows.items()]
        lines.append(f'- {{{", ".join(fields)}, '
                     f'time_from_start: {{sec: {seconds}, nanosec: {nanoseconds}}}}}')
    return '\n'.join(lines) + '\n'
