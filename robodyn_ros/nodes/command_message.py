"""
Messages of commands, of any type: its fields are found once, their numbers are patched in place.

A map names the fields, each as FIELD:WHAT, where WHAT is

    effort, position, velocity, kp, kd   numbers of all joints: an array, or `*` in the path for an
                                         array of messages with a number each (motors.*.tau)
    names, stamp                         names of the joints; time of the command
    a number                             the same in all messages (control_mode:3)

A message is serialized with numbers that occur nowhere else; where they are found, each command is
written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
import re
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from robodyn_ros.exceptions import ArgumentError, near_matches, ParameterError, shown
from robodyn_ros.model.per_joint import COMMAND
from robodyn_ros.nodes.cdr import LITTLE_ENDIAN
from robodyn_ros.settings import Numbers, parameter, settings, Texts

_NAMES, _STAMP = 'names', 'stamp'
_EACH = '*'
_ELEMENT = re.compile(r'(?:sequence<)?(\w+)/(?:msg/)?(\w+)')
_TYPE = re.compile(r'(\w+)/(?:msg/)?(\w+)')
_NUMBER = re.compile(r'-?\d+(\.\d*)?')
_TIME = np.array([0x2F6B59C3, 0x3A4DB0E5], '<u4')  # seconds and nanoseconds to be found again


@settings()
class CommandSettings:
    """Topics of the commands."""

    effort_command_topic: str = parameter(
        'effort_controller/commands', 'Topic on which torques are published, as '
        'forward_command_controller subscribes to them.', read_only=True)
    command_joints: Texts = parameter(
        (), 'Order of the joints in the command; empty: the order of the model.',
        kind='string_array', read_only=True)
    effort_scale: Numbers = parameter(
        (1.0,), 'Effort of commands and joint states by torque at the joint, where the driver has '
        'another unit, factor or sign.', '', -1e6, 1e6, per_joint=True, read_only=True)
    publish_joint_commands: bool = parameter(
        False, 'Publication of named efforts on joint_commands, too.', read_only=True)


@settings()
class MessageSettings:
    """Messages of the commands."""

    command_type: str = parameter(
        'std_msgs/msg/Float64MultiArray', 'Type of the messages of commands.',
        read_only=True)
    command_fields: Texts = parameter(
        ('data:effort',), 'Their fields, each as FIELD:WHAT. WHAT is effort, position, velocity, '
        'kp or kd, of all joints; names, stamp, or a number.', kind='string_array',
        read_only=True)

    @property
    def usual(self) -> bool:
        """Return whether they are arrays of efforts."""
        return self == MessageSettings()


@settings()
class DriveSettings(MessageSettings):
    """Messages of the commands, and gains of the drives that get them."""

    effort_quantum: Numbers = parameter(
        (0.0,), 'Steps of torque that the driver makes; 0: none.', 'N m or N', 0.0, 100.0,
        per_joint=True, read_only=True)
    drive_kp: Numbers = parameter(
        (0.0,), 'Stiffness that is commanded with kp; its share is subtracted from the effort.',
        'N m/rad or N/m', 0.0, 1e4, per_joint=True, read_only=True)
    drive_kd: Numbers = parameter(
        (0.0,), 'Damping that is commanded with kd, or that the drive always has; its share is '
        'subtracted from the effort.', 'N m s/rad or N s/m', 0.0, 1e3, per_joint=True,
        read_only=True)


def command_order(joint_names: Sequence[str], command_joints: Sequence[str]) -> np.ndarray:
    """
    Return the model index of each joint of a command.

    Raises
    ------
    ParameterError
        `command_joints`, if there are any, are not the model's joints in some order.

    """
    order = list(command_joints) or list(joint_names)
    for name in order:
        if name not in joint_names:
            raise ParameterError(
                f"command_joints: the model has no joint '{name}'; "
                f'{near_matches(name, joint_names)}', parameter='command_joints')
    missing = [name for name in joint_names if name not in order]
    if missing or len(set(order)) != len(order):
        what = f'leaves out {", ".join(missing)}' if missing else 'names a joint twice'
        raise ParameterError(
            f'command_joints {what}: every joint of the model must be commanded; lock the '
            'others with the parameter locked, or choose a chain with base and tip',
            parameter='command_joints')
    return np.array([list(joint_names).index(name) for name in order], dtype=np.intp)


class CommandMessage:
    """
    A message of commands, and the places of its numbers.

    Parameters
    ----------
    joint_names : sequence of str
        The model's joints.
    command_joints : sequence of str
        Order of the joints; empty: the model's.
    message : MessageSettings
        Type and fields.

    Attributes
    ----------
    type : type
        Type of the message.
    order : (n,) array of int
        Model index of each joint of the message.
    joints : list of str
        Joints of the message, in order.
    roles : set of str
        What the fields are.
    data : (size,) array of uint8
        The last message; initially of zeros.
    places : (k, 3) array of int64
        Of each number: index in the command, the rows `COMMAND` one after the other; begin in
        the message; size in bytes, 8, or 4 of a float32.
    stamp : int
        Begin of the stamp; 0 without one.

    Raises
    ------
    ParameterError
        There is no such type or field, or it cannot hold these numbers.

    """

    def __init__(self, joint_names: Sequence[str], command_joints: Sequence[str],
                 message: MessageSettings):
        self.order = command_order(joint_names, command_joints)
        self.joints = [joint_names[j] for j in self.order]
        self._nv = len(joint_names)
        self.type = _type(message.command_type)
        self._fields = [_field(each) for each in message.command_fields]
        self.roles = {what for _, what in self._fields}
        if COMMAND[0] not in self.roles:
            raise ParameterError('command_fields has no effort: add FIELD:effort',
                                 parameter='command_fields')
        marks = np.random.default_rng(1).uniform(1.0, 2.0, (len(COMMAND), self._nv))
        self.data = np.frombuffer(bytearray(serialize_message(self._filled(marks))), np.uint8)
        if bytes(self.data[:4]) != LITTLE_ENDIAN:
            raise ParameterError('messages are not little-endian here', parameter='command_type')
        self.places = np.array([
            (row * self._nv + j, *self._find(marks[row, j], f'{path}:{what}'))
            for path, what in self._fields if what in COMMAND for row in [COMMAND.index(what)]
            for j in self.order], dtype=np.int64)
        self.stamp = bytes(self.data).find(_TIME.tobytes()) if _STAMP in self.roles else 0
        self._parts = [(kind, index, begin[:, None] + np.arange(size)) for kind, size in (
            (np.dtype('<f8'), 8), (np.dtype('<f4'), 4))
            for index, begin, _ in [self.places[self.places[:, 2] == size].T] if index.size]
        self.write(np.zeros(marks.size))

    def write(self, command: np.ndarray, stamp: int = 0) -> bytes:
        """
        Return the serialized message.

        Parameters
        ----------
        command : (5 nv,) array
            The rows `COMMAND`, one after the other, in model order; those that the message
            has not need not be there.
        stamp : int
            Time of the command, in ns since the epoch.

        """
        for kind, index, places in self._parts:
            numbers = command[index].astype(kind, copy=False)
            self.data[places] = numbers.view(np.uint8).reshape(places.shape)
        if self.stamp:
            time = np.array(divmod(stamp, 1_000_000_000), '<u4')
            self.data[self.stamp:self.stamp + 8] = time.view(np.uint8)
        return self.data.tobytes()

    def read(self, message: Any) -> np.ndarray:
        """
        Return the command in a message, (5, nv) in the order of the model; 0 where it has none.

        Raises
        ------
        ArgumentError
            A field has not a finite number for each of the joints, or names other joints.

        """
        command = np.zeros((len(COMMAND), self._nv))
        for path, what in self._fields:
            if what not in (*COMMAND, _NAMES):
                continue
            try:
                values = list(_values(message, path, self._nv))
            except (AttributeError, IndexError):
                values = []
            if len(values) != self._nv:
                raise ArgumentError(f'{path} has {len(values)} entries for {self._nv} joints: '
                                    f'{", ".join(self.joints)}', size=len(values))
            if what == _NAMES and values != self.joints:
                raise ArgumentError(f'{path} names {", ".join(map(shown, values))}: expected are '
                                    f'{", ".join(self.joints)}', joints=values)
            if what in COMMAND:
                command[COMMAND.index(what), self.order] = values
        if not np.isfinite(command).all():
            j = int(np.argmin(np.isfinite(command[:, self.order].sum(axis=0))))
            raise ArgumentError(f'a number of joint {self.joints[j]!r} is not finite',
                                joint=self.joints[j])
        return command

    def _filled(self, numbers: np.ndarray) -> Any:
        """Return a message with these numbers, (5, nv), and a time that is found in its bytes."""
        message = self.type()
        for path, what in self._fields:
            value: Any = (numbers[COMMAND.index(what), self.order].tolist() if what in COMMAND else
                          self.joints if what == _NAMES else _TIME.tolist() if what == _STAMP
                          else float(what))
            paths = ([path.replace(_EACH, str(k)) for k in range(self._nv)] if _EACH in path
                     else [f'{path}.{each}' for each in ('sec', 'nanosec')] if what == _STAMP
                     else [path])
            for k, each in enumerate(paths):
                _assign(message, each, value if len(paths) == 1 else value[k], f'{path}:{what}')
        return message

    def _find(self, mark: float, field: str) -> tuple[int, int]:
        """Return begin and size of a number that was serialized."""
        found = [(begin, kind.itemsize) for kind in (np.dtype('<f8'), np.dtype('<f4'))
                 for begin in _finds(self.data.tobytes(), np.array(mark, kind).tobytes())]
        if len(found) != 1:
            raise _wrong(field, 'it is no array of float64 or float32, or is named twice')
        return found[0]


def _finds(data: bytes, part: bytes) -> Iterator[int]:
    return (each.start() for each in re.finditer(re.escape(part), data))


def _wrong(field: str, why: str) -> ParameterError:
    return ParameterError(f'command_fields has {field!r}: {why}', parameter='command_fields',
                          value=field)


def _field(entry: str) -> tuple[str, str]:
    """Return path and meaning of an entry of `command_fields`."""
    path, _, what = entry.rpartition(':')
    known = (*COMMAND, _NAMES, _STAMP)
    if not path or what not in known and not _NUMBER.fullmatch(what):
        raise _wrong(entry, 'write it as FIELD:WHAT, where WHAT is a number or one of '
                     + ', '.join(known))
    return path, what


def _type(name: str) -> Any:
    """Return the type of messages of a name, such as std_msgs/msg/Float64MultiArray."""
    found = _TYPE.fullmatch(name)
    try:
        if found is None:
            raise ImportError('write it as PACKAGE/msg/NAME')
        return getattr(import_module(f'{found[1]}.msg'), found[2])
    except (ImportError, AttributeError) as error:
        raise ParameterError(f'command_type is {name!r}: {error}; source the workspace that has '
                             'it', parameter='command_type', value=name) from error


def _assign(message: Any, path: str, value: Any, field: str) -> None:
    """Set a field of a message, and append the messages of arrays that it is part of."""
    *parents, last = path.split('.')
    at, kind = message, ''
    try:
        for part in parents:
            if part.isdigit():
                for _ in range(len(at), int(part) + 1):
                    at.append(_type(kind)())
                at = at[int(part)]
            else:
                kind, at = _kind(at, part), getattr(at, part)
        _kind(at, last)
        before = getattr(at, last)
        if isinstance(before, np.ndarray) and len(before) != len(value):
            raise ValueError(f'it has {len(before)} numbers, the arm {len(value)} joints')
        setattr(at, last, type(before)(value) if isinstance(before, (int, float)) else value)
    except KeyError as error:
        raise _wrong(field, str(error.args[0])) from error
    except (AssertionError, AttributeError, TypeError, ValueError, IndexError) as error:
        what = str(error).splitlines()[0] if str(error) else 'it is not an array of these numbers'
        raise _wrong(field, what) from error


def _kind(message: Any, name: str) -> str:
    """Return the type of the message in a field, or in the array of a field; '' if it is none."""
    kinds = message.get_fields_and_field_types()
    if name not in kinds:
        raise KeyError(f'{type(message).__name__} has no field {name!r}; '
                       f'{near_matches(name, kinds)}')
    found = _ELEMENT.match(kinds[name])
    return f'{found[1]}/{found[2]}' if found else ''


def _values(message: Any, path: str, count: int) -> Iterator:
    """Yield the values of an array, or of a field of each message of an array."""
    for k in range(count) if _EACH in path else [0]:
        at = message
        for part in path.split('.'):
            at = (at[k] if part == _EACH else at[int(part)] if part.isdigit()
                  else getattr(at, part))
        yield from [at] if _EACH in path else at
