"""The page beside a demo, and the time after it in which a person may play."""

from __future__ import annotations

from importlib.util import find_spec
import re
from typing import TYPE_CHECKING

from robodyn_ros.cli.progress import Steps
from robodyn_ros.cli.robot import Robot
from robodyn_ros.exceptions import RobodynError, StateError

if TYPE_CHECKING:  # the session needs ROS
    from robodyn_ros.cli.session import Session

_START = 30.0  # s until the page must be there
_LOOK = 0.2    # s between two looks at the processes


def check_view() -> None:
    """Raise if there can be no page; before a run that nobody could look at."""
    if find_spec('viser') is None:
        raise RobodynError("the page needs viser: pip install 'robodyn_ros[view]', or leave out "
                           '--view')


def open_page(session: Session, robot: Robot) -> str:
    """
    Start `robodyn view` beside simulator and controller, and return where its page is.

    Raises
    ------
    StateError
        There is no page; with what the process said last.

    """
    child = session.start_beside('view', 'robodyn_ros.cli.main',
                                 ['view', '--control', *robot.options()])
    session.recorder.wait(lambda: _address(child) or child.exit_code is not None, _START)
    address = _address(child)
    if not address:
        raise StateError(f'the page was not there within {_START:g} s: {child.last_words()}')
    return address


def stay(session: Session, address: str, steps: Steps) -> None:
    """Let the arm be played with until Ctrl-C."""
    with steps('start the controller again, let the arm float') as step:
        session.start_controller()
        session.ask('float')
        step.result = f'pull it at {address}'
    session.recorder.close()  # nobody looks at more states; they would only fill the memory
    steps.say('Ctrl-C ends it')
    try:
        while True:
            session.idle(_LOOK)
    except KeyboardInterrupt:
        steps.say()


def _address(child) -> str:
    found = re.search(r'http://[^ ]+', child.log.read_text(errors='replace'))
    return found[0] if found else ''
