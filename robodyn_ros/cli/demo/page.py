"""The page of `robodyn demo --view`."""

from __future__ import annotations

from importlib.util import find_spec
import re
from typing import TYPE_CHECKING

from robodyn_ros.cli.progress import Steps
from robodyn_ros.cli.robot import Robot
from robodyn_ros.exceptions import RobodynError, StateError

if TYPE_CHECKING:  # the session needs ROS
    from robodyn_ros.cli.session import Session

_START = 30.0  # s until the page must be served
_CHECK = 0.2   # s between two checks of the processes


def check_view() -> None:
    """Raise if the page cannot be served."""
    if find_spec('viser') is None:
        raise RobodynError("the page needs viser: pip install 'robodyn_ros[view]', or leave out "
                           '--view')


def open_page(session: Session, robot: Robot) -> str:
    """
    Start `robodyn view`, and return the address of its page.

    Raises
    ------
    StateError
        The page is not served; with the last message of the process.

    """
    child = session.start_extra('view', 'robodyn_ros.cli.main',
                                ['view', '--control', *robot.options()])
    session.recorder.wait(lambda: _address(child) or child.exit_code is not None, _START)
    address = _address(child)
    if not address:
        raise StateError(f'no page was served within {_START:g} s: {child.last_message()}')
    return address


def stay(session: Session, address: str, steps: Steps) -> None:
    """Keep the arm floating and the page served until Ctrl-C."""
    with steps('start the controller again, float') as step:
        session.start_controller()
        session.call('float')
        step.result = f'move the arm at {address}'
    session.recorder.close()  # more states are not used
    steps.write_line('Ctrl-C ends it')
    try:
        while True:
            session.sleep(_CHECK)
    except KeyboardInterrupt:
        steps.write_line()


def _address(child) -> str:
    found = re.search(r'http://[^ ]+', child.log.read_text(errors='replace'))
    return found[0] if found else ''
