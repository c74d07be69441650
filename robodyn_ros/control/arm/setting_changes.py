"""Changes of the settings of an arm under control: checked first, used from the next cycle on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodyn_ros.control.arm.contact import ContactObserver
from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.design import Design, require_settings
from robodyn_ros.control.arm.external_inputs import ExternalInputs
from robodyn_ros.control.arm.gain_design import MOST_ROTORS
from robodyn_ros.control.arm.load_changes import Adaptation, overload
from robodyn_ros.control.arm.loop_response import MeasuredLoop
from robodyn_ros.control.arm.program_writer import write_gain_change, write_settings
from robodyn_ros.control.arm.request_writer import RequestWriter, require_ready
from robodyn_ros.control.arm.status import Status
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.mode import EXTERNAL_LAWS, Mode, MODES
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.steps import external_law
from robodyn_ros.dynamics.usual_inertia import slow_rotors
from robodyn_ros.exceptions import near_matches, ParameterError, shown, StateError
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.settings import parameters, values

_MOST_FRICTION = 0.5  # of the effort limit, at the velocity limit


class SettingChanges:
    """
    Checks other settings, and writes them into the program.

    Parameters
    ----------
    arm : ControlledArm
        The arm; its design and law are replaced by a change.
    status : Status
        Its status.
    requests : RequestWriter
        Requests to its cycle.
    inputs : ExternalInputs
        Inputs with a timeout.
    adaptation : Adaptation
        Estimate of a payload.
    observation : ContactObserver
        Observer of the external torque.
    has_own_law : bool
        Whether there is a law of the user.

    """

    def __init__(self, arm: ControlledArm, status: Status, requests: RequestWriter,
                 inputs: ExternalInputs, adaptation: Adaptation,
                 observation: ContactObserver, has_own_law: bool):
        self._arm, self._status, self._requests = arm, status, requests
        self._inputs = inputs
        self._adaptation, self._observation = adaptation, observation
        self._has_own_law = has_own_law

    def enter(self, mode: str) -> None:
        """
        Change the mode, now and for the next activation.

        Parameters
        ----------
        mode : str
            'gravity_compensation', a law of `laws.table`, 'own_law' or 'linear_feedback'. A
            law for tracking takes over the motion that is under way; an arm that floats is held.
            While the controller is inactive only its next activation is affected.

        Raises
        ------
        StateError
            A fault is latched, or the law is still being compiled.
        ParameterError
            There is no such mode, or no such law.
        ModelError
            The mode adaptive has no link to estimate a payload on.

        """
        if mode not in MODES:
            raise ParameterError(f'there is no mode {shown(mode)}: {near_matches(mode, MODES)}',
                                 parameter='mode', value=mode)
        self.change(replace(self._arm.design.settings, mode=mode), enters=True)

    def change(self, settings: Settings, enters: bool = False) -> None:
        """
        Use other settings from the next cycle on; the torque goes over smoothly.

        The integral of a joint whose `ki` is 0 is zero from then on. Its torque, for example the
        gravity torque of an unknown load, fades within `transition_time` (at once, but for the
        torque rate limit, where that is 0), and the joint then settles beside its reference. A
        change from one `ki` above 0 to another keeps the integral, and with it the torque.

        Raises as `check`, and changes nothing then.
        """
        self.apply(self.check(settings, enters), enters)

    def check(self, settings: Settings, enters: bool = False) -> Design:
        """
        Return the design of other settings, for `apply`; nothing changes.

        Parameters
        ----------
        settings : Settings
            All settings.
        enters : bool
            Whether the mode is entered even if it is the present one.

        Raises
        ------
        ParameterError
            A wrong length or value; gains that are unstable in contact (`check_shaping`); bounds
            with which the arm could not be held where it is, naming the joint; a setting that is
            read-only while there is a controller.
        StateError, ModelError
            As `enter`.

        """
        arm, status = self._arm, self._status
        before = arm.design
        self._check_read_only(settings)
        design = Design.make(arm.loaded_dynamics(), settings, before)
        if status.mode is not Mode.INACTIVE and (
                design.bounds.usable.tolist() != before.bounds.usable.tolist()):
            problem = overload(arm, arm.gravity_torque(arm.memory.q), design.bounds)
            if problem:
                raise ParameterError(f'{problem}: the arm would fall')
        if status.mode is not Mode.INACTIVE:
            self._check_model(design)
        if enters or settings.mode != before.settings.mode:
            if status.mode is not Mode.INACTIVE:
                require_ready(status)
            self.check_mode(settings.mode)
        return design

    def apply(self, design: Design, enters: bool = False) -> None:
        """Use a design that was checked, from the next cycle on."""
        arm, p = self._arm, self._arm.program
        before, arm.design = arm.design, design
        mode = design.settings.mode
        enters |= mode != before.settings.mode
        law = mode if mode in TRACKING else arm.law
        switches = law != arm.law
        if switches:
            arm.law = law
            self._inputs.target.clear()
        switches |= write_gain_change(p, before, design, law)
        numbers = arm.host.values['program']
        unchanged = numbers.copy()
        self.write(design)
        if design.settings.adaptive != before.settings.adaptive:
            self._adaptation.change(design.settings.adaptive)
        if switches or not np.array_equal(unchanged, numbers):
            p.switch += 1.0
        arm.host.apply()
        if enters and self._status.mode is not Mode.INACTIVE:
            self._enter(mode)

    def use_loop(self, loop: MeasuredLoop) -> None:
        """Use measured loops of the joints: gains follow from the next cycle on."""
        arm = self._arm
        design = Design.make(arm.loaded_dynamics(), arm.design.settings, arm.design, loop)
        measured = loop.known & ~loop.unexplained
        # a joint that oscillates for an unknown reason may be one that another makes oscillate
        known = measured[arm.memory.oscillation.factor < 1.0].all()
        arm.program.probe.measured[:] = measured & known
        if loop.answers:  # else nothing is known yet
            arm.program.probe.softness[:] = loop.softness
        arm.program.probe.use += 1.0
        arm.program.feedback.found[()] = design.found_delay > 0.0
        self.apply(design)

    def write(self, design: Design) -> None:
        """Write all settings of a design except its gains."""
        write_settings(self._arm.program, design)
        self._arm.program.probe.lowered[:] = 1.0 - design.bandwidth_factor
        self._inputs.reflection.change(design.bounds.usable, design.settings.reflection)
        self._observation.change(design.settings)

    def check_mode(self, mode: str) -> None:
        """
        Compile the law of a mode if needed.

        Raises
        ------
        ParameterError
            There is no such law.
        StateError
            It is still being compiled.
        ModelError
            The mode adaptive has no link to estimate a payload on.

        """
        if mode == 'own_law' and not self._has_own_law:
            raise ParameterError('mode own_law needs the parameter own_law: module:function, or '
                                 'the name of a registered law, see docs/own_law.md',
                                 parameter='own_law')
        if mode not in TRACKING:
            return
        if TRACKING[mode].adapts:
            self._adaptation.require()
        compiled = self._arm.host.compiled
        if not compiled.ready(mode):
            if compiled.compiling:  # a control thread does not wait for that
                raise StateError(f'law {mode} is still being compiled; try again in a few '
                                 'seconds')
            compiled.prepare(mode)

    def _enter(self, mode: str) -> None:
        """Start a mode of an active controller."""
        status, p = self._status, self._arm.program.external_law
        reason = f'mode {mode} was selected'
        if mode == Mode.FLOAT.value:
            self._requests.compensate_gravity(reason)
        elif status.mode is Mode.FLOAT or (
                mode == Mode.LINEAR_FEEDBACK.value and not status.expects_linear_feedback):
            self._requests.hold(reason)
        p.choice[()] = EXTERNAL_LAWS.get(mode, external_law.NONE)
        p.request += 1.0
        self._arm.host.apply()

    def _check_model(self, design: Design) -> None:
        """Raise `ParameterError` if a joint is to have what would throw it."""
        arm, before, after = self._arm, self._arm.design.gains, design.gains
        rotors = np.maximum(before.armature, MOST_ROTORS * slow_rotors(arm.model))
        if design.loop is not None:
            inertia = np.diag(arm.loaded_dynamics().mass_matrix(arm.memory.q)) + before.armature
            measured = [0.0 if each is None else each.inertia for each in design.loop.responses]
            rotors = np.where(design.loop.known,
                              before.armature + np.maximum(inertia, measured), rotors)
        friction = _MOST_FRICTION * design.bounds.effort
        for name, field, most in (
                ('armature', 'armature', rotors), ('friction.coulomb', 'coulomb', friction),
                ('friction.stiction', 'stiction', friction),
                ('friction.viscous', 'viscous', friction / speeds(arm.model))):
            value = getattr(after, field)
            wrong = (value > getattr(before, field)) & (value > most)
            if wrong.any():
                j = int(np.argmax(wrong))
                joint = arm.model.joint_names[j]
                raise ParameterError(
                    f"{name} of joint '{joint}' is {value[j]:g}: more than {most[j]:.2g} would "
                    'throw it, by its measured loop or its effort limit; set it while the '
                    'controller is inactive', parameter=name, joint=joint, value=float(value[j]))

    def _check_read_only(self, settings: Settings) -> None:
        """Raise `ParameterError` if a setting differs that cannot change any more."""
        require_settings(settings)
        before, after = values(self._arm.design.settings), values(settings)
        for row in parameters(Settings, of_python=True):
            if row.read_only and after[row.name] != before[row.name]:
                raise ParameterError(f'parameter {row.name!r} is read-only: make a new controller '
                                     'to change it', name=row.name)
