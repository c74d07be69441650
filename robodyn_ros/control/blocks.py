"""Memory and program of the control cycle."""

from __future__ import annotations

from typing import Any

from robodyn_ros.control.gains import Gains, TaskGains
from robodyn_ros.control.steps import (
    collision, disturbance, external_law, feedback, gravity_check, law_state,
    learning, light_joints, loads, loop_probe, modes, observer, predict, reflection, runaway,
    transition, wrenches)
from robodyn_ros.dynamics.jit.blocks import block, joints, numbers, part, scalar
from robodyn_ros.safety import acceptance, limits, oscillation, passive_stop, walls


@block
class Memory:
    acceptance: acceptance.Memory = part(acceptance.Memory)
    last_time: float = scalar('s', 'Time of the law at the last cycle.')
    q: list = joints('rad', 'Position at the last state.')
    qd: list = joints('rad/s', 'Velocity at the last state.')
    coasting: float = scalar('', 'Flag: the last cycle was one of silence.')
    predicted: predict.Memory = part(predict.Memory)
    mean_torque: observer.MeanTorque = part(observer.MeanTorque)
    loads: loads.Memory = part(loads.Memory)
    external: wrenches.Memory = part(wrenches.Memory)
    target: wrenches.Memory = part(wrenches.Memory)
    external_law: external_law.Memory = part(external_law.Memory)
    learning: learning.Memory = part(learning.Memory)
    reflection: reflection.Memory = part(reflection.Memory)
    observer: observer.Memory = part(observer.Memory)
    collision: collision.Memory = part(collision.Memory)
    disturbance: disturbance.Memory = part(disturbance.Memory)
    motion: modes.Memory = part(modes.Memory)
    feedback: feedback.Memory = part(feedback.Memory)
    gravity_check: gravity_check.Memory = part(gravity_check.Memory)
    probe: loop_probe.Memory = part(loop_probe.Memory)
    oscillation: oscillation.Memory = part(oscillation.Memory)
    runaway: runaway.Memory = part(runaway.Memory)
    passive: passive_stop.Memory = part(passive_stop.Memory)
    walls: walls.Memory = part(walls.Memory)
    light: light_joints.Memory = part(light_joints.Memory)
    transition: transition.Memory = part(transition.Memory)
    switch: float = scalar('', 'Last change of law, gains or limits begun.')
    integral: list = joints('rad/s^2', 'Integral of the error.')
    springs: Any = part(law_state.Springs)
    task_springs: Any = part(law_state.TaskSprings)
    report: list = numbers('report', 'SI', 'Report of a Cartesian law, see `TaskReport`.')
    followed: float = scalar('', 'Flag: a built-in law followed the reference in the last cycle.')
    followed_motion: list = numbers('motion', 'SI', 'State and reference of it, in the order of '
                                    '`laws.MOTION`.')
    terms: list = numbers('terms', 'N m', 'Terms of the last torque, row by row as in `Term`.')
    sent: list = joints('N m', 'Last torque sent.')
    sent_time: float = scalar('s', 'Time of the local clock, or of a simulation, at which it was '
                              'sent.')
    start: float = scalar('', 'Last start torque that was handled.')
    verdict: limits.Verdict = part(limits.Verdict)


@block
class Program:
    acceptance: acceptance.Program = part(acceptance.Program)
    motion: modes.Program = part(modes.Program)
    law: float = scalar('', 'Row of the law that follows references.')
    law_damping: float = scalar('1/s', 'Largest kd of that law.')
    law_stiffness: float = scalar('1/s', 'Largest kp / kd of that law.')
    gains: Gains = part(Gains)
    task: TaskGains = part(TaskGains)
    springs: float = scalar('', 'Number of the last change of stiffness.')
    task_springs: float = scalar('', 'Number of the last change of the stiffness of the link.')
    tank: float = scalar('J', 'Largest energy that a change of stiffness may add to the arm.')
    switch: float = scalar('', 'Number of the last change of law, gains or limits.')
    transition: transition.Program = part(transition.Program)
    feedback: feedback.Program = part(feedback.Program)
    probe: loop_probe.Program = part(loop_probe.Program)
    loads: loads.Program = part(loads.Program)
    external: wrenches.Program = part(wrenches.Program)
    target: wrenches.Program = part(wrenches.Program)
    external_law: external_law.Program = part(external_law.Program)
    learning: learning.Program = part(learning.Program)
    reflection: reflection.Program = part(reflection.Program)
    observer: observer.Program = part(observer.Program)
    collision: collision.Program = part(collision.Program)
    disturbance: disturbance.Program = part(disturbance.Program)
    limits: limits.Program = part(limits.Program)
    walls: walls.Program = part(walls.Program)
    start: float = scalar('', 'Number of the last start torque.')
    start_torque: list = joints('N m', 'Torque from which control continues.')
