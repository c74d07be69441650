"""
Reduction of gains on accelerations to what is stable at the interval between torques.

With torques T apart that act one interval after the state was measured, the error of a joint with
e'' = -(kd e' + kp e) decays if and only if

    kd T < (1 - 3 x / 2) / (1 - x / 2)^2    with x = kp T / kd

(Jury criterion, double integrator behind a zero-order hold). Where gains are higher, the natural
frequency is lowered at the same damping ratio: kd f, kp f^2 and ki f^3, with

    f = 0.8 / (kd T + x),

with which the criterion holds for damping ratios above 0.3. The oscillation of less damped joints
grows slowly, and friction stops it.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps.feedback_share import DAMPED
from robodyn_ros.dynamics.jit.trace import maximum, minimum
from robodyn_ros.dynamics.jit.vectors import positive, product

LAWS = 'computed_torque', 'operational_space'  # laws with gains on accelerations
UNDAMPED = 2.5  # largest ratio of x to kd T that counts: (1 / (2 damping ratio))^2


def factors(kp, kd, intervals):
    """Return the factor f of each natural frequency, in (0, 1]; intervals: T of each, s."""
    result = []
    for spring, damper, T in zip(kp, kd, intervals):
        decay = damper * T
        x = minimum(spring * T / positive(damper), UNDAMPED * decay)
        result.append(DAMPED / maximum(decay + x, DAMPED))
    return result


def reduced(p, interval):
    """Return the program with gains that are stable at an interval between torques, s."""
    gains, task = p.gains, p.task
    intervals = [interval for _ in gains.kp]
    f = factors(gains.kp, gains.kd, intervals)
    link = factors(task.kp, task.kd, [interval for _ in task.kp])
    posture = factors(task.posture_kp, task.posture_kd, intervals)
    return replace(
        p, gains=replace(gains, kp=product(gains.kp, product(f, f)), kd=product(gains.kd, f),
                         ki=product(gains.ki, product(f, product(f, f)))),
        task=replace(task, kp=product(task.kp, product(link, link)), kd=product(task.kd, link),
                     posture_kp=product(task.posture_kp, product(posture, posture)),
                     posture_kd=product(task.posture_kd, posture)))
