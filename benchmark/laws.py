"""
Time of a control cycle under each law, on the arm with seven joints.

    python benchmark/laws.py [--urdf arm.urdf]

`law` is the compiled call that returns all terms; `parts` is the same torque from calls of
`Dynamics` and NumPy, for laws of a line or two; `cycle` is the whole computation for a state:
reference, law, transition, brakes, supervision, observer.
"""
import argparse
import math

from checkout import ROOT
import numpy as np

from robodyn_ros import Dynamics, RobotModel
from robodyn_ros.control import ArmController, ControlLaw, make_gains, Settings, with_slots
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.inspection.timing import Budget, Call, interleaved_times
from robodyn_ros.text import table
from robodyn_ros.trajectory import Reference

BUDGET = Budget(total=1.0)
PARTS = {
    'computed_torque': 'dyn.inverse_dynamics(q, qd, r.qdd + g.kp * (r.q - q) '
                       '+ g.kd * (r.qd - qd))',
    'feedforward_pd': 'dyn.inverse_dynamics(r.q, r.qd, r.qdd) + g.pd_kp * (r.q - q) '
                      '+ g.pd_kd * (r.qd - qd)',
    'joint_impedance': 'M = dyn.mass_matrix(q)\n'
                       'M @ r.qdd + dyn.coriolis_matrix(q, qd) @ r.qd + dyn.gravity(q) '
                       '+ g.stiffness * (r.q - q) + 2.0 * g.impedance_ratio * np.sqrt('
                       'g.stiffness * np.diag(M)) * (r.qd - qd)',
    'gravity_compensation': 'dyn.gravity(q) - g.damping * qd'}


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--urdf', default=str(ROOT / 'urdf' / 'robodyn7.urdf'))
    dyn = Dynamics(with_slots(RobotModel.from_urdf(parser.parse_args().urdf)))
    rng = np.random.default_rng(0)
    gains = make_gains(dyn)
    q, qd = 0.3 * rng.standard_normal((2, dyn.nv))
    names = {'dyn': dyn, 'g': gains, 'q': q, 'qd': qd, 'np': np, 'r': Reference.at_rest(q + 0.01)}
    rows = []
    for mode in (*TRACKING, 'gravity_compensation'):
        times = interleaved_times([call.timer() for call in calls(mode, names)], BUDGET)
        law, cycle, *parts = 1e6 * np.median(times, axis=0)
        rows.append((mode, f'{law:.2f}', f'{parts[0]:.1f}' if parts else '-', f'{cycle:.1f}'))
    print('\n'.join(table(['us per call', 'law', 'parts', 'cycle'], rows)))


def calls(mode, names):
    """Yield calls of the law, of the whole cycle and, if known, of the law from its parts."""
    dyn, gains, q, qd = (names[key] for key in ('dyn', 'g', 'q', 'qd'))
    floating = mode == 'gravity_compensation'
    tracking = 'computed_torque' if floating else mode
    names = {**names, 'law': ControlLaw(dyn, gains, tracking), 'clock': iter(range(10**9))}
    names['control'] = ArmController(dyn, Settings(mode=mode, activation_time=0.0))
    names['control'].activate(-math.inf, q, 0.0 * qd)
    yield Call('law.compensate(q, qd)' if floating else 'law.follow(q, qd, r)', names)
    yield Call('control.update(1e-3 * next(clock), q, qd)', names)
    if mode in PARTS:
        yield Call(PARTS[mode], names)


if __name__ == '__main__':
    main()
