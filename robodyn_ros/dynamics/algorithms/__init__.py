"""
Algorithms of rigid-body dynamics, each written once.

They are plain functions of scalars: with floats they are the readable reference, with symbols of
`jit.trace` they yield the program that is compiled (see `jit.llvm`). `tree` is constant, so
that loops over bodies are unrolled and products with its zeros and ones are folded.

Notation, for body i with parent p and joint axis z in body axes:

- `R, r` pose of the body in its parent, `x_p = R x_i + r`;
- `w, dw` angular velocity and acceleration, `v, a` velocity and acceleration of the body's
  origin, all in body axes;
- `m, h, J` mass, first moment `m c`, and inertia about the body's origin;
- `f, n` force and moment about the body's origin, applied by the parent to the body.

`runtime` holds what may change at run time: gravity (3), then ten numbers per payload
slot (m, hx, hy, hz, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz) in the axes of the body of the slot.
"""

from robodyn_ros.dynamics.algorithms.aba import articulated_body, forward_dynamics
from robodyn_ros.dynamics.algorithms.coriolis import coriolis_matrix, velocity_forces
from robodyn_ros.dynamics.algorithms.crba import add_to_diagonal, mass_matrix
from robodyn_ros.dynamics.algorithms.derivatives import (
    forward_dynamics_derivatives, inverse_dynamics_derivatives)
from robodyn_ros.dynamics.algorithms.energy import center_of_mass, kinetic_energy, potential_energy
from robodyn_ros.dynamics.algorithms.inertia import body_inertias, GRAVITY, PAYLOAD_SIZE
from robodyn_ros.dynamics.algorithms.kinematics import (
    forward_kinematics, frame_pose, frame_pose_at, jacobian, joint_poses, joint_rates,
    to_coordinates, world_poses)
from robodyn_ros.dynamics.algorithms.ltdl import inverse, is_zero, LARGEST_UNROLLED, solve
from robodyn_ros.dynamics.algorithms.motion import (
    accelerations, child_motion, jacobian_dot_qd, velocities)
from robodyn_ros.dynamics.algorithms.regressor import BODY_PARAMETERS, regressor
from robodyn_ros.dynamics.algorithms.rnea import (
    add_wrenches, backward_pass, bias, gravity, inertial, inverse_dynamics, parent_wrench)

__all__ = [
    'BODY_PARAMETERS', 'GRAVITY', 'LARGEST_UNROLLED', 'PAYLOAD_SIZE', 'accelerations',
    'add_to_diagonal', 'add_wrenches', 'articulated_body', 'backward_pass', 'bias',
    'body_inertias', 'center_of_mass', 'child_motion', 'coriolis_matrix', 'forward_dynamics',
    'forward_dynamics_derivatives', 'forward_kinematics', 'frame_pose', 'frame_pose_at', 'gravity',
    'inertial', 'inverse', 'inverse_dynamics', 'inverse_dynamics_derivatives', 'is_zero',
    'jacobian', 'jacobian_dot_qd', 'joint_poses', 'joint_rates', 'kinetic_energy', 'mass_matrix',
    'parent_wrench', 'potential_energy', 'regressor', 'solve', 'to_coordinates', 'velocities',
    'velocity_forces', 'world_poses']
