"""
The guard where controller_manager_msgs is not installed: with a stand-in of its service.

`rcl_interfaces/srv/ListParameters` has a list of texts and a number, too. The controllers that are
to be started, an empty text, and those that are to be stopped travel in it.
"""
import sys
from types import ModuleType

from rcl_interfaces.srv import ListParameters
from robodyn_ros.nodes.guard.node import main


class SwitchController(ListParameters):
    """As `controller_manager_msgs.srv.SwitchController`, as far as it is used."""

    class Request(ListParameters.Request):
        BEST_EFFORT = 1

        def __init__(self, activate_controllers, deactivate_controllers, strictness):
            super().__init__(prefixes=[*activate_controllers, '', *deactivate_controllers],
                             depth=strictness)


# what was activated is in the answer
ListParameters.Response.ok = property(lambda self: bool(self.result.names))

if __name__ == '__main__':
    package, module = ModuleType('controller_manager_msgs'), ModuleType('srv')
    module.SwitchController = SwitchController
    sys.modules |= {'controller_manager_msgs': package, 'controller_manager_msgs.srv': module}
    sys.exit(main())
