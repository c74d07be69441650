"""The loop behind a page: thirty times per second, whatever the arm and the browsers do."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
import time

import rclpy
from rclpy.node import Node

from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.description import wait_for_description
from robodyn_ros.nodes.process import init_tool, run
from robodyn_ros.nodes.view.commands import Commands, Tell
from robodyn_ros.nodes.view.feed import Feed
from robodyn_ros.nodes.view.names import Names
from robodyn_ros.view.page import Page
from robodyn_ros.view.page_commands import PageCommand, SetPayload, SubscribeTerms

PERIOD = 1.0 / 30.0  # s


class LiveView:
    """
    A node that shows an arm on a page, alive in a `with` block.

    Parameters
    ----------
    names : Names
        What is looked at.
    namespace : str
        Of all names.
    enclave : str
        Of SROS 2, see `init_tool`.

    Attributes
    ----------
    page_commands : SimpleQueue of PageCommand
        What a person at the page wants; any thread may put it there.

    """

    def __init__(self, names: Names, namespace: str = '', enclave: str = ''):
        self._names = names
        self.page_commands: SimpleQueue[PageCommand] = SimpleQueue()
        init_tool(enclave)
        try:
            self._node = Node('robodyn_view', namespace=namespace, use_global_arguments=False,
                              enable_rosout=False, start_parameter_services=False)
        except Exception as error:
            rclpy.try_shutdown()
            reason = str(error).strip().partition('\n')[0]
            raise ParameterError(f'--namespace {namespace}: {reason}') from error

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_) -> None:
        rclpy.try_shutdown()

    def description(self, timeout: float) -> str:
        """Return what robot_description carries; raises `ParameterError` if nothing comes."""
        print('waiting for a robot description', flush=True)
        try:
            return wait_for_description(self._node, timeout)
        except ParameterError as error:
            raise ParameterError(
                f'no robot description within {timeout:g} s: name the URDF, as in '
                '`robodyn view arm.urdf`, or start what publishes robot_description, on '
                'this ROS_DOMAIN_ID', **error.evidence) from error

    def show(self, page: Page, model: RobotModel, control: bool,
             until: Callable[[], bool]) -> None:
        """
        Keep a page up to date.

        Parameters
        ----------
        page : Page
            What is shown.
        model : RobotModel
            Of the arm.
        control : bool
            Whether orders are carried out; if not, nothing is ever published.
        until : callable
            Whether it is over.

        """
        feed = Feed(self._node, model, self._names)
        commands = Commands(self._node, self._names, page.notify) if control else None
        due = time.monotonic()

        def turn() -> bool:
            nonlocal due
            if time.monotonic() >= due:
                due = max(due + PERIOD, time.monotonic())
                self._obey(feed, commands, page.notify)
                page.show(feed.look())
                if commands is not None:
                    commands.note_refusal(feed.refusal)
            return until()

        run(self._node, turn, patience=0.5 * PERIOD)

    def _obey(self, feed: Feed, commands: Commands | None, tell: Tell) -> None:
        """Carry out what has been asked for since the last time; of payloads the last one."""
        asked = [self.page_commands.get() for _ in range(self.page_commands.qsize())]
        newest = next((order for order in reversed(asked) if isinstance(order, SetPayload)), None)
        for order in asked:
            if isinstance(order, SetPayload) and order is not newest:
                continue
            try:
                if isinstance(order, SubscribeTerms):
                    feed.explain(order.on)
                elif commands is not None:
                    commands.obey(order)
            except RobodynError as error:
                tell('order', str(error), False)
        if commands is not None:
            commands.look()
