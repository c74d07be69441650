"""Machine code that stays linked: the arm of one test is that of the next."""

import sys

_MOST = 500  # modules


class _Newest(dict):
    """The newest entries."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if len(self) > _MOST:
            del self[next(iter(self))]


def keep_code():
    """Keep code that is linked from now on, although no object uses it any more."""
    machine = sys.modules.get('robodyn_ros.dynamics.jit.machine')
    if machine is not None:
        machine._all_linked = _Newest(machine._all_linked)
