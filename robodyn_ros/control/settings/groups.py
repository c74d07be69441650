"""Groups of settings: of states, laws, contact and motions."""

from __future__ import annotations

from collections.abc import Mapping
import math

from robodyn_ros.control.friction import SMOOTHING
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.safety.limits import MAX_TORQUE
from robodyn_ros.settings import for_each_joint, Numbers, parameter, settings

VELOCITY_SOURCES = ('auto', 'measured', 'estimated')
# beyond any arm: a mistake of units, or an attack
MAX_FREQUENCY = 500.0    # rad/s
MAX_STIFFNESS = 1e6      # N/m, N m/rad
MAX_DAMPING = 1e5        # N s/m, N m s/rad
MAX_INERTIA = 1e4        # kg, kg m^2

AXES = ('base', 'target')
TORQUE_SOURCES = ('command', 'measured')
REACTIONS = ('report', 'stop', 'float')  # to a collision
STREAM_MODES = ('auto', 'always', 'never')


@settings('position_limits')
class PositionLimits:
    """Arm at and beyond its position limits."""

    tolerance: float = parameter(
        0.01, 'Distance beyond a position limit that counts as inside, for measured positions, '
        'not for references.', 'rad or m', 0.0, 0.1, read_only=True)
    recovery: float = parameter(
        0.2, 'Largest distance beyond a position limit from which an arm at rest is activated, '
        'for motion inwards only; 0: activation is refused beyond the tolerance.', 'rad or m',
        0.0, 1.0, read_only=True, in_ros=False)
    recovery_speed: float = parameter(
        0.1, 'Largest speed of that motion.', 'rad/s or m/s', 0.001, 1.0, read_only=True,
        in_ros=False)

    @property
    def furthest(self) -> float:
        """Largest distance beyond a limit from which an arm is activated, in rad or m."""
        return max(self.tolerance, self.recovery)


@settings('stale')
class StaleSettings:
    """Joint states that are used, and their absence."""

    hold: float = parameter(
        0.05, 'Silence of the joint states after which the arm is brought to rest by the model '
        'alone.', 's', 0.002, 1.0, read_only=True)
    stop: float = parameter(
        0.25, 'Silence after which a fault is latched.', 's', 0.004, 10.0, read_only=True)
    jump: float = parameter(
        0.06, 'Jump of a position that is accepted, as time at the velocity limit of the joint: '
        '0.06 is 0.09 rad at 1.5 rad/s. A state that is further from there than twice that speed '
        'allows is rejected. .inf: none is.', 's', 0.001, math.inf, read_only=True, in_ros=False)
    max_skew: float = parameter(
        1.0, 'Largest difference between stamp and clock; .inf where the clocks are known to '
        'differ.', 's', 0.001, math.inf, read_only=True)

    def check(self) -> None:
        """Raise `ParameterError` unless hold comes before stop."""
        if not self.hold <= self.stop:
            raise ParameterError(f'stale.hold is {self.hold} s and stale.stop {self.stop} s; '
                                 'needed is hold <= stop', value=(self.hold, self.stop))


@settings('plausibility')
class PlausibilitySettings:
    """Consistency of measured positions and velocities."""

    motion: float = parameter(
        0.005, 'Motion from which on velocities are compared with positions: above resolution and '
        'noise, here three steps of an encoder of 12 bits. .inf: no comparison.', 'rad or m',
        1e-6, math.inf, read_only=True, in_ros=False)
    velocity_lag: float = parameter(
        0.025, 'Lag of measured velocities that is accepted: that of a filter in the driver, for '
        'example. At least 2.5 periods of the states.', 's', 1e-3, 1.0, read_only=True,
        in_ros=False)
    repeated: float = parameter(
        0.005, 'Motion that states which repeat position and velocity of all joints may hide; '
        'from there on they are rejected. .inf: none is.', 'rad or m', 1e-6, math.inf,
        read_only=True, in_ros=False)


# --- laws ----------------------------------------------------------------------------------------

@settings('impedance')
class ImpedanceSettings:
    """Joint impedances."""

    stiffness: Numbers = parameter(
        (), 'Stiffness of the joints; empty: by impedance.natural_frequency.', 'N m/rad or N/m',
        0.0, MAX_STIFFNESS, per_joint=True)
    natural_frequency: Numbers = parameter(
        (10.0,), 'Natural frequency of a joint with its own inertia on its spring.', 'rad/s',
        0.0, MAX_FREQUENCY, per_joint=True)
    damping_ratio: Numbers = parameter(
        (1.0,), 'Damping ratio of the joints, in any pose.', '', 0.0, 10.0, per_joint=True)
    damping: Numbers = parameter(
        (), 'Damping of the joints in place of the damping ratio.', 'N m s/rad or N s/m', 0.0,
        MAX_DAMPING, per_joint=True)
    inertia: Numbers = parameter(
        (), 'Inertia that joints show in shaped_impedance; empty: their usual own.',
        'kg m^2 or kg', 1e-6, MAX_INERTIA, per_joint=True)
    energy_tank: float = parameter(
        1.0, 'Energy that an increase of stiffness may feed into the arm; the increase waits for '
        'what is missing.', 'J', 0.0, 100.0, read_only=True, in_ros=False)


@settings('cartesian')
class CartesianSettings:
    """Laws and motions of a link."""

    link: str = parameter(
        '', 'Link of the tool: cartesian_impedance and operational_space control it, '
        '~/target_pose moves it, ~/estimated_wrench acts on it, and the mode adaptive estimates '
        'its payload; empty: the tip.', read_only=True)
    natural_frequency: Numbers = parameter(
        (15.0,), 'Natural frequency of the error of the link, one or six: along x, y, z, then '
        'about them. In operational_space exact, in cartesian_impedance for the usual mass of the '
        'link. 0: the direction is free.', 'rad/s', 0.0, MAX_FREQUENCY)
    damping_ratio: Numbers = parameter(
        (1.0,), 'Damping ratio of both laws, in any pose; one or six.', '', 0.0, 10.0)
    stiffness: Numbers = parameter(
        (), 'Stiffness of cartesian_impedance, one or six; empty: by cartesian.natural_frequency. '
        '0: the direction is free.', 'N/m and N m/rad', 0.0, MAX_STIFFNESS)
    damping: Numbers = parameter(
        (), 'Damping of cartesian_impedance in place of the damping ratio, one or six.',
        'N s/m and N m s/rad', 0.0, MAX_DAMPING)
    axes: str = parameter(
        'base', 'Frame of the directions: that of the base, or of the target.', choices=AXES)
    posture_frequency: Numbers = parameter(
        (5.0,), 'Natural frequency of the posture in the null space of the link.', 'rad/s', 0.0,
        MAX_FREQUENCY, per_joint=True)
    singularity: float = parameter(
        0.05, 'Part of its usual mobility below which a direction is damped.', '', 1e-3, 0.5,
        in_ros=False)
    velocity_limit: Numbers = parameter(
        (0.25, 1.0), 'Velocity limits of motions to a pose, linear and angular.', 'm/s, rad/s',
        1e-3, 20.0)
    acceleration_limit: Numbers = parameter(
        (1.0, 4.0), 'Acceleration limits of motions to a pose, linear and angular.',
        'm/s^2, rad/s^2', 1e-2, 500.0)
    max_tracking_error: Numbers = parameter(
        (0.1, 0.5), 'Distance of the link from its reference at which a motion to a pose waits, '
        'linear and angular.', 'm, rad', 1e-3, 10.0, in_ros=False)

    def check(self) -> None:
        """Raise `ParameterError` unless limits are pairs."""
        for name in ('velocity_limit', 'acceleration_limit', 'max_tracking_error'):
            if len(getattr(self, name)) != 2:
                raise ParameterError(f'cartesian.{name} is {list(getattr(self, name))}; give two '
                                     'numbers, linear then angular', parameter=f'cartesian.{name}')


@settings('adaptive')
class AdaptiveSettings:
    """Adaptive law."""

    rate: float = parameter(
        5.0, 'Rate of the adaptation: change of the estimate per power without a cause. 0: no '
        'adaptation.', 'kg s/(N m rad)', 0.0, 1000.0)
    sliding: Numbers = parameter(
        (), 'Rate at which the error of the mode adaptive dies out while s is 0; below kd, empty: '
        'a quarter of it.', '1/s', 0.0, 500.0, per_joint=True, in_ros=False)
    largest_mass: float = parameter(
        8.0, 'Largest mass that can be estimated, of a payload at the origin of the link; one at '
        'the distance r counts as 1 + (r / adaptive.size)^2 times its mass.', 'kg', 0.001, 1000.0,
        in_ros=False)
    size: float = parameter(
        0.15, 'Extent of the payload from the origin of its link; the smaller, the more is '
        'attributed to its mass.', 'm', 0.001, 10.0, in_ros=False)
    dead_zone: float = parameter(
        0.01, 'Error of velocity, that of position times adaptive.sliding included, below which '
        'there is no adaptation, because it is noise and friction.', 'rad/s or m/s', 0.0, 10.0,
        in_ros=False)


@settings('friction')
class FrictionSettings:
    """Friction of the joints."""

    viscous: Numbers = parameter(
        (), 'Viscous friction in place of that in the URDF.', 'N m s/rad or N s/m', 0.0,
        MAX_DAMPING, per_joint=True)
    coulomb: Numbers = parameter(
        (), 'Coulomb friction in place of that in the URDF.', 'N m or N', 0.0, MAX_TORQUE,
        per_joint=True)
    stiction: Numbers = parameter(
        (), 'Friction at rest; empty: Coulomb friction.', 'N m or N', 0.0, MAX_TORQUE,
        per_joint=True)
    stribeck_velocity: Numbers = parameter(
        (0.01,), 'Velocity at which friction is halfway from rest to Coulomb friction.',
        'rad/s or m/s', 1e-6, per_joint=True)
    width: Numbers = parameter(
        (SMOOTHING,), 'Velocity below which dry friction falls to zero: w in v / sqrt(v^2 + w^2).',
        'rad/s or m/s', 1e-4, 10.0, per_joint=True)


# --- contact -------------------------------------------------------------------------------------

@settings('linear_feedback')
class LinearFeedbackSettings:
    """Bounds of torques that come as linear feedback from another node."""

    timeout: float = parameter(
        0.1, 'Time for which a message on ~/linear_feedback is used.', 's', 0.001, 1.0)
    largest_error: float = parameter(
        0.3, 'Largest distance of the position in a message from the measured one.', 'rad or m',
        0.0, 10.0, in_ros=False)
    largest_torque: float = parameter(
        1.5, 'Largest torque of a message at the measured state, in effort limits; above 1 it is '
        'clamped.', '', 0.0, 100.0, in_ros=False)
    largest_growth: float = parameter(
        5.0, 'Largest rate of growth of a motion of the linear model under the gains of a '
        'message; a damped one has none.', '1/s', 0.0, 1000.0, in_ros=False)


@settings('external_wrench')
class ExternalWrenchSettings:
    """Known wrenches and torques from other nodes."""

    timeout: float = parameter(
        0.1, 'Time for which a message on ~/external_wrench, ~/target_wrench or '
        '~/reflected_torque is used.', 's', 0.001, 60.0)


@settings('observer')
class ObserverSettings:
    """Momentum observer of the external torque."""

    bandwidth: Numbers = parameter(
        (30.0,), 'Bandwidth of the momentum observer: external torque is estimated with the time '
        'constant 1/bandwidth.', 'rad/s', 0.1, 500.0, per_joint=True)
    torque_source: str = parameter(
        'command', 'Source of the motor torques: the command, or the effort of the joint states.',
        choices=TORQUE_SOURCES)


@settings('reflection')
class ReflectionSettings:
    """Torque of another arm, reflected to the hand that guides this one."""

    gain: Numbers = parameter(
        (0.0,), 'Part of the torque on ~/reflected_torque that is added while the arm floats.', '',
        0.0, 2.0, per_joint=True)
    limit: float = parameter(
        0.2, 'Largest reflected torque, as a part of the effort limits.', '', 0.0, 1.0,
        in_ros=False)


@settings('collision')
class CollisionSettings:
    """Detection of collisions."""

    threshold: Numbers = parameter(
        (), 'External torque that is a collision; empty: no detection.', 'N m or N', 1e-6,
        per_joint=True)
    release: float = parameter(
        0.5, 'Part of the threshold below which a collision is over.', '', 0.0, 1.0, in_ros=False)
    duration: float = parameter(
        0.005, 'Time for which the threshold must be exceeded.', 's', 0.0, 1.0, in_ros=False)
    model_error: float = parameter(
        0.1, 'Part of the torques of motion, payload and friction by which the threshold is '
        'wider.', '', 0.0, 1.0, in_ros=False)
    reaction: str = parameter(
        'stop', 'Reaction to a collision: report; stop, and hold where the arm is found; float. '
        'The last two are faults.', choices=REACTIONS)


# --- motions -------------------------------------------------------------------------------------

@settings('stream')
class StreamSettings:
    """Streams of targets on ~/joint_trajectory."""

    mode: str = parameter(
        'auto', 'Messages on ~/joint_trajectory that are targets of a stream, not trajectories of '
        'their own. auto: those that end before stream.horizon while another is under way '
        'and not with velocities of 0, single points due within 0.06 s, and those that end in '
        'motion. always, never: all, none. Not with the frame_id trajectory; with the frame_id '
        'stream also in auto.',
        choices=STREAM_MODES)
    horizon: float = parameter(
        0.5, 'Time before which a message must end that auto takes for a part of a stream.', 's',
        0.0, 10.0)
    timeout: float = parameter(
        0.25, 'Silence after which a stream has ended; at least 2.5 periods.', 's', 0.02, 10.0)
    smoothing: float = parameter(
        0.05, 'Time over which targets are smoothed. The arm follows by the longer of this and a '
        'period behind the targets.', 's', 0.0, 2.0, in_ros=False)
    blend: float = parameter(
        0.25, 'Time in which the points of a message gain weight against those of the one before '
        'at the same times.', 's', 0.0, 5.0, in_ros=False)
    leap: float = parameter(
        0.5, 'Distance from one target to the next that is not followed: the arm comes to rest.',
        'rad or m', 1e-3, 100.0)
    velocity_limit: Numbers = parameter(
        (), 'Velocity limits of streams; empty: of the URDF.', 'rad/s or m/s', 1e-4,
        per_joint=True)
    acceleration_limit: Numbers = parameter(
        (), 'Acceleration limits of streams; empty: by the torque where a stream begins, and at '
        'most the velocity limit in 0.1 s. The torque is limited in any case.',
        'rad/s^2 or m/s^2', 1e-3, per_joint=True)


@settings()
class JointConstraints:
    """Tolerances of one joint."""

    trajectory: float = parameter(
        0.0, 'Largest error of this joint in motion; 0: constraints.trajectory.', 'rad or m', 0.0)
    goal: float = parameter(
        0.0, 'Largest error of this joint at the goal; 0: constraints.goal.', 'rad or m', 0.0)


@settings('constraints')
class Constraints:
    """Tolerances of trajectories, named as in joint_trajectory_controller."""

    trajectory: Numbers = parameter(
        (), 'Largest error in motion; 0: unchecked. Empty: 0.2 rad or 0.05 m, and unchecked under '
        'impedances, which give way. Of one joint: constraints.<joint>.trajectory.', 'rad or m',
        0.0, per_joint=True)
    goal: Numbers = parameter(
        (), 'Largest error at the goal; 0: unchecked. Empty: 0.05 rad or 0.01 m, to be met 2 s '
        'after the last point, and unchecked under impedances. Of one joint: '
        'constraints.<joint>.goal.', 'rad or m', 0.0, per_joint=True)
    goal_time: float = parameter(
        0.0, 'Time after the last point to get within the goal; 0: unlimited, where a goal '
        'tolerance is set.', 's', 0.0)
    stopped_velocity_tolerance: float = parameter(
        0.01, 'Speed below which a joint has arrived; 0: unchecked.', 'rad/s or m/s', 0.0)
    joints: Mapping[str, JointConstraints] = for_each_joint(JointConstraints)
