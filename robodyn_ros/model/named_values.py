"""Numbers by joint name, from parameter texts such as `finger_joint:0.02`."""

from __future__ import annotations

from robodyn_ros.exceptions import ParameterError


def joint_values(parameter: str, entries: tuple[str, ...],
                 form: str = 'joint:position, such as finger_joint:0.02') -> dict[str, float]:
    """
    Parse joint names and numbers from texts such as `finger_joint:0.02`.

    Parameters
    ----------
    parameter : str
        Name of the parameter, for messages.
    entries : tuple of str
        Value of the parameter.
    form : str
        Expected form of an entry, for messages.

    Raises
    ------
    ParameterError
        An entry does not have this form, or a joint is named twice.

    """
    numbers: dict[str, float] = {}
    for entry in entries:
        joint, colon, text = entry.rpartition(':')
        joint = joint.strip()
        try:
            value = float(text)
        except ValueError:
            colon = ''
        if not colon or not joint:
            raise ParameterError(f'parameter {parameter!r} has the entry {entry!r}: write it as '
                                 + form, entry=entry)
        if joint in numbers:
            raise ParameterError(f'parameter {parameter!r} names {joint!r} twice: leave one out',
                                 joint=joint)
        numbers[joint] = value
    return numbers
