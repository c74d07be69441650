"""Numbers of joints, as people write them."""

from __future__ import annotations

from robodyn_ros.exceptions import ParameterError


def joint_values(parameter: str, entries: tuple[str, ...],
                 form: str = 'joint:position, such as finger_joint:0.02') -> dict[str, float]:
    """
    Return joints and numbers from texts like `finger_joint:0.02`.

    Parameters
    ----------
    parameter : str
        Name of the parameter that has these texts.
    entries : tuple of str
        Its value.
    form : str
        How they should look, for messages.

    Raises
    ------
    ParameterError
        A text is not of this form, or a joint is named twice.

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
