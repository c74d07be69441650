"""
Response of the loop of one joint to doublets of torque: delay, inertia, friction, resonance.

The velocity of a joint of inertia J with dry friction F and viscous friction b, that a torque u
reaches after a delay T, is piecewise exponential:

    J v' = u(t - T) + r - F sign(v) - b v,    and at rest as long as |u + r| <= F.

r is what its resting torque differs from that of equilibrium, which dry friction bears. These
numbers, and the velocity at the begin, are found by nonlinear least squares from the velocities
after doublets of some amplitudes, and their uncertainty from the Jacobian matrix (Ljung, System
Identification, 9.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
import math

import numpy as np

from robodyn_ros.control.gains import Gains
from robodyn_ros.safety.loop_margin import largest_frequencies

SOFT = 0.75       # reduction of the natural frequency of a joint whose answer is unexplained
_LONGEST = 0.04   # s, delay
_STEPS = 6        # points of an exponential between two events
_EXPLAINED = 0.8  # of the mean square of the velocity, that makes a result
_SEEN = 8.0       # times the noise, that the velocity reaches
_POOR = 2.0       # times the variance of the velocity, that a rigid joint leaves unexplained
_CERTAIN = 0.12   # standard deviation of ln J
_MODEL = 0.02     # of the largest velocity, by which any model differs
_DRIFTS = 0.05    # of it, above which motion that the joint had by itself counts;
_DRIFT = 0.3      # and part of that motion, which the velocity exceeds at least
_FREQUENCIES, _DAMPING = 40, (0.01, 0.05, 0.15)  # of two masses that are tried
_ATTEMPTS, _STEP, _STIFFEST = 30, 1e-5, 1e8  # of least squares
_TINY = 1e-12
_LINK = 3e-3      # s by which a joint that rings is later than the most prompt one
_WIDE = 6.0       # of ln J about its start
_HEAVIER = 1.3    # times the inertia of the model: more is a rotor that it lacks
_ITERATIONS = 50
_LIGHTER = 0.7    # of it: only a part of it is there at high frequency


@dataclass(frozen=True)
class Doublet:
    """
    Record of one doublet.

    Attributes
    ----------
    amplitude : float
        Its torque in N m (N).
    edges : tuple of float
        Times in s at which its parts ended; the torque alternates.
    times, speeds : (n,) array
        Times since its begin in s, and velocities in rad/s (m/s).
    begin : float
        Velocity at its begin.
    drift : float
        Largest velocity that was subtracted from them, see `without_drift`.

    """

    amplitude: float
    edges: tuple[float, ...]
    times: np.ndarray
    speeds: np.ndarray
    begin: float = 0.0
    drift: float = 0.0

    @property
    def noise(self) -> float:
        """
        Return the standard deviation of the velocity, from its second differences.

        From the lower quartile: where states are rare, most of the record is the response, whose
        edges are as sharp as noise.
        """
        second = np.diff(self.speeds, 2)
        return (float(np.quantile(np.abs(second), 0.25)) / 0.3186 / math.sqrt(6.0) if second.size
                else 0.0)

    @property
    def peak(self) -> float:
        """Return the largest velocity."""
        return float(np.abs(self.speeds).max(initial=0.0))

    @property
    def answers(self) -> bool:
        """Return whether the velocity is that of the doublet, not of a joint that moves itself."""
        return self.peak > _DRIFT * self.drift

    def without_drift(self) -> Doublet:
        """
        Return it without the motion that the joint has by itself, if that is not small.

        A doublet leaves no velocity behind. A joint whose hold is soft as long as its loop is not
        known swings slowly in it: along a line, in a time as short as this.
        """
        if self.speeds.size < 8:
            return self
        last = self.speeds.size // 4
        slope = float((self.speeds[-last:].mean() - self.begin) / self.times[-last:].mean())
        line = self.begin + slope * self.times
        drift = float(np.abs(line).max())
        if drift < max(_DRIFTS * self.peak, _SEEN * self.noise):
            return self
        return replace(self, speeds=self.speeds - line, drift=drift)


@dataclass(frozen=True)
class Response:
    """
    What the loop of a joint is.

    Attributes
    ----------
    delay : float
        Time in s from a torque to its effect on the velocity, as the cycle sees it.
    inertia : float
        Inertia at high frequency, the other joints held softly, in kg m^2 (kg).
    friction, viscous : float
        Dry friction in N m (N), and viscous friction in N m s/rad (N s/m).
    resonance : float
        First resonance in Hz; 0: none was seen.
    uncertainty : float
        Standard deviation of ln J.

    """

    delay: float
    inertia: float
    friction: float
    viscous: float
    resonance: float = 0.0
    uncertainty: float = 0.0


@dataclass(frozen=True, eq=False)
class MeasuredLoop:
    """
    What was measured, for the design of gains.

    Attributes
    ----------
    responses : tuple of Response or None
        Response of each joint; None where it could not be measured.
    armature, missing : (nv,) array
        Rotors that the model had, and what it lacks in addition, in kg m^2 (kg).
    excess : (nv,) array
        Inertia of the model over that at high frequency, where only a part is there; else 1.
    unexplained : (nv,) array
        Whether the joint answered, and not like a rigid joint, nor like the rotor of an elastic
        one: the velocity may be that of its link.
    delay : (nv,) array
        Delay from torque to velocity, and half an interval of the torques, in s; 0: unknown.
    answers : bool
        Whether a joint moved with its torque, or none was given one.
    turned : (nv,) array
        Whether a joint moves against its torque.
    still : (nv,) array
        Torque up to which a joint did not move while others did, in N m (N); 0: it moved.

    """

    responses: tuple[Response | None, ...]
    armature: np.ndarray
    missing: np.ndarray
    excess: np.ndarray
    unexplained: np.ndarray
    delay: np.ndarray
    answers: bool = True
    turned: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    still: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self):
        if not self.turned.size:
            size = len(self.responses)
            object.__setattr__(self, 'turned', np.zeros(size, bool))
            object.__setattr__(self, 'still', np.zeros(size))

    @property
    def known(self) -> np.ndarray:
        """Return whether the response of a joint is known, (nv,)."""
        return np.array([each is not None for each in self.responses])

    @property
    def softness(self) -> np.ndarray:
        """Return the reduction of the natural frequency of each joint, 0 to 1, (nv,)."""
        return np.where(self.turned, 1.0, SOFT * self.unexplained)

    @classmethod
    def of(cls, responses: Sequence[Response | None], seen: np.ndarray, M: np.ndarray,
           armature: np.ndarray, torque: np.ndarray, interval: float, shaken: np.ndarray,
           gains: Gains) -> MeasuredLoop:
        """
        Return what follows from the responses.

        More inertia than the model has for such a doublet is that of rotors, where the model has
        none: friction that locks other joints shows too much. Much less, or less than M_jj in
        a joint that has oscillated although its delay is borne, is the rotor of an
        elastic joint alone, which computed torque accelerates with M_jj.

        Parameters
        ----------
        responses : sequence of Response or None
            Responses of the joints.
        seen : (nv,) array
            Whether the velocity of the joint answered.
        M : (nv, nv) array
            Mass matrix of the model in this pose, without rotors.
        armature : (nv,) array
            Rotors of the model, in kg m^2 (kg).
        torque : (nv,) array
            Amplitude of the last doublet of each joint, N m (N).
        interval : float
            Usual interval of the torques, s.
        shaken : (nv,) array
            Whether the joint has oscillated,
        gains : Gains
            with these gains.

        """
        M = M + np.diag(armature)
        friction = np.array([0.0 if each is None else each.friction for each in responses])
        locked, model = np.diag(M), moved_inertia(M, friction, torque)
        known = np.array([each is not None for each in responses])
        inertia = np.array([x if each is None else each.inertia
                            for each, x in zip(responses, model)])
        delay = np.array([0.0 if each is None else each.delay for each in responses])
        rings = np.array([each is not None and each.resonance > 0.0 for each in responses])
        # a link follows its rotor after a part of the period of the resonance
        follows = rings & (delay > np.min(delay[known], initial=_LONGEST) + _LINK)
        unexplained = seen & ~known | follows
        delay = np.where(known, delay, delay.max(initial=0.0)) + 0.5 * interval
        wn = np.sqrt(gains.kp)
        borne = largest_frequencies(0.5 * gains.kd / np.maximum(wn, _TINY), delay) >= wn
        elastic = known & (inertia < np.where(shaken & borne, locked, _LIGHTER * model))
        # less inertia than there is is safe: a rotor that is given is right
        rotors = np.zeros_like(model)
        lacks = ~unexplained & (inertia > _HEAVIER * model) & (armature == 0.0)
        for _ in range(_ITERATIONS):
            now = moved_inertia(M + np.diag(rotors), friction, torque)
            rotors = np.where(lacks, np.maximum(rotors + inertia - now, 0.0), 0.0)
        return cls(tuple(responses), armature, rotors, np.where(elastic, locked / inertia, 1.0),
                   unexplained, np.where(known.any(), delay, 0.0))


def moved_inertia(M: np.ndarray, friction: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """
    Return the inertia that each joint has for a torque of its own, (nv,), in kg m^2 (kg).

    That with those joints free which its acceleration moves against their dry friction.

    Parameters
    ----------
    M : (nv, nv) array
        Mass matrix.
    friction, torque : (nv,) array
        Dry friction of the joints, and the torque of each, in N m (N).

    """
    result = np.empty(len(M))
    for j, row in enumerate(M):
        moved = np.abs(row) * torque[j] > friction * row[j]
        moved[j] = True
        free = np.flatnonzero(moved)
        place = int(np.searchsorted(free, j))
        result[j] = 1.0 / np.linalg.inv(M[np.ix_(free, free)])[place, place]
    return result


def velocity(parameters: Sequence[float], doublet: Doublet) -> np.ndarray:
    """
    Return the velocity after a doublet, (n,), in rad/s (m/s).

    Parameters
    ----------
    parameters : sequence of 6 float
        T in s, J in kg m^2, F in N m, b in N m s/rad, r in N m, velocity at the begin in rad/s.
    doublet : Doublet
        Its amplitude, edges and times.

    """
    delay, J, F, b, rest, v = parameters
    parts = [(until, doublet.amplitude * (-1.0) ** k) for k, until in enumerate(doublet.edges)]
    end = max(parts[-1][0], float(doublet.times[-1])) + _LONGEST
    knots, values, t = [-1.0, 0.0], [v, v], 0.0
    for until, torque in (*parts, (end, 0.0)):
        u = torque + rest
        while t < until:
            if v == 0.0 and abs(u) <= F:
                t = until
                break
            force = u - math.copysign(F, v or u)
            # at zero the joint stops, and may turn
            span = until - t
            if v * force < 0.0:
                turns = -v / force * J if b < _TINY else J / b * math.log1p(-b * v / force)
                span, zero = (turns, True) if turns < span else (span, False)
            else:
                zero = False
            steps = _STEPS if b * span > 0.05 * J else 1
            for k in range(1, steps + 1):
                s = span * k / steps
                x = b * s / J
                part = -math.expm1(-x) / x if x > 1e-9 else 1.0
                knots.append(t + s)
                values.append(v * math.exp(-x) + force * s / J * part)
            if zero:
                values[-1] = 0.0
            t, v = t + span, values[-1]
            if zero and abs(u) <= F:
                t = until
        knots.append(t)
        values.append(v)
    return np.interp(doublet.times - delay, knots, values)


def fit(doublets: Sequence[Doublet]) -> Response | None:
    """
    Return the response that explains the velocities after doublets; None if nothing does.

    Parameters
    ----------
    doublets : sequence of Doublet
        One or more of the same joint in the same pose.

    """
    largest = doublets[-1]
    noise = max(max(each.noise for each in doublets), _TINY)
    if largest.times.size < 8 or largest.peak < _SEEN * noise or not largest.answers:
        return None
    scale = max(noise, _MODEL * max(largest.peak, largest.drift))
    measured = np.concatenate([each.speeds for each in doublets])
    a = abs(largest.amplitude)

    def values(x):
        T, J, F, b, rest, v = x
        return T, math.exp(J), F * a, b * a / largest.peak, rest * a, v * largest.peak

    def residual(x):
        model = np.concatenate([velocity(values(x), each) for each in doublets])
        # without friction there is nothing that could bear a resting torque
        unlikely = x[4] / (0.1 + x[2])
        return np.append((model - measured) / scale, [unlikely, 3.0 * x[3], 3.0 * x[5]])

    delay, inertia = _without_friction(largest)
    found = []
    for share in (0.02, 0.5):
        start = np.array([delay, math.log(inertia * (1.0 - 0.9 * share)), share, 0.01, 0.0, 0.0])
        found.append(_least_squares(
            residual, start, np.array([0.0, start[1] - _WIDE, 0.0, 0.0, -0.9, -1.0]),
            np.array([_LONGEST, start[1] + _WIDE, 0.98, 5.0, 0.9, 1.0])))
    x, rest, jacobian = min(found, key=lambda each: float(each[1] @ each[1]))
    cost = float(rest @ rest)
    rest = rest[:measured.size] * scale
    T, J, F, b, *_ = map(float, values(x))
    unexplained = float(np.mean(rest ** 2)) > _POOR * scale ** 2
    elastic = two_masses(largest, scale) if unexplained else None
    if elastic is not None and 2.0 * elastic[1] < float(np.sum(rest[-largest.times.size:] ** 2)):
        return elastic[0]
    if np.mean(rest ** 2) > (1.0 - _EXPLAINED) * np.mean(measured ** 2):
        return None
    variance = max(1.0, cost / max(measured.size - 6, 1))
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * variance
    return Response(T, J, F, b, 0.0, math.sqrt(max(float(covariance[1, 1]), 0.0)))


def answer(doublets: Sequence[Doublet]) -> tuple[Response | None, bool]:
    """Return the response, see `fit`, and whether it is that to torques of the other sign."""
    found = fit(doublets)
    if found is not None:
        return found, False
    other = fit([replace(each, amplitude=-each.amplitude) for each in doublets])
    turned = other is not None and certain(other) and not other.resonance
    return (other if turned else None), turned


def two_masses(doublet: Doublet, scale: float) -> tuple[Response, float] | None:
    """
    Return the response of a rotor on a spring, and its sum of squares; None if it explains little.

    Without friction the velocity of the rotor is the sum of that of both masses together and a
    damped oscillation, each linear in the torque (Spong, ASME J. Dyn. Syst. 109, 1987):

        v / u = A / s + B s / (s^2 + 2 d w s + w^2),    1 / (A + B) the inertia of the rotor.

    scale: standard deviation of the velocity.
    """
    total, span = float(doublet.speeds @ doublet.speeds), float(np.ptp(doublet.times))
    tried = np.geomspace(0.7 / span, 0.3 * doublet.times.size / span, _FREQUENCIES)
    frequencies, damping = (each[:, None] for each in (
        np.repeat(tried, len(_DAMPING)), np.tile(_DAMPING, _FREQUENCIES)))
    w = math.tau * frequencies
    best: tuple[float, ...] = (math.inf,)
    for delay in np.arange(0.0, _LONGEST, 2e-3):
        rigid = _superposed(doublet, delay, lambda t: t)
        ringing = _superposed(doublet, delay, lambda t: np.exp(
            -damping * w * t) * np.sin(w * t) / w)
        # normal equations of A and B, for all frequencies and dampings at once
        aa, ab, bb = rigid @ rigid, ringing @ rigid, np.sum(ringing * ringing, axis=1)
        a, b = rigid @ doublet.speeds, ringing @ doublet.speeds
        with np.errstate(divide='ignore', invalid='ignore'):
            A, B = np.array([bb * a - ab * b, aa * b - ab * a]) / (aa * bb - ab * ab)
        rest = np.where((A > 0.0) & (B > 0.0), total - A * a - B * b, math.inf)
        k = int(np.argmin(rest))
        if rest[k] < best[0]:
            best = (float(rest[k]), float(delay), float(frequencies[k, 0]), float(A[k]),
                    float(B[k]))
    if len(best) == 1 or best[0] > (1.0 - _EXPLAINED) * total:
        return None
    left, delay, frequency, A, B = best
    certainty = scale * math.sqrt(doublet.times.size / total)
    return Response(delay, 1.0 / (A + B), 0.0, 0.0, frequency,
                    min(certainty, 0.9 * _CERTAIN)), left


def _superposed(doublet: Doublet, delay: float, of_step: Callable) -> np.ndarray:
    """Return the velocity after a doublet, from that after a step of the torque."""
    result, last = np.zeros(doublet.times.size), len(doublet.edges)
    for k, begin in enumerate((0.0, *doublet.edges)):
        change = (1.0 if k in (0, last) else 2.0) * (-1.0) ** k
        t = np.maximum(doublet.times - delay - begin, 0.0)
        result = result + doublet.amplitude * change * of_step(t)
    return result


def _least_squares(residual: Callable, x: np.ndarray, lower: np.ndarray, upper: np.ndarray
                   ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x within bounds, residual and Jacobian matrix (Levenberg and Marquardt)."""
    damping, r = 1e-2, residual(x)
    for _ in range(_ATTEMPTS):
        steps = np.where(x + _STEP < upper, _STEP, -_STEP)
        jacobian = np.column_stack([(residual(x + step * unit) - r) / step for step, unit in zip(
            steps, np.eye(x.size))])
        square, slope = jacobian.T @ jacobian, jacobian.T @ r
        while damping < _STIFFEST:
            move = np.linalg.solve(square + damping * np.diag(np.diag(square) + _TINY), -slope)
            after = np.clip(x + move, lower, upper)
            better = residual(after)
            if better @ better < r @ r:
                break
            damping *= 4.0
        else:
            break
        small = r @ r - better @ better < 1e-4 * (r @ r)
        x, r, damping = after, better, max(0.2 * damping, 1e-6)
        if small:
            break
    return x, r, jacobian


def certain(response: Response | None) -> bool:
    """Return whether a response is known well enough."""
    return response is not None and response.uncertainty < _CERTAIN


def _without_friction(doublet: Doublet) -> tuple[float, float]:
    """Return the delay in s and the inertia that explain most, without friction."""
    best = (-1.0, 0.0, 1.0)
    for delay in np.arange(0.0, _LONGEST, 1e-3):
        x = _superposed(doublet, delay, lambda t: t)
        square = float(x @ x)
        product = float(x @ doublet.speeds)
        if square > 0.0 and product > 0.0 and product * product / square > best[0]:
            best = product * product / square, float(delay), square / product
    return best[1:]
