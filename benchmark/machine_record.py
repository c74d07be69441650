"""Machine, versions and load of a measurement."""
from importlib import metadata
import os
from pathlib import Path
import platform
import time

PACKAGES = ('numpy', 'llvmlite', 'pin', 'mujoco', 'drake')


def record():
    """Return the machine, the versions and the load, by name."""
    return {'date': time.strftime('%Y-%m-%d'), 'processor': f'{processor()}, {os.cpu_count()} '
            'processors', 'system': platform.platform(), 'Python': platform.python_version(),
            **{name: version for name in PACKAGES if (version := installed(name))},
            'load average before': load()}


def processor():
    """Return the name of the processor."""
    try:
        lines = Path('/proc/cpuinfo').read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return names[0] if names else platform.processor() or platform.machine()


def installed(package):
    """Return the version of a package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def load():
    """Return the load average of the last minute."""
    return f'{os.getloadavg()[0]:.2f}'
