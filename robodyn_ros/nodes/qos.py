"""Qualities of service of the topics, each with its reason."""

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def newest(depth: int = 1) -> QoSProfile:
    """
    Return the profile of a stream of which only the newest message counts, for subscribers.

    Best effort takes messages of reliable and of best effort publishers.
    """
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth,
                      reliability=ReliabilityPolicy.BEST_EFFORT,
                      durability=DurabilityPolicy.VOLATILE)


def reliable(depth: int = 1) -> QoSProfile:
    """
    Return the profile of a stream that both kinds of subscribers can take, and of commands.

    A short queue: what is late is of no use to a control loop.
    """
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth,
                      reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.VOLATILE)


def latched() -> QoSProfile:
    """Return the profile of what late joiners must get as well, such as `robot_description`."""
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1,
                      reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)
