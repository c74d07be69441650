"""Which loop a controller must have on this machine, where nothing requires the other one."""

import platform
import sys

# not what the package finds out itself: a fall-back must be noticed
LOOP = 'native' if sys.platform == 'linux' and platform.machine() in (
    'x86_64', 'aarch64') else 'python'
