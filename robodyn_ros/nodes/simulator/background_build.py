"""Another plant in place of a running one, compiled beside it."""

from __future__ import annotations

from collections.abc import Callable
import threading
import traceback

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant


class BackgroundPlantBuild:
    """
    A plant that is made in a thread of its own.

    Other masses are other machine code, which takes a tenth of a second and more to compile: a
    pause that a controller would take for a fault.

    Parameters
    ----------
    make : callable
        Returns the plant; may raise a `RobodynError`.

    Attributes
    ----------
    plant : Plant or None
        None until it is done, or if there is a problem.
    problem : str
        Why there is none.

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
        except Exception:  # a defect must not leave a plant that is done and not there
            self.problem = traceback.format_exc()

    @property
    def done(self) -> bool:
        """Whether it is made, or never will be."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait until it is made."""
        self._thread.join()


def change_numbers(plant: Plant, arm: RobotModel) -> bool:
    """Give a plant the gravity and payload of an arm; False if that is not all that differs."""
    if arm.structure_key != plant.dynamics.model.structure_key:
        return False
    plant.dynamics.update(arm)  # these are no constants of the compiled step
    plant.model = arm
    return True
