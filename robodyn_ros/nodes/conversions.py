"""Conversions between ROS messages and arrays in model order; joints are mapped by name."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
import math

from geometry_msgs.msg import InertiaStamped, PoseStamped, Vector3Stamped
import numpy as np
from numpy.typing import ArrayLike
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.exceptions import ArgumentError, ModelError
from robodyn_ros.model import Payload
from robodyn_ros.nodes.cdr import JointStateSample
from robodyn_ros.trajectory import TrajectoryPoint

OTHER_JOINTS = "a message named none of the model's joints"
_REORDERED = 'joints have changed places in the joint states'
_MOST_ORDERS = 64  # of the joints in messages, that are remembered


class JointStateAssembler:
    """
    Assembles the state of the model's joints from messages in any order.

    Extra joints are ignored. Joints may be reported in several messages (arm and gripper): the
    state is complete when every joint was reported since the last complete state. Of an arm under
    control the order of the joints stays: where joints change places their names may be exchanged,
    and feedback of one would drive another. Such messages are refused until the order is one of
    those that were received before.

    Parameters
    ----------
    joint_names : sequence of str
        The model's joints.
    q, qd, effort : (nv,) array
        Arrays for the state; NaN where effort, or velocity, is not reported.
    velocity_required : bool
        Whether messages without velocities are refused.
    scale : array_like
        Effort of messages by torque, one for all or per joint.

    Attributes
    ----------
    problem : str
        Reason why the last message was not used, or what the state still lacks.
    refused : int
        Number of messages that cannot be used.
    reordered : bool
        Whether the last message was refused for the order of its joints.

    """

    def __init__(self, joint_names: Sequence[str], q: np.ndarray, qd: np.ndarray,
                 effort: np.ndarray, velocity_required: bool = True, scale: ArrayLike = 1.0):
        self._scale = np.broadcast_to(scale, len(joint_names))
        self._names, self._velocity_required = tuple(joint_names), velocity_required
        self._index = {name: i for i, name in enumerate(joint_names)}
        # names, indices in message and model, and what is wrong with them
        self._layout: tuple[list[str], np.ndarray, np.ndarray, str] | None = None
        self._orders: dict[tuple[str, ...], None] = {}  # of our joints, the newest last
        self._keeps_order = False
        self._reported = np.zeros(len(self._names), dtype=bool)
        self.q, self.qd, self.effort = q, qd, effort
        self.problem = 'no message yet'
        self.refused, self.reordered = 0, False

    def keep_order(self, keeps: bool) -> None:
        """Refuse messages whose joints have changed places from now on, or no longer."""
        if keeps is not self._keeps_order:
            self._keeps_order, self._layout = keeps, None

    def read(self, sample: JointStateSample) -> bool:
        """Read a message; return whether the state is now complete."""
        layout = self._layout
        source, target, wrong = (layout[1:] if layout is not None and layout[0] == sample.name
                                 else self._columns(sample.name))
        self.reordered = wrong.startswith(_REORDERED)
        if wrong:
            return self.refuse(wrong)
        if not target.size:
            self.problem = OTHER_JOINTS
            return False
        position, velocity = sample.position, sample.velocity
        count = len(sample.name)
        has_velocity = velocity.size == count
        if position.size != count or not (has_velocity or velocity.size == 0 and not (
                self._velocity_required)):
            return self.refuse(
                f'{count} names, {position.size} positions, {velocity.size} '
                'velocities; the controller needs position and velocity of every joint')
        has_effort = sample.effort.size == count
        self.q[target] = position[source]
        self.qd[target] = velocity[source] if has_velocity else math.nan
        self.effort[target] = (sample.effort[source] / self._scale[target] if has_effort
                               else math.nan)
        if target.size < self.q.size and not self._all_reported(target):
            return False
        self.problem = ''
        return True

    def refuse(self, problem: str) -> bool:
        """Count a message that is not used, and store the reason; return False."""
        self.problem = problem
        self.refused += 1
        return False

    def _all_reported(self, target: np.ndarray) -> bool:
        """Record the joints of a partial message; return whether all are reported."""
        self._reported[target] = True
        missing = [name for name, reported in zip(self._names, self._reported) if not reported]
        if missing:
            self.problem = f'joints not reported: {", ".join(missing)}'
            return False
        self._reported.fill(False)
        return True

    def _columns(self, names: list[str]) -> tuple[np.ndarray, np.ndarray, str]:
        """Return indices in message and model, and what is wrong with the names, or ''."""
        pairs = [(k, self._index[name]) for k, name in enumerate(names) if name in self._index]
        table = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        repeated = [name for name in self._names if names.count(name) > 1]
        wrong = (f"joint '{repeated[0]}' is named twice in one message" if repeated else
                 self._change_of_order(tuple(names[k] for k, _ in pairs)))
        self._layout = (list(names), table[:, 0], table[:, 1], wrong)
        return self._layout[1:]

    def _change_of_order(self, ours: tuple[str, ...]) -> str:
        """Return which joints have changed places, or ''; learn the order unless it is kept."""
        if not self._keeps_order:
            self._orders.pop(ours, None)
            self._orders[ours] = None
            if len(self._orders) > _MOST_ORDERS:
                del self._orders[next(iter(self._orders))]
            return ''
        whole = [known for known in self._orders if set(ours) <= set(known)]
        moved = [_moved(known, ours) for known in whole or self._orders]
        if all(moved) if whole else any(moved):
            least = min((each for each in moved if each), key=len)
            return (f'{_REORDERED} ({", ".join(least)}): check joint names; to use the new order, '
                    'deactivate and activate the controller')
        return ''


def _moved(known: Sequence[str], ours: Sequence[str]) -> list[str]:
    """Return the joints that have changed places in an order, with those that were there."""
    pairs = zip((name for name in ours if name in known), (name for name in known if name in ours))
    return [f'{new} for {old}' for new, old in pairs if new != old]


def efforts_by_name(message: JointStateSample, joint_names: Sequence[str]) -> np.ndarray:
    """
    Return the efforts of these joints in a message, (nv,).

    Raises
    ------
    ArgumentError
        A joint is missing, or the numbers of efforts and names differ.

    """
    if len(message.effort) != len(message.name):
        raise ArgumentError(f'{len(message.name)} names, {len(message.effort)} efforts; give one '
                            'for each joint', size=len(message.effort))
    efforts = dict(zip(message.name, message.effort))
    missing = [name for name in joint_names if name not in efforts]
    if missing:
        raise ArgumentError(f'joints not named: {", ".join(missing)}', joint=missing[0])
    return np.array([efforts[name] for name in joint_names])


def trajectory_points(message: JointTrajectory) -> list[TrajectoryPoint]:
    """Return the points of a message."""
    return [TrajectoryPoint(point.positions, point.velocities, point.accelerations, point.effort,
                            seconds(point.time_from_start)) for point in message.points]


def seconds(stamp) -> float:
    """Return a Time or Duration message in seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def in_seconds(stamp: int) -> float:
    """Return a time in ns in seconds, with the same rounding as `seconds`."""
    whole, rest = divmod(stamp, 1_000_000_000)
    return whole + 1e-9 * rest


def nanoseconds(stamp) -> int:
    """Return a Time message in nanoseconds since the epoch."""
    return 1_000_000_000 * stamp.sec + stamp.nanosec


def set_stamp(stamp, since: int) -> None:
    """Set a Time message from nanoseconds since the epoch."""
    stamp.sec, stamp.nanosec = divmod(since, 1_000_000_000)


def payload_from(message: InertiaStamped) -> Payload:
    """Return the payload in a message; raise if it names no link or is not physical."""
    inertia = message.inertia
    about_com = np.array([
        [inertia.ixx, inertia.ixy, inertia.ixz], [inertia.ixy, inertia.iyy, inertia.iyz],
        [inertia.ixz, inertia.iyz, inertia.izz]])
    return Payload(link_of(message, 'holds it'), inertia.m, np.array(vector(inertia.com)),
                   about_com)


def payload_message(payload: Payload) -> InertiaStamped:
    """Return the message of a payload, without a stamp."""
    message, (xx, xy, xz, _, yy, yz, _, _, zz) = InertiaStamped(), payload.inertia.flat
    inertia = message.inertia
    message.header.frame_id = payload.link
    inertia.m = payload.mass
    inertia.com.x, inertia.com.y, inertia.com.z = payload.com.tolist()
    inertia.ixx, inertia.ixy, inertia.ixz = float(xx), float(xy), float(xz)
    inertia.iyy, inertia.iyz, inertia.izz = float(yy), float(yz), float(zz)
    return message


def gravity_from(message: Vector3Stamped, base: str) -> list[float]:
    """Return gravity in the frame of the base; raise if the message has another frame."""
    _require_base(message, base, 'gravity')
    return vector(message.vector)


def pose_from(message: PoseStamped, base: str) -> tuple[list[float], list[float]]:
    """Return position and quaternion (x, y, z, w); raise if the frame is not the base."""
    _require_base(message, base, 'a target pose')
    turn = message.pose.orientation
    return vector(message.pose.position), [*vector(turn), turn.w]


def _require_base(message, base: str, what: str) -> None:
    frame = message.header.frame_id.strip('/')
    if frame not in ('', base):
        raise ModelError(f'{what} in the frame {frame!r}; give it in that of the base, '
                         f'{base!r}', frame=frame)


def link_of(message, role: str) -> str:
    """Return the link that a message names; raise `ArgumentError` if it names none."""
    link = message.header.frame_id.strip('/')
    if not link:
        raise ArgumentError(f'header.frame_id is empty: name the link that {role}')
    return link


def vector(message) -> list[float]:
    """Return a vector, or a point, as a list."""
    return [message.x, message.y, message.z]


def point(q=(), qd=(), qdd=(), effort=(), time: float = 0.0) -> JointTrajectoryPoint:
    """Return a point; `time` is that from the start, in s."""
    message = JointTrajectoryPoint(
        positions=array('d', q), velocities=array('d', qd), accelerations=array('d', qdd),
        effort=array('d', effort))
    nanoseconds = max(round(1e9 * time), 0)
    message.time_from_start.sec, message.time_from_start.nanosec = divmod(nanoseconds, 10**9)
    return message
