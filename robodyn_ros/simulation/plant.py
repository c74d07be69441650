"""A simulated arm: the state, and the one step that moves it."""

from __future__ import annotations

import math

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
    ABSURD_POSITION, ABSURD_VELOCITY, constants_size, plant_step, State, state_size)


class Plant:
    """
    An arm that answers joint torques with motion.

    Arrays are those of the running state, read-only in spirit: they keep their identity and are
    overwritten by every step. Units and order are the model's.

    Parameters
    ----------
    model : RobotModel
        The arm that is simulated; it may differ from the one that a controller believes in.
    step : float
        Duration of one step (s).
    dynamics : Dynamics, optional
        Dynamics of the same model, to share compiled kernels.
    brakes : bool
        Whether the brakes hold the arm until `release`.
    integrator : {'midpoint', 'semi_implicit_euler', 'rk4'}
        How the rigid bodies move during a step, see `integrators`.
    changeable : bool
        Whether `change` may give the joints friction and stops that they did not have without a
        compilation, in the midst of motion; costs some of the speed of an arm without them.
    **joints
        Fields of `JointPhysics` that differ from the URDF, such as `friction` or `armature`.

    Attributes
    ----------
    q, qd, qdd : (nv,) array
        The state.
    applied : (nv,) array
        Torque the motors gave in the last step: the command, saturated; or what the brakes hold.
    friction, stop : (nv,) array
        Torques of friction and stops in the last step.
    gap, gap_rate : (nv,) array
        Angle of each motor beyond its joint, and its rate, where there is backlash.
    external : (nv,) array
        Torques of what pushes the links, see `push`.
    options : dict
        Which variant of `step.plant_step` this arm needs.
    steps : int
        Number of steps since the last reset.
    fault : str
        Why the simulation ended, naming the joint; empty while it goes on.

    Raises
    ------
    ArgumentError
        Bad value of a parameter; the message names the joint.

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
        self.q, self.qd, self.qdd, self.applied, self.friction, self.stop = self._rows[:6]
        self.gap, self.gap_rate = self._rows.gap, self._rows.gap_rate
        self.options: dict[str, str | bool] = {}
        self.external = np.zeros(self.nv)
        self._pushes: dict[str, NDArray] = {}
        self._initial = _resting_place(model)
        self.dynamics.warm('gravity')
        self.change(**joints)
        self.reset(brakes=brakes)

    def change(self, **joints: ArrayLike | None) -> None:
        """Give the joints other physics while running: the URDF's, but for what is given."""
        inertia = np.diagonal(self.dynamics.mass_matrix(self._initial))
        self.joints = JointPhysics.from_model(self.model, inertia, **joints)
        self.constants = self.joints.constants(self.step_size)
        options = self._needed()
        if options != self.options:
            self._kernel = compile_step(self.dynamics, options)
            self._advance = self._kernel.builtin('plant_step', plant_step.__doc__)
            self.options = options

    def _needed(self) -> dict[str, str | bool]:
        """Return which variant of `step.plant_step` this arm needs."""
        joints = self.joints
        return {'integrator': self.integrator, 'backlash': bool(joints.backlash.any()),
                'friction': self._changeable or bool(joints.stiction.any()),
                'stops': self._changeable or bool(np.isfinite([joints.lower, joints.upper]).any())}

    @property
    def time(self) -> float:
        """Return the simulated seconds since the last reset."""
        return self.steps * self.step_size

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what is odd about the joints but no reason to refuse them."""
        return self.joints.warnings

    @property
    def state(self) -> NDArray:
        """Return all of the state, as `step.State` orders it, with a last number that is 1."""
        return self._state

    def machine_code(self) -> tuple[machine.Code, machine.Code] | None:
        """
        Return the code of the step and of gravity, for a native loop; None: there is none.

        Their `kernel` takes the addresses of `dynamics.runtime` and then of state, torque,
        external, constants and the state after; or of positions and the torques that hold them.
        """
        step, gravity = self._kernel.code, self.dynamics.machine_code('gravity')
        return None if step is None or gravity is None else (step, gravity)

    # --- state ------------------------------------------------------------------------------

    def reset(self, q: ArrayLike | None = None, brakes: bool | None = None) -> None:
        """
        Put the arm at rest, at time zero, with nothing pushing it and no fault.

        Parameters
        ----------
        q : (nv,) array_like, optional
            Where; default where it was put last, at first 0 or, where the limits leave no room
            around 0, the middle between them.
        brakes : bool, optional
            Whether the brakes hold; default as they were.

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
        if not self.brakes:
            self.applied[:] = 0.0

    def follow(self, other: Plant) -> None:
        """Take the place of another: its state, time, brakes and fault; not what pushes it."""
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
        """Let the brakes hold the arm where it is."""
        self.brakes = True

    def release(self) -> None:
        """Let the arm go; not after a fault."""
        self.brakes = bool(self.fault)

    def push(self, link: str, wrench: ArrayLike | None) -> None:
        """
        Apply a wrench to a link from now on.

        Parameters
        ----------
        link : str
            It acts at the origin of this link and follows it.
        wrench : (6,) array_like or None
            Force and moment in base axes (N, N m), in place of the link's last; None ends it.

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

    # --- motion -----------------------------------------------------------------------------

    def step(self, torque: NDArray) -> bool:
        """
        Advance by one step.

        Parameters
        ----------
        torque : (nv,) array
            What the motors are told to give; saturated at `joints.effort_limit`.

        Returns
        -------
        bool
            True; False after a fault: the state had no finite successor. The arm is then left in
            its last good state with the brakes on, and `fault` says what happened.

        Raises
        ------
        ArgumentError
            Wrong length, or not finite; nothing was applied.

        """
        if self.brakes:
            self._checked_torque(torque)
            return self._stand()
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
        state[-1] = 1.0  # nothing else of it has changed
        return self._diverged(self._checked_torque(torque))

    def _stand(self) -> bool:
        self._state[self.nv:-1] = 0.0
        self.dynamics.gravity(self.q, out=self.applied)
        if self._pushes:
            self._update_external()
            self.applied -= self.external
        self.steps += 1
        return not self.fault

    def _diverged(self, torque) -> bool:
        qdd = self.dynamics.forward_dynamics(
            self.q, self.qd, np.clip(torque, -self.joints.effort_limit, self.joints.effort_limit))
        qd = self.qd + self.step_size * qdd
        q = self.q + self.step_size * qd
        wild = ~((abs(q) < ABSURD_POSITION) & (abs(qd) < ABSURD_VELOCITY))
        # all joints may be wild at once: the fastest before is the one it began with
        suspects = np.flatnonzero(wild) if wild.any() else np.arange(self.nv)
        j = int(suspects[np.argmax(abs(self.qd[suspects]))])
        self.fault = (
            f'the simulation diverged after {self.time:.3f} s: joint '
            f'{self.model.joint_names[j]!r} was at {self.q[j]:g} with velocity {self.qd[j]:g} '
            f'and would go to {q[j]:g} with velocity {qd[j]:g}; stopped '
            'with brakes. Look at the torques, at masses and inertias in the URDF, or take a '
            'smaller step')
        self.brakes = True
        self._stand()
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


def _resting_place(model: RobotModel) -> NDArray:
    """Return positions away from the limits: 0 where possible, else the middle."""
    start = np.zeros(model.nv)
    for j, (lower, upper) in enumerate(zip(model.lower, model.upper)):
        # a twentieth of the range, or nothing where it has no end
        margin = 0.05 * (upper - lower) if math.isfinite(upper - lower) else 0.0
        if lower + margin > 0.0 or upper - margin < 0.0:
            start[j] = 0.5 * (lower + upper) if margin else min(max(lower, 0.0), upper)
    return start
