"""Node and loop behind a page, at thirty updates per second."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
import time

import rclpy

from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.description import wait_for_description
from robodyn_ros.nodes.process import init_tool, run, tool_node
from robodyn_ros.nodes.view.commands import Commands, Notify
from robodyn_ros.nodes.view.feed import Feed, Names
from robodyn_ros.view.page import Page
from robodyn_ros.view.snapshot import PageCommand, SetPayload, SubscribeTerms

PERIOD = 1.0 / 30.0  # s


class LiveView:
    """
    Node that shows an arm on a page; a context manager.

    Parameters
    ----------
    names : Names
        Names of nodes and topics.
    namespace : str
        Namespace of all names.
    enclave : str
        Enclave of SROS 2, see `init_tool`.

    Attributes
    ----------
    page_commands : SimpleQueue of PageCommand
        Commands of the page; any thread may add some.

    """

    def __init__(self, names: Names, namespace: str = '', enclave: str = ''):
        self._names = names
        self.page_commands: SimpleQueue[PageCommand] = SimpleQueue()
        init_tool(enclave)
        try:
            self._node = tool_node('robodyn_view', namespace)
        except ParameterError:
            rclpy.try_shutdown()
            raise

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_) -> None:
        rclpy.try_shutdown()

    def description(self, timeout: float) -> str:
        """Return the robot description; raise `ParameterError` if none is published."""
        print('waiting for a robot description', flush=True)
        try:
            return wait_for_description(self._node, timeout, lambda _: None)[0]
        except ParameterError as error:
            raise ParameterError(
                f'no robot description within {timeout:g} s: name the URDF, as in '
                '`robodyn view arm.urdf`, or start a publisher of robot_description, on '
                'this ROS_DOMAIN_ID', **error.evidence) from error

    def show(self, page: Page, model: RobotModel, control: bool,
             until: Callable[[], bool]) -> None:
        """
        Update a page until a condition holds.

        Parameters
        ----------
        page : Page
            Page to update.
        model : RobotModel
            Model of the arm.
        control : bool
            Whether commands are executed; if not, nothing is published.
        until : callable
            Returns whether to end.

        """
        feed = Feed(self._node, model, self._names)
        commands = Commands(self._node, self._names, page.notify) if control else None
        due = time.monotonic()

        def update() -> bool:
            nonlocal due
            if time.monotonic() >= due:
                due = max(due + PERIOD, time.monotonic())
                self._execute(feed, commands, page.notify)
                page.show(feed.poll())
                if commands is not None:
                    commands.note_refusal(feed.refusal)
            return until()

        run(self._node, update, interval=0.5 * PERIOD)

    def _execute(self, feed: Feed, commands: Commands | None, notify: Notify) -> None:
        """Execute the commands since the last call; of payloads only the last one."""
        waiting = [self.page_commands.get() for _ in range(self.page_commands.qsize())]
        newest = next((each for each in reversed(waiting) if isinstance(each, SetPayload)), None)
        for command in waiting:
            if isinstance(command, SetPayload) and command is not newest:
                continue
            try:
                if isinstance(command, SubscribeTerms):
                    feed.explain(command.on)
                elif commands is not None:
                    commands.execute(command)
            except RobodynError as error:
                notify('command', str(error), False)
        if commands is not None:
            commands.update()
