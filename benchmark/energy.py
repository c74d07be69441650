"""
Conservation of energy by the integrators, for an arm that falls freely for a minute.

    python benchmark/energy.py

The arm has neither friction nor stops nor torques, so that its energy is constant. The table has
its changes as parts of the largest kinetic energy.
"""
import math

from checkout import ROOT
import numpy as np

from robodyn_ros import RobotModel
from robodyn_ros.simulation import Plant, PlantRollout
from robodyn_ros.simulation.integrators import INTEGRATORS

SECONDS = 60.0
STEPS = (2e-3, 1e-3, 5e-4)
FREE = {'damping': 0.0, 'friction': 0.0, 'lower': -math.inf, 'upper': math.inf, 'armature': 0.05}
START = (0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1)


def drift(model, integrator, step):
    """Return the largest change of energy in a minute as a part of the largest kinetic energy."""
    plant = Plant(model, step, integrator=integrator, **FREE)
    plant.reset(START)
    dynamics, armature = plant.dynamics, plant.joints.armature
    motion = PlantRollout(plant)(np.zeros((round(SECONDS / step), plant.nv)),
                                 every=round(0.1 / step))
    if not motion.good.all():
        return math.inf
    q, qd = np.vstack([plant.q, motion.q[0]]), np.vstack([plant.qd, motion.qd[0]])
    kinetic = dynamics.kinetic_energy(q, qd) + 0.5 * qd**2 @ armature
    energy = kinetic + dynamics.potential_energy(q)
    return np.abs(energy - energy[0]).max() / kinetic.max()


def main():
    """Print the table."""
    model = RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf')
    print(f'{"integrator":22}' + ''.join(f'{1e3 * step:>12g} ms' for step in STEPS))
    for integrator in INTEGRATORS:
        drifts = [drift(model, integrator, step) for step in STEPS]
        print(f'{integrator:22}' + ''.join(
            f'{"diverges" if math.isinf(each) else f"{each:.1e}":>15}' for each in drifts))


if __name__ == '__main__':
    main()
