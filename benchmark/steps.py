"""
Simulation and closed loop: our plant and MuJoCo, from the same URDF, in steps of 1 ms.

Both have viscous and dry friction and stops but no contacts, or only rigid bodies. The torques are
those of a smooth motion, so that both arms nearly follow it, each with its integrator and friction
model.
"""
from calls import check, Robodyn
import numpy as np
from robots import load, OWN
from timing import Call, compare, OURS

from robodyn_ros import Dynamics, RobotModel
from robodyn_ros.control import ArmController, Settings
from robodyn_ros.control.rollout import RolloutCycle
from robodyn_ros.simulation import ClosedLoop, Plant, PlantRollout, Spread
from robodyn_ros.simulation.spread import arms_of, draw
from robodyn_ros.trajectory import Reference, Trajectory

try:
    import mujoco
    from mujoco import rollout as mujoco_rollout
    import pinocchio as pin
except ImportError:
    mujoco = None

STEP, STEPS, ARMS = 1e-3, 100, 1000
HOME = np.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])
SWING = 0.2 * np.array([1, -1, 1, -1, 1, -1, 1])
RATE = 6.0        # rad/s
TOLERANCE = 2e-3  # rad, of a motion of 35 mrad: integrators and friction models differ
PHYSICS = {'with friction': {}, 'rigid bodies': {
    'friction': 0.0, 'damping': 0.0, 'lower': -np.inf, 'upper': np.inf}}


def motion():
    """Return position, velocity and acceleration of the smooth motion in each step."""
    phase = RATE * STEP * np.arange(STEPS)[:, None]
    return (HOME + SWING * (1.0 - np.cos(phase)), RATE * SWING * np.sin(phase),
            RATE**2 * SWING * np.cos(phase))


class Comparison:
    """
    An arm in both simulations.

    Parameters
    ----------
    physics : str
        One of `PHYSICS`.

    """

    def __init__(self, physics):
        model = RobotModel.from_urdf(OWN)
        self.physics, self.dynamics = physics, Dynamics(model)
        self.plant = Plant(model, STEP, self.dynamics, **PHYSICS[physics])
        joints, (q, qd, qdd) = self.plant.joints, motion()
        torques = (self.dynamics.inverse_dynamics(q, qd, qdd) + joints.damping * qd
                   + joints.friction * np.sign(qd))
        starts = HOME + 0.05 * np.random.default_rng(1).normal(size=(ARMS, model.nv))
        self.names = {
            'plant': self.plant, 'home': HOME, 'torques': torques, 'still': np.zeros(model.nv),
            'held': np.tile(torques[0], (STEPS, 1)), 'torque': torques[0], 'n': STEPS,
            'rollout': PlantRollout(self.plant), 'starts': starts,
            'rests': np.zeros_like(starts)} | (self._theirs(starts) if mujoco else {})

    def _theirs(self, starts):
        m = mujoco.MjModel.from_xml_path(str(OWN))
        assert [m.joint(j).name for j in range(m.njnt)] == list(self.plant.model.joint_names)
        m.opt.timestep = STEP
        off = ['CONTACT', *(['FRICTIONLOSS', 'DAMPER', 'LIMIT'] if PHYSICS[self.physics] else [])]
        m.opt.disableflags |= sum(
            int(getattr(mujoco.mjtDisableBit, f'mjDSBL_{name}')) for name in off)
        # time, positions, velocities
        states = np.zeros((len(starts), mujoco.mj_stateSize(
            m, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
        states[:, 1:1 + m.nq] = starts
        state = states[:1].copy()
        state[:, 1:1 + m.nq] = HOME
        return {'mujoco': mujoco, 'm': m, 'data': mujoco.MjData(m), 'state': state,
                'states': states, 'roll': mujoco_rollout.rollout,
                'spec': int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)}

    def cases(self):
        """Return the calls by quantity and library."""
        nq = self.plant.nv

        def last(states):
            return states[:, -1, 1:1 + nq]

        texts = {
            'one step': (
                'plant.reset(home)\nfor torque in torques: plant.step(torque)\nplant.q.copy()',
                'mujoco.mj_resetData(m, data); data.qpos = home\n'
                'for torque in torques: data.qfrc_applied = torque; mujoco.mj_step(m, data)\n'
                'data.qpos.copy()', None, None, STEPS),
            f'{STEPS} steps, one torque': (
                'rollout(held, home, still).q[:, -1]',
                'mujoco.mj_resetData(m, data); data.qpos = home; data.qfrc_applied = torque\n'
                'mujoco.mj_step(m, data, n)\ndata.qpos.copy()', lambda q: q[0], None, STEPS),
            f'{STEPS} steps, own torques': (
                'rollout(torques, home, still).q[:, -1]',
                'roll(m, data, state, torques, control_spec=spec)[0]', None, last, STEPS),
            f'{ARMS} arms, {STEPS} steps': (
                'rollout(torques, starts, rests).q[:, -1]',
                'roll(m, data, states, torques, control_spec=spec)[0]', None, last, STEPS * ARMS)}
        return {f'{what}, {self.physics}': self._pair(*text) for what, text in texts.items()}

    def _pair(self, ours, theirs, convert, their_convert, size):
        def same(result):
            return result

        calls = {OURS: Call(ours, dict(self.names), convert or same, size)}
        if mujoco:
            calls['MuJoCo'] = Call(theirs, dict(self.names), their_convert or same, size)
        return calls


def measure_steps(budget):
    """Return figures of simulations."""
    rows = []
    for physics in PHYSICS:
        for what, calls in Comparison(physics).cases().items():
            check('robodyn7', what, calls, relative=0.0, absolute=TOLERANCE)
            rows += compare('simulation', 'robodyn7', len(HOME), what, calls, budget)
    return rows


# --- control cycle and plant in one loop --------------------------------------------------------

class Swing:
    """A thousand different arms that are held, and then follow a swing to a goal."""

    hold, swing = 150, 450  # steps

    def __init__(self, plant):
        self.loop = ClosedLoop(plant, RolloutCycle(ArmController(
            plant.dynamics, Settings(friction_scale=0.0, activation_time=STEP * self.hold))))
        self.loop.prepare_code()

    def plan(self, start):
        """Return the trajectory of the swing from a reference."""
        still = 0.0 * HOME
        return Trajectory.from_points([STEP * self.swing], [HOME + SWING], [still], [still],
                                      start=start)

    def reference(self):
        """Return position, velocity and acceleration in each step of hold and swing."""
        path, start = self.plan(Reference.at_rest(HOME)), Reference.at_rest(HOME)
        rows = [start] * self.hold + [
            path.sample(STEP * (k + 1)) for k in range(self.swing)]
        return tuple(np.array([row.arrays[k] for row in rows]) for k in range(3))

    def __call__(self):
        """Run the loop; return the final positions."""
        loop, controller, nv = self.loop, self.loop.controller, self.loop.plant.nv
        samples = [draw(loop.plant, Spread(), 1, number) for number in range(ARMS)]
        runs, rows = loop.start(np.tile(HOME, (ARMS, 1)), *arms_of(loop.plant, samples)), []
        runs.programs[:] = controller.taken_over()
        runs = loop.run(runs, np.zeros((self.hold, 2 * nv)), rows)
        path = self.plan(controller.reference(runs.memories[0]))
        for program, memory in zip(runs.programs, runs.memories):
            controller.follow(program, memory, lambda _: path, rows)
        runs = loop.run(runs, np.zeros((self.swing, 2 * nv)), rows, True)
        return loop.arms(runs.state)[:, :nv]


def measure_loop(budget):
    """Return figures of a Monte Carlo run; the other is Pinocchio's law with MuJoCo's step."""
    comparison, gains = Comparison('with friction'), Robodyn(load('robodyn7')).gains()
    swing = Swing(comparison.plant)
    reference = swing.reference()
    steps = len(reference[0])
    calls = {OURS: Call('swing()', {'swing': swing}, lambda q: np.median(q, axis=0),
                        steps * ARMS)}
    if mujoco:
        model = pin.buildModelFromUrdf(str(OWN))
        calls['Pin+MuJoCo'] = Call(
            'mujoco.mj_resetData(m, data); data.qpos = home\n'
            'for q_ref, qd_ref, qdd_ref in zip(*reference):\n'
            '    q, qd = data.qpos, data.qvel\n'
            '    qdd = qdd_ref + kp * (q_ref - q) + kd * (qd_ref - qd)\n'
            '    data.qfrc_applied = pin.rnea(model, pdata, q, qd, qdd)\n'
            '    mujoco.mj_step(m, data)\ndata.qpos.copy()',
            {**comparison.names, 'reference': reference, 'kp': gains.kp, 'kd': gains.kd,
             'model': model, 'pdata': model.createData(), 'pin': pin}, size=steps)
    what = f'control cycle and step, {ARMS} different arms'
    check('robodyn7', what, calls, relative=0.0, absolute=5e-3)
    return compare('closed loop', 'robodyn7', len(HOME), what, calls, budget)
