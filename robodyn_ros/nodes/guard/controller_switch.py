"""Activation of a ros2_control controller when the guard takes over."""

from __future__ import annotations

import importlib
from typing import Any

from rclpy.node import Node

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.guard.parameters import GuardSettings

_MESSAGES = 'controller_manager_msgs.srv'


class Fallback:
    """
    Client of a controller_manager that switches controllers; the result is logged.

    Parameters
    ----------
    node : Node
        The guard node.
    values : GuardSettings
        Parameters of the guard.

    Raises
    ------
    ParameterError
        Fallback controllers are configured, but controller_manager_msgs is not installed.

    """

    def __init__(self, node: Node, values: GuardSettings):
        self._log = node.get_logger()
        self._start, self._stop = values.fallback_controllers, values.replaced_controllers
        self._client: Any = None
        if not self._start and not self._stop:
            return
        try:  # an optional dependency
            self._type = importlib.import_module(_MESSAGES).SwitchController
        except ImportError as error:
            raise ParameterError(
                'fallback_controllers needs controller_manager_msgs: install it '
                '(ros-$ROS_DISTRO-controller-manager-msgs), or leave the parameter empty'
            ) from error
        self._client = node.create_client(
            self._type, f'{values.controller_manager}/switch_controller')

    def switch(self) -> None:
        """Request the switch, if one is configured; return at once."""
        if self._client is None:
            return
        if not self._client.service_is_ready():
            self._log.error(f'service {self._client.srv_name} is not available: no fallback '
                            'controller')
            return
        request = self._type.Request(activate_controllers=list(self._start),
                                     deactivate_controllers=list(self._stop),
                                     strictness=self._type.Request.BEST_EFFORT)
        self._client.call_async(request).add_done_callback(self._log_result)

    def _log_result(self, future) -> None:
        names = ', '.join(self._start)
        # two calls: rclpy refuses another severity from the same line
        if future.exception() is None and future.result().ok:
            self._log.info(f'fallback {names}: active')
        else:
            self._log.error(f'fallback {names}: was refused')
