"""Arms that no model describes: late states, elastic joints and other rotors, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.usual_inertia import likely_rotors
from robodyn_ros.model import RobotModel

LATEST = 0.04             # s by which states are late, at most
SOFTEST, STIFFEST = 2e3, 2e4  # N m/rad or N/m of elastic joints
SPRING_DAMPING = 1.0      # N m s/rad or N s/m
LARGEST, SMALLEST = 3.0, 0.1  # times the likely rotor; smallest one on a spring
MEASURED = 10.0           # s in which the loops of all joints are measured
_STREAM = 7               # of random numbers, that nothing else uses


@dataclass(frozen=True, eq=False)
class DrawnPlant:
    """
    What an arm has, and its controller does not know.

    Attributes
    ----------
    delay : float
        Age of measured states that no stamp shows, s.
    stiffness : (nv,) array
        Stiffness of the joints, N m/rad or N/m; 0 where they are rigid.
    encoder : str
        Side of the springs on which position and velocity are measured: 'link' or 'motor'.
    armature : (nv,) array
        Inertia of the rotors, kg m^2 or kg.

    """

    delay: float
    stiffness: NDArray
    encoder: str
    armature: NDArray

    @classmethod
    def of(cls, model: RobotModel, number: int) -> DrawnPlant:
        """Return the plant of a number; every other one has elastic joints."""
        random = np.random.default_rng([number, _STREAM])
        delay = float(random.uniform(0.0, LATEST))
        stiffness = np.exp(random.uniform(math.log(SOFTEST), math.log(STIFFEST), model.nv))
        elastic, motor = random.random(2) < 0.5
        armature = likely_rotors(model) * random.uniform(
            SMALLEST if elastic else 0.0, LARGEST, model.nv)
        return cls(delay, np.where(elastic & (armature > 0.0), stiffness, 0.0),
                   'motor' if motor else 'link', armature)

    def parameters(self) -> dict[str, object]:
        """Return the parameters of a simulator."""
        return {'armature': self.armature.tolist(), 'stiffness': self.stiffness.tolist(),
                'spring_damping': [SPRING_DAMPING], 'sensors.encoder': self.encoder,
                'sensors.delay': self.delay}
