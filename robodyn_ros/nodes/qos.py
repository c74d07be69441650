"""Quality of service profiles of the topics."""

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

SOURCES = 8  # publishers of a latched topic whose messages can wait
_STATES = 4  # states that can wait: those of a gripper must not displace the arm's


def newest(depth: int = 1) -> QoSProfile:
    """
    Return the profile of subscriptions where only the newest message counts.

    Best effort is compatible with reliable and with best effort publishers.
    """
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth,
                      reliability=ReliabilityPolicy.BEST_EFFORT,
                      durability=DurabilityPolicy.VOLATILE)


def joint_states() -> QoSProfile:
    """Return the profile of subscriptions of joint states; a gripper may report on their topic."""
    return newest(_STATES)


def reliable(depth: int = 1) -> QoSProfile:
    """
    Return the profile of commands and of publishers for all kinds of subscribers.

    The queue is short, as a control loop does not use late messages.
    """
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth,
                      reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.VOLATILE)


def latched(depth: int = 1) -> QoSProfile:
    """
    Return the profile of topics that late subscribers receive, such as `robot_description`.

    A subscription that looks now and then needs a depth of `SOURCES`: each publisher sends once,
    and the message of a wrong one must not displace that of the right one.
    """
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth,
                      reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)
