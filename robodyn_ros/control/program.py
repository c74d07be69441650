"""Program of the control cycle: settings and requests, replaced as a whole."""

from __future__ import annotations

from robodyn_ros.control.steps import (
    collision, disturbance, external_law, feedback_share, gains, learning, loads, loop_probe,
    modes, observer, reflection, transition, wrenches)
from robodyn_ros.control.steps.gains import Task
from robodyn_ros.dynamics.jit.blocks import block, joints, part, scalar
from robodyn_ros.safety import acceptance, limits, walls


@block
class Program:
    acceptance: acceptance.Program = part(acceptance.Program)
    motion: modes.Program = part(modes.Program)
    law: float = scalar('', 'Row of the law that follows references.')
    law_damping: float = scalar('1/s', 'Largest kd of that law.')
    law_stiffness: float = scalar('1/s', 'Largest kp / kd of that law.')
    gains: gains.Program = part(gains.Program)
    task: Task = part(Task)
    springs: float = scalar('', 'Number of the last change of stiffness.')
    task_springs: float = scalar('', 'Number of the last change of the stiffness of the link.')
    tank: float = scalar('J', 'Largest energy that a change of stiffness may add to the arm.')
    switch: float = scalar('', 'Number of the last change of law, gains or limits.')
    transition: transition.Program = part(transition.Program)
    share: feedback_share.Program = part(feedback_share.Program)
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
