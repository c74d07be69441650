"""Build of a plant in the background, to replace a running one."""

from __future__ import annotations

from collections.abc import Callable
import threading
import traceback

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant


class BackgroundPlantBuild:
    """
    Builds a plant in a thread of its own.

    Masses are constants of the machine code. Its compilation takes 0.1 s and more, a pause that a
    controller would take for a fault.

    Parameters
    ----------
    make : callable
        Returns the plant; may raise a `RobodynError`.

    Attributes
    ----------
    plant : Plant or None
        None until the build is done, or if it failed.
    problem : str
        Reason of a failure; empty otherwise.

    """

    def __init__(self, make: Callable[[], Plant]):
        self.plant: Plant | None = None
        self.problem = ''
        self._make = make
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self.plant = self._make()
        except RobodynError as error:
            self.problem = str(error)
        except Exception:  # otherwise `done` would be set without plant and problem
            self.problem = traceback.format_exc()

    @property
    def done(self) -> bool:
        """Whether the build has ended."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait until the build has ended."""
        self._thread.join()


def change_numbers(plant: Plant, arm: RobotModel) -> bool:
    """Set gravity and payload of a plant; return False if more than these differ."""
    if arm.structure_key != plant.dynamics.model.structure_key:
        return False
    plant.dynamics.update(arm)  # the others are constants of the compiled step
    plant.model = arm
    return True
