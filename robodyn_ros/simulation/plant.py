"""Simulated arm: its state, and the step that integrates it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.kernel import as_doubles, Kernel
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation.integrators import INTEGRATORS
from robodyn_ros.simulation.joints import JointPhysics
from robodyn_ros.simulation.step import (
    constants_size, MAX_POSITION, MAX_VELOCITY, plant_step, State, state_size)


class Plant:
    """
    A simulated arm: joint torques in, motion out.

    The arrays are views of the state: they are overwritten by every step and must not be written
    to. Units and joint order are the model's.

    Parameters
    ----------
    model : RobotModel
        Model of the simulated arm; it may differ from the controller's.
    step : float
        Duration of one step (s).
    dynamics : Dynamics, optional
        Dynamics of the same model, to share compiled kernels.
    brakes : bool
        Whether the brakes hold the arm until `release`.
    integrator : {'midpoint', 'semi_implicit_euler', 'rk4'}
        Integrator of the rigid bodies, see `integrators`.
    changeable : bool
        Whether `change` may add friction and stops to joints without them during motion, without
        a compilation; slower for an arm without them.
    **joints
        Fields of `JointPhysics` that differ from the URDF, such as `friction` or `armature`.

    Attributes
    ----------
    q, qd, qdd : (nv,) array
        Position, velocity and acceleration.
    applied : (nv,) array
        Torque of the motors in the last step: the saturated command, or the brakes' torque.
    friction, stop : (nv,) array
        Torques of friction and stops in the last step.
    gap, gap_rate : (nv,) array
        Angle of each motor relative to its joint, and its rate, where there is backlash, or the
        joint is elastic.
    external : (nv,) array
        Joint torques of the external wrenches, see `push`.
    options : dict
        Variant of `step.plant_step` for this arm.
    steps : int
        Number of steps since the last reset.
    fault : str
        Reason why the simulation ended, naming the joint; empty while it runs.

    Raises
    ------
    ArgumentError
        Invalid parameter value; the message names the joint.

    """

    def __init__(self, model: RobotModel, step: float = 1e-3, dynamics: Dynamics | None = None,
                 brakes: bool = False, integrator: str = 'midpoint', changeable: bool = False,
                 **joints: ArrayLike | None):
        if not (isinstance(step, (int, float)) and 0.0 < step < math.inf):
            raise ArgumentError(f'step is {step!r}: it must be a number of seconds above 0')
        if integrator not in INTEGRATORS:
            raise ArgumentError(f'there is no integrator {integrator!r}; there are '
                                f'{", ".join(INTEGRATORS)}', integrator=integrator)
        self.model, self.nv, self.step_size = model, model.nv, float(step)
        self.integrator, self._changeable = integrator, changeable
        self.dynamics = Dynamics(model) if dynamics is None else dynamics
        self._state = np.ones(state_size(self.nv))
        self._rows = State(*self._state[:-1].reshape(-1, self.nv))
        rows: Any = self._rows
        (self.q, self.qd, self.qdd, self.applied, self.gap, self.gap_rate, self.friction,
         self.stop, _) = rows
        self.options: dict[str, str | bool] = {}
        self.external = np.zeros(self.nv)
        self._pushes: dict[str, NDArray] = {}
        self._initial = _default_position(model)
        self.dynamics.prepare('gravity')
        self.change(**joints)
        self.reset(brakes=brakes)

    def change(self, **joints: ArrayLike | None) -> None:
        """Change the joints' physics while running: to the URDF's, except for given fields."""
        inertia = np.diagonal(self.dynamics.mass_matrix(self._initial))
        self.joints = JointPhysics.from_model(self.model, inertia, **joints)
        self.constants = self.joints.constants(self.step_size)
        options = self._variant()
        if options != self.options:
            self._kernel = compile_step(self.dynamics, options)
            self._advance = self._kernel.builtin('plant_step', plant_step.__doc__)
            self.options = options

    def _variant(self) -> dict[str, str | bool]:
        """Return the variant of `step.plant_step` for this arm."""
        joints = self.joints
        return {'integrator': self.integrator, 'backlash': bool(joints.backlash.any()),
                'elastic': bool(joints.stiffness.any()),
                'friction': self._changeable or bool(joints.stiction.any()),
                'stops': self._changeable or bool(np.isfinite([joints.lower, joints.upper]).any())}

    @property
    def time(self) -> float:
        """Return the simulated seconds since the last reset."""
        return self.steps * self.step_size

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the joints."""
        return self.joints.warnings

    @property
    def state(self) -> NDArray:
        """Return the whole state, in the order of `step.State`, followed by 1."""
        return self._state

    def machine_code(self) -> tuple[machine.Code, machine.Code] | None:
        """
        Return the code of the step and of gravity, for a native loop, or None.

        The arguments of `kernel` are the addresses of `dynamics.runtime`, then of state, torque,
        external, constants and the next state; or of positions and gravity torques.
        """
        step, gravity = self._kernel.code, self.dynamics.machine_code('gravity')
        return None if step is None or gravity is None else (step, gravity)

    # --- state ------------------------------------------------------------------------------

    def reset(self, q: ArrayLike | None = None, brakes: bool | None = None) -> None:
        """
        Put the arm at rest at time zero, without external wrenches and without a fault.

        Parameters
        ----------
        q : (nv,) array_like, optional
            Position; default the last one given, initially 0 or, where the limits leave no room
            around 0, the middle between them.
        brakes : bool, optional
            Whether the brakes hold; default unchanged.

        Raises
        ------
        ArgumentError
            A position is not a number, or beyond a stop; the message names the joint.

        """
        if q is not None:
            self._initial = self._checked_position(q)
        self._state[:-1] = 0.0
        self._state[-1] = 1.0
        self.q[:] = self._initial
        self._pushes.clear()
        self.external[:] = 0.0
        self.steps, self.fault = 0, ''
        self.brakes = getattr(self, 'brakes', False) if brakes is None else bool(brakes)
        self.dynamics.gravity(self.q, out=self.applied)
        self._wind_up()
        if not self.brakes:
            self.applied[:] = 0.0

    def follow(self, other: Plant) -> None:
        """Copy another plant's state, time, brakes and fault; not its external wrenches."""
        self._state[:] = other._state
        self.steps, self.brakes, self.fault = other.steps, other.brakes, other.fault

    def _checked_position(self, q: ArrayLike) -> NDArray:
        position = as_doubles(q, 'q', self.nv).copy()
        if position.ndim != 1:
            raise ArgumentError(f'q must have shape ({self.nv},), got {position.shape}')
        lower, upper = self.joints.lower, self.joints.upper
        inside = (position >= lower) & (position <= upper) & np.isfinite(position)
        if not inside.all():
            j = int(np.argmin(inside))
            name = self.model.joint_names[j]
            raise ArgumentError(
                f'the initial position of joint {name!r} is {position[j]:g}: choose one between '
                f'its stops at {lower[j]:g} and {upper[j]:g}', joint=name, value=position[j])
        return position

    def engage(self) -> None:
        """Engage the brakes."""
        self.brakes = True

    def release(self) -> None:
        """Release the brakes; ignored after a fault."""
        self.brakes = bool(self.fault)

    def push(self, link: str, wrench: ArrayLike | None) -> None:
        """
        Apply a wrench to a link from now on.

        Parameters
        ----------
        link : str
            Link; the wrench acts at its origin and moves with it.
        wrench : (6,) array_like or None
            Force and moment in base axes (N, N m), replacing the link's last; None ends it.

        Raises
        ------
        ArgumentError
            Not six finite numbers.
        ModelError
            There is no such link.

        """
        self.model.link(link)
        if wrench is None:
            self._pushes.pop(link, None)
        else:
            values = as_doubles(wrench, f'wrench on {link}', 6)
            if values.ndim != 1 or not np.isfinite(values).all():
                raise ArgumentError(f'wrench on link {link!r} is {values}: it must be 6 finite '
                                    'numbers, force then moment', link=link)
            self._pushes[link] = values.copy()
        self._update_external()

    def _update_external(self) -> None:
        self.external[:] = 0.0
        for link, wrench in self._pushes.items():
            self.external += wrench @ self.dynamics.jacobian(self.q, link)

    def mobility(self) -> NDArray:
        """Return M^-1 in this position, with the rotors, (nv, nv)."""
        return np.linalg.inv(self.dynamics.mass_matrix(self.q) + np.diag(self.joints.armature))

    # --- motion -----------------------------------------------------------------------------

    def step(self, torque: NDArray) -> bool:
        """
        Simulate one step.

        Parameters
        ----------
        torque : (nv,) array
            Commanded torque; saturated at `joints.effort_limit`.

        Returns
        -------
        bool
            True; False after a fault: the next state would not be finite. The arm is then held by
            the brakes in its last finite state, and `fault` gives the reason.

        Raises
        ------
        ArgumentError
            Wrong length, or not finite; no step was made.

        """
        if self.brakes:
            self._checked_torque(torque)
            return self._hold_with_brakes()
        if self._pushes:
            self._update_external()
        state = self._state
        try:
            self._advance(state, torque, self.external, self.constants, out=state)
        except ArgumentError:
            self._checked_torque(torque)
            raise
        if state[-1]:
            self.steps += 1
            return True
        state[-1] = 1.0  # the rest of the state is unchanged
        return self._diverged(self._checked_torque(torque))

    def _hold_with_brakes(self) -> bool:
        self._state[self.nv:-1] = 0.0
        self.dynamics.gravity(self.q, out=self.applied)
        if self._pushes:
            self._update_external()
            self.applied -= self.external
        self._wind_up()
        self.steps += 1
        return not self.fault

    def _wind_up(self) -> None:
        """Let the springs of elastic joints carry what the motors apply at rest."""
        stiffness, gap = self.joints.stiffness, np.asarray(self.gap)
        np.divide(self.applied, stiffness, out=gap, where=stiffness > 0.0)

    def _diverged(self, torque) -> bool:
        qdd = self.dynamics.forward_dynamics(
            self.q, self.qd, np.clip(torque, -self.joints.effort_limit, self.joints.effort_limit))
        qd = self.qd + self.step_size * qdd
        q = self.q + self.step_size * qd
        diverged = ~((abs(q) < MAX_POSITION) & (abs(qd) < MAX_VELOCITY))
        # if several joints diverge at once, the fastest one is named
        suspects = np.flatnonzero(diverged) if diverged.any() else np.arange(self.nv)
        j = int(suspects[np.argmax(abs(self.qd[suspects]))])
        self.fault = (
            f'the simulation diverged after {self.time:.3f} s: joint '
            f'{self.model.joint_names[j]!r} was at {self.q[j]:g} with velocity {self.qd[j]:g} '
            f'and would go to {q[j]:g} with velocity {qd[j]:g}; stopped '
            'with brakes. Look at the torques, at masses and inertias in the URDF, or take a '
            'smaller step')
        self.brakes = True
        self._hold_with_brakes()
        return False

    def _checked_torque(self, torque) -> NDArray:
        checked = as_doubles(torque, 'torque', self.nv)
        if checked.ndim != 1:
            raise ArgumentError(f'torque must have shape ({self.nv},), got {checked.shape}')
        finite = np.isfinite(checked)
        if not finite.all():
            j = int(np.argmin(finite))
            name = self.model.joint_names[j]
            raise ArgumentError(f'torque of joint {name!r} is {checked[j]}: it must be finite',
                                joint=name, value=checked[j])
        return checked


def compile_step(dynamics: Dynamics, options: dict[str, str | bool]) -> Kernel:
    """Return a variant of the step as a kernel of state, torque, external and constants."""
    nv = dynamics.nv
    arguments = {'state': state_size(nv), 'torque': nv, 'external': nv,
                 'constants': constants_size(nv)}

    def variant(tree, runtime, *arrays):
        return plant_step(tree, runtime, *arrays, **options)

    return dynamics.kernel(variant, arguments, (state_size(nv),), f'plant_step|{options}')


def _default_position(model: RobotModel) -> NDArray:
    """Return positions away from the limits: 0 where possible, else the middle."""
    start = np.zeros(model.nv)
    for j, (lower, upper) in enumerate(zip(model.lower, model.upper)):
        # a twentieth of the range, or 0 if the range is infinite
        margin = 0.05 * (upper - lower) if math.isfinite(upper - lower) else 0.0
        if lower + margin > 0.0 or upper - margin < 0.0:
            start[j] = 0.5 * (lower + upper) if margin else min(max(lower, 0.0), upper)
    return start
